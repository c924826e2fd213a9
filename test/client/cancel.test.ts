import { describe, expect, test } from "vitest";
import {
  ApiError,
  createClient,
  InvalidInputError,
  NetworkError,
  RateLimitedError,
  TimeoutError,
} from "../../lib/client/index.ts";
import { startNodeServer } from "../../lib/node/server.ts";
import { MAX } from "../http/fixture.ts";
import { errorAnswer, openService } from "./fixture.ts";

describe("outcomes are data", () => {
  test.each([
    [1n, { outcome: "cancelled" }],
    [MAX, { outcome: "cancelled" }],
    [2n, { outcome: "order_already_shipped" }],
    [3n, { outcome: "order_already_cancelled", maybeByThisCall: false }],
    [77n, { outcome: "order_not_found" }],
    [2n ** 63n, { outcome: "order_not_found" }],
    [-5n, { outcome: "order_not_found" }],
  ])("order %i", async (id, outcome) => {
    const { client, run, store } = await openService();
    expect(await run(client.cancel(id))).toEqual(outcome);
    if (outcome.outcome === "cancelled")
      expect(await store.orders.find(id)).toMatchObject({ status: "cancelled" });
  });
});

describe("what the caller cannot go on from is thrown", () => {
  test("a wrong key, with code, status and request", async () => {
    const { client, run, sent } = await openService({ apiKey: "so_test_shop_wrong" });
    const error = await run(client.cancel(1n).catch((thrown: unknown) => thrown));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: "invalid_api_key", status: 401, retryable: false });
    expect((error as ApiError).requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(sent).toHaveLength(1);
    expect(`${error}`).not.toContain("so_test_shop_wrong");
  });

  test("a path that is none of the service is not an order that is missing", async () => {
    const { client, run } = await openService({ baseUrl: "http://shop.test/v2/" });
    await expect(run(client.cancel(1n))).rejects.toMatchObject({ code: "route_not_found", status: 404 });
  });

  test("an answer that does not come from the service", async () => {
    const network = async () => new Response("<html>", { status: 403 });
    const { client, run } = await openService({ network });
    await expect(run(client.cancel(1n))).rejects.toMatchObject({ code: "unexpected_answer", status: 403 });
  });

  test("a gateway's own code is none of the service, but its message is told", async () => {
    const { client, run } = await openService({
      network: async () => errorAnswer(413, "too_big", {}, "Too big."),
    });
    await expect(run(client.cancel(1n))).rejects.toMatchObject({
      code: "unexpected_answer",
      message: "413 unexpected_answer: Too big.",
    });
  });

  test("a redirect, which would lose the key on its way, is told with its target", async () => {
    const location = "https://orders.example.com/v1/store/orders/1";
    const network = async () => new Response(null, { status: 301, headers: { location } });
    const { client, run } = await openService({ network });
    await expect(run(client.cancel(1n))).rejects.toThrow(location);
  });

  test("over a real connection the key does not follow a redirect", async () => {
    const strangers: Request[] = [];
    const stranger = await startNodeServer({
      port: 0,
      handler: async (request) => {
        strangers.push(request);
        return new Response();
      },
    });
    const mover = await startNodeServer({
      port: 0,
      handler: async () => new Response("Moved", { status: 301, headers: { location: stranger.url } }),
    });
    const client = createClient({ baseUrl: mover.url, apiKey: "key" });
    await expect(client.cancel(1n)).rejects.toThrow(stranger.url);
    expect(strangers).toEqual([]);
    await Promise.all([mover.close({ grace: 0 }), stranger.close({ grace: 0 })]);
  });

  test.each([
    ["baseUrl", { baseUrl: "orders.example.com" }],
    ["apiKey", { apiKey: "so_test\n" }],
  ])("a %s that cannot be one, before anything is sent and without showing it", async (path, options) => {
    const error = await openService(options).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error).toMatchObject({ issues: [{ path }] });
    expect(`${error}`).not.toContain("so_test");
  });
});

describe("a request that fails is sent again", () => {
  test("after the wait of a 503 and the jitter, which grows", async () => {
    const { client, run, sent } = await openService({
      network: async (pass, number) =>
        number < 4 ? errorAnswer(503, "store_unavailable", { "retry-after": "5" }) : pass(),
    });
    expect(await run(client.cancel(1n))).toEqual({ outcome: "cancelled" });
    const waits = sent.slice(1).map(({ at }, index) => at - (sent[index]?.at ?? 0));
    expect(waits).toEqual([5_250, 5_500, 6_000]);
  });

  test("an answer that was lost leaves open who cancelled the order", async () => {
    const { client, run, store } = await openService({
      async network(pass, number) {
        const answer = await pass();
        if (number === 1) throw new TypeError("terminated");
        return answer;
      },
    });
    expect(await run(client.cancel(1n))).toEqual({
      outcome: "order_already_cancelled",
      maybeByThisCall: true,
    });
    expect(await store.orders.find(1n)).toMatchObject({ status: "cancelled" });
  });

  test("a refusal for the limits leaves nothing open: it was not carried out", async () => {
    const { client, run } = await openService({
      network: async (pass, number) =>
        number === 1 ? errorAnswer(429, "rate_limit_exceeded", { "retry-after": "1" }) : pass(),
    });
    expect(await run(client.cancel(3n))).toEqual({
      outcome: "order_already_cancelled",
      maybeByThisCall: false,
    });
  });

  test("after a second at least where a 429 does not tell the wait", async () => {
    const { client, run, sent } = await openService({
      network: async (pass, number) => (number === 1 ? errorAnswer(429, "rate_limit_exceeded") : pass()),
    });
    await run(client.cancel(1n));
    expect((sent[1]?.at ?? 0) - (sent[0]?.at ?? 0)).toBe(1_250);
  });

  test("but not for ever", async () => {
    const network = async () => Promise.reject(new TypeError("fetch failed"));
    const { client, run, sent } = await openService({ network, maxAttempts: 3 });
    await expect(run(client.cancel(1n))).rejects.toBeInstanceOf(NetworkError);
    expect(sent).toHaveLength(3);
  });

  test("and not where the service failed at it", async () => {
    const { client, run, sent } = await openService({
      network: async () => errorAnswer(500, "internal_error"),
    });
    await expect(run(client.cancel(1n))).rejects.toMatchObject({ code: "internal_error", retryable: false });
    expect(sent).toHaveLength(1);
  });
});

/** Never answers; gives up when it is told to, as `fetch` does. */
const silent = (_pass: unknown, _number: number, signal: AbortSignal) =>
  new Promise<Response>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });

describe("time", () => {
  test("an attempt that is not answered is given up, and the next one made", async () => {
    const { client, run, sent, time } = await openService({
      network: (pass, number, signal) => (number === 1 ? silent(pass, number, signal) : pass()),
      attemptTimeoutMs: 3_000,
    });
    const began = time.now;
    expect(await run(client.cancel(1n))).toEqual({ outcome: "cancelled" });
    expect(sent.map(({ at }) => at - began)).toEqual([0, 3_250]);
  });

  test("a call is given up in all, whatever it is doing", async () => {
    const { client, run, time, sleeping } = await openService({
      network: silent,
      attemptTimeoutMs: 3_000,
      totalTimeoutMs: 5_000,
    });
    const began = time.now;
    const error = await run(client.cancel(1n).catch((thrown: unknown) => thrown));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ phase: "total", retryable: true });
    expect(time.now - began).toBe(5_000);
    expect(sleeping()).toBe(0);
  });

  test("a network that takes no notice of a signal cannot hold the call", async () => {
    const network = () => new Promise<Response>(() => {});
    const { client, run } = await openService({ network, maxAttempts: 2 });
    await expect(run(client.cancel(1n))).rejects.toMatchObject({ phase: "attempt" });
  });

  test("an abort ends the call with its reason, at once, and hurts no other", async () => {
    const { client, run, sent } = await openService({
      network: (pass, number, signal) => (number === 1 ? silent(pass, number, signal) : pass()),
    });
    const controller = new AbortController();
    const first = client.cancel(1n, { signal: controller.signal });
    const second = client.cancel(MAX);
    controller.abort(new Error("enough"));
    await expect(first).rejects.toThrow("enough");
    expect(await run(second)).toEqual({ outcome: "cancelled" });
    await expect(client.cancel(1n, { signal: controller.signal })).rejects.toThrow("enough");
    expect(sent).toHaveLength(2);
  });

  test("a wait for the limits that is too long is refused at once, and nothing is sent", async () => {
    const { client, run, sent, time } = await openService({
      network: async () => errorAnswer(429, "api_key_banned", { "retry-after": "900" }),
    });
    const began = time.now;
    const error = await run(client.cancel(1n).catch((thrown: unknown) => thrown));
    expect(error).toBeInstanceOf(RateLimitedError);
    expect(error).toMatchObject({ retryAt: began + 900_250, cause: { code: "api_key_banned" } });
    await expect(run(client.cancel(1n))).rejects.toBeInstanceOf(RateLimitedError);
    expect(sent).toHaveLength(1);
  });
});
