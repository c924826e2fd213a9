import { describe, expect, test } from "vitest";
import {
  ApiError,
  IncompleteListError,
  NetworkError,
  type OrderRecord,
  TimeoutError,
} from "../../lib/client/index.ts";
import { MAX } from "../http/fixture.ts";
import { errorAnswer, openService } from "./fixture.ts";

async function collect(list: AsyncIterable<OrderRecord>): Promise<readonly OrderRecord[]> {
  const orders: OrderRecord[] = [];
  for await (const order of list) orders.push(order);
  return orders;
}

/** A body of these pieces that then breaks, or hangs. */
function brokenBody(pieces: readonly string[], end: "breaks" | "hangs" | "ends"): Response {
  const encoder = new TextEncoder();
  const left = pieces.map((piece) => encoder.encode(piece));
  return new Response(
    new ReadableStream(
      {
        async pull(controller) {
          const piece = left.shift();
          if (piece !== undefined) controller.enqueue(piece);
          else if (end === "breaks") controller.error(new TypeError("terminated"));
          else if (end === "ends") controller.close();
          else await new Promise<void>(() => {});
        },
      },
      { highWaterMark: 0 },
    ),
  );
}

test("every order, with all its digits, and no timer left behind", async () => {
  const { client, run, sleeping } = await openService();
  expect(await run(collect(client.list()))).toEqual([
    { id: 1n, petId: 7n, quantity: 2 },
    { id: 2n, shipDate: "2026-11-01T00:00:00Z", complete: true },
    { id: 3n },
    { id: MAX, petId: -1n },
  ]);
  expect(sleeping()).toBe(0);
});

test("nothing is sent until the first order is asked for", async () => {
  const { client, run, sent } = await openService();
  const list = client.list();
  expect(sent).toEqual([]);
  await run(list.next());
  expect(sent).toMatchObject([{ method: "GET", path: "/v1/store/orders" }]);
});

test("a wrong key is thrown", async () => {
  const { client, run } = await openService({ apiKey: "wrong" });
  await expect(run(collect(client.list()))).rejects.toBeInstanceOf(ApiError);
});

describe("before the first byte it is tried again", () => {
  test.each([
    ["the network fails", () => Promise.reject(new TypeError("fetch failed"))],
    ["the store is down", async () => errorAnswer(503, "store_unavailable", { "retry-after": "5" })],
    ["the gateway gives up", async () => new Response("", { status: 504 })],
    ["the connection breaks behind the headers", async () => brokenBody([], "breaks")],
    ["no answer comes", () => new Promise<Response>(() => {})],
    ["nothing comes behind the headers", async () => brokenBody([], "hangs")],
  ])("%s", async (_name, failing) => {
    const { client, run, sent } = await openService({
      network: async (pass, number) => (number < 3 ? failing() : pass()),
    });
    expect(await run(collect(client.list()))).toHaveLength(4);
    expect(sent).toHaveLength(3);
  });

  test("but not for ever", async () => {
    const { client, run, sent } = await openService({ network: async () => brokenBody([], "breaks") });
    await expect(run(collect(client.list()))).rejects.toBeInstanceOf(NetworkError);
    expect(sent).toHaveLength(5);
  });
});

describe("a list that has begun is never silently cut short", () => {
  test.each(["breaks", "ends"] as const)("a connection that %s", async (end) => {
    const { client, run, sent } = await openService({
      network: async () => brokenBody(['[{"id":1},{"i', 'd":2},{"id":3'], end),
    });
    const seen: bigint[] = [];
    const reading = (async () => {
      for await (const { id } of client.list()) seen.push(id);
    })();
    await expect(run(reading)).rejects.toBeInstanceOf(IncompleteListError);
    expect(seen).toEqual([1n, 2n]);
    expect(sent).toHaveLength(1);
  });

  test("one that hangs", async () => {
    const { client, run, time } = await openService({
      network: async () => brokenBody(['[{"id":1},'], "hangs"),
      idleTimeoutMs: 7_000,
    });
    const began = time.now;
    const error = await run(collect(client.list()).catch((thrown: unknown) => thrown));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ phase: "idle" });
    expect(time.now - began).toBe(7_000);
  });

  test("one that takes too long in all", async () => {
    const { client, run } = await openService({
      network: async () => brokenBody(['[{"id":1},'], "hangs"),
      totalTimeoutMs: 3_000,
    });
    await expect(run(collect(client.list()))).rejects.toMatchObject({ phase: "total" });
  });
});

test("a caller that takes its time is not timed out, only a service that does", async () => {
  const { client, run, time } = await openService({ idleTimeoutMs: 1_000, attemptTimeoutMs: 1_000 });
  const seen: bigint[] = [];
  const reading = (async () => {
    for await (const { id } of client.list()) {
      time.now += 60_000;
      seen.push(id);
    }
  })();
  await run(reading);
  expect(seen).toHaveLength(4);
});

test("an abort ends the reading with its reason", async () => {
  const { client, run, sleeping } = await openService({
    network: async () => brokenBody(['[{"id":1},{"id":2},'], "hangs"),
  });
  const controller = new AbortController();
  const seen: bigint[] = [];
  const reading = (async () => {
    for await (const { id } of client.list({ signal: controller.signal })) {
      seen.push(id);
      controller.abort(new Error("enough"));
    }
  })();
  await expect(run(reading)).rejects.toThrow("enough");
  expect(seen).toEqual([1n]);
  expect(sleeping()).toBe(0);
});

test("who leaves early closes the connection and leaves no timer behind", async () => {
  let cancelled = false;
  const { client, run, sleeping } = await openService({
    network: async () =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(new TextEncoder().encode('[{"id":1},')),
          cancel() {
            cancelled = true;
          },
        }),
      ),
    totalTimeoutMs: 60_000,
  });
  const reading = (async () => {
    for await (const { id } of client.list()) return id;
    return undefined;
  })();
  expect(await run(reading)).toBe(1n);
  expect(cancelled).toBe(true);
  expect(sleeping()).toBe(0);
});
