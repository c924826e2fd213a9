import { describe, expect, test } from "vitest";
import { IncompleteListError, TimeoutError } from "../../lib/client/index.ts";
import { MAX, NOON } from "../http/fixture.ts";
import { errorResponse, openClient, readAll, rejection, streamResponse } from "./fixture.ts";

/** Reads a list, with something to do after each order. */
function readIds(list: AsyncIterable<{ readonly id: bigint }>, afterEach = () => {}) {
  const ids: bigint[] = [];
  const reading = (async () => {
    for await (const { id } of list) {
      ids.push(id);
      afterEach();
    }
  })();
  return { ids, reading };
}

test("a list yields every order with all its digits and leaves no timer behind", async () => {
  const { client, run, pendingTimers } = await openClient();
  expect(await run(readAll(client.list()))).toEqual([
    { id: 1n, petId: 7n, quantity: 2 },
    { id: 2n, shipDate: "2026-11-01T00:00:00Z", complete: true },
    { id: 3n },
    { id: MAX, petId: -1n },
  ]);
  expect(pendingTimers()).toBe(0);
});

test("the request of a list is sent when its first order is read", async () => {
  const { client, run, sent } = await openClient();
  const list = client.list();
  expect(sent).toEqual([]);
  await run(list.next());
  expect(sent).toMatchObject([{ method: "GET", path: "/v1/store/orders" }]);
});

describe("retries before the first byte", () => {
  test.each([
    ["the network fails", () => Promise.reject(new TypeError("fetch failed"))],
    ["the store is unavailable", async () => errorResponse(503, "store_unavailable", { "retry-after": "5" })],
    ["the gateway times out", async () => new Response("", { status: 504 })],
    ["the connection fails after the headers", async () => streamResponse([], "fails")],
    ["there is no response", () => new Promise<Response>(() => {})],
    ["the response hangs after the headers", async () => streamResponse([], "hangs")],
  ])("a list is retried if %s", async (_name, fail) => {
    const { client, run, sent } = await openClient({
      network: async (forward, attempt) => (attempt < 3 ? fail() : forward()),
    });
    expect(await run(readAll(client.list()))).toHaveLength(4);
    expect(sent).toHaveLength(3);
  });
});

describe("incomplete lists", () => {
  test.each(["fails", "ends"] as const)(
    "if the connection %s within the list, the list throws after the complete orders",
    async (end) => {
      const { client, run, sent } = await openClient({
        network: async () => streamResponse(['[{"id":1},{"i', 'd":2},{"id":3'], end),
      });
      const { ids, reading } = readIds(client.list());
      const error = await run(rejection(reading));
      expect(error).toBeInstanceOf(IncompleteListError);
      expect(error).toHaveProperty("message", expect.stringMatching(/early|before the end/));
      expect(ids).toEqual([1n, 2n]);
      expect(sent).toHaveLength(1);
    },
  );

  test("the idle timeout ends a list that has stalled", async () => {
    const { client, run, time } = await openClient({
      network: async () => streamResponse(['[{"id":1},'], "hangs"),
      idleTimeoutMs: 7_000,
    });
    const error = await run(rejection(readAll(client.list())));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ phase: "idle", message: "The list did not continue within 7000 ms." });
    expect(time.now - NOON).toBe(7_000);
  });

  test("the total timeout ends a list that takes too long", async () => {
    const { client, run } = await openClient({
      network: async () => streamResponse(['[{"id":1},'], "hangs"),
      totalTimeoutMs: 3_000,
    });
    await expect(run(readAll(client.list()))).rejects.toMatchObject({ phase: "total" });
  });
});

test("the time that the caller spends between orders does not count as idle", async () => {
  const { client, run, time } = await openClient({ idleTimeoutMs: 1_000, attemptTimeoutMs: 1_000 });
  const { ids, reading } = readIds(client.list(), () => {
    time.now += 60_000;
  });
  await run(reading);
  expect(ids).toHaveLength(4);
});

test("aborting a list rejects it with the signal's reason and leaves no timer behind", async () => {
  const { client, run, pendingTimers } = await openClient({
    network: async () => streamResponse(['[{"id":1},{"id":2},'], "hangs"),
  });
  const controller = new AbortController();
  const { ids, reading } = readIds(client.list({ signal: controller.signal }), () =>
    controller.abort(new Error("stopped by the test")),
  );
  await expect(run(reading)).rejects.toThrow("stopped by the test");
  expect(ids).toEqual([1n]);
  expect(pendingTimers()).toBe(0);
});

test("leaving the loop early closes the connection and leaves no timer behind", async () => {
  let cancelled = false;
  const { client, run, pendingTimers } = await openClient({
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
  expect(pendingTimers()).toBe(0);
});
