import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createClient, NetworkError, RateLimitedError, TimeoutError } from "../../lib/client/index.ts";
import { MAX, NOON } from "../http/fixture.ts";
import { errorResponse, type Network, neverRespond, openAfter, openClient, rejection } from "./fixture.ts";

describe("retries", () => {
  test("a 503 is retried after its Retry-After plus a growing jitter", async () => {
    const { client, run, sent } = await openClient({
      network: async (forward, attempt) =>
        attempt < 4 ? errorResponse(503, "store_unavailable", { "retry-after": "5" }) : forward(),
    });
    expect(await run(client.cancel(1n))).toEqual({ ok: true });
    const waits = sent.slice(1).map(({ at }, index) => at - (sent[index]?.at ?? 0));
    expect(waits).toEqual([5_250, 5_500, 6_000]);
  });

  test.each([
    ["the control flow of Next.js", Object.assign(new Error("x"), { digest: "DYNAMIC_SERVER_USAGE" })],
    ["the control flow of Next.js with a code", Object.assign(new Error("x"), { digest: "x", code: "EX" })],
    ["a value that is no error", "stop"],
    ["a mistake in a fetch of the caller's", new ReferenceError("token is not defined")],
    ["an error without a kind", new Error("no token")],
  ])(
    "%s, which is no failure of the network, passes through unchanged, and is not retried",
    async (_name, thrown) => {
      for (const isAsync of [true, false]) {
        let calls = 0;
        const fetch = () => {
          calls++;
          if (isAsync) return new Promise<never>((_, reject) => reject(thrown));
          throw thrown;
        };
        const { client, run } = await openClient({ fetch });
        expect(await rejection(run(client.cancel(1n)))).toBe(thrown);
        expect(calls).toBe(1);
      }
    },
  );

  test.each([
    ["a browser", new TypeError("Failed to fetch")],
    ["Node", new TypeError("fetch failed")],
    ["undici", Object.assign(new Error("x"), { code: "UND_ERR_CONNECT_TIMEOUT" })],
    ["node:http", Object.assign(new Error("x"), { code: "ECONNRESET" })],
    ["Bun", Object.assign(new Error("x"), { code: "ConnectionRefused" })],
    ["another realm", { name: "TypeError", message: "fetch failed" }],
    ["node-fetch", { name: "FetchError", message: "request failed" }],
  ])("a failure of the network in %s is retried", async (_name, thrown) => {
    const { client, run } = await openClient({
      network: async (forward, attempt) => (attempt === 1 ? Promise.reject(thrown) : forward()),
    });
    expect(await run(client.cancel(1n))).toEqual({ ok: true });
  });

  test("after a lost response it is unknown whether this call cancelled the order", async () => {
    const { client, run, store } = await openClient({
      async network(forward, attempt) {
        const response = await forward();
        if (attempt === 1) throw new TypeError("terminated");
        return response;
      },
    });
    const outcome = { ok: false, code: "order_already_cancelled", maybeByThisCall: true };
    expect(await run(client.cancel(1n))).toEqual(outcome);
    expect(await store.orders.find(1n)).toMatchObject({ status: "cancelled" });
  });

  test.each([
    [425, "too_early", false],
    [429, "rate_limit_exceeded", false],
    [503, "store_unavailable", true],
  ])(
    "after a %i with %s this call may have cancelled the order: %s",
    async (status, code, maybeByThisCall) => {
      const { client, run } = await openAfter(errorResponse(status, code, { "retry-after": "1" }));
      const outcome = { ok: false, code: "order_already_cancelled", maybeByThisCall };
      expect(await run(client.cancel(3n))).toEqual(outcome);
    },
  );

  test.each([
    [503, "store_unavailable"],
    [401, "invalid_api_key"],
  ])(
    "the quota in a %i is not that of the key, so the next request does not wait for it",
    async (status, code) => {
      const midnight = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": `${NOON / 1000 + 43_200}` };
      const { client, run, time } = await openAfter(errorResponse(status, code, midnight));
      await run(client.cancel(1n).catch(() => client.cancel(1n)));
      expect(time.now - NOON).toBeLessThanOrEqual(250);
    },
  );

  test("a sleep that returns at once ends no attempt", async () => {
    const { client, run, sent } = await openAfter(errorResponse(503, "store_unavailable"), {
      sleep: async () => {},
      totalTimeoutMs: 60_000,
    });
    expect(await run(client.cancel(1n))).toEqual({ ok: true });
    expect(sent).toHaveLength(2);
  });

  test("a 429 without Retry-After is retried after at least a second", async () => {
    const { client, run, sent } = await openAfter(errorResponse(429, "rate_limit_exceeded"));
    await run(client.cancel(1n));
    expect((sent[1]?.at ?? 0) - (sent[0]?.at ?? 0)).toBe(1_250);
  });

  test("a network that keeps failing is thrown after maxAttempts", async () => {
    const network = async () => Promise.reject(new TypeError("fetch failed"));
    const { client, run, sent } = await openClient({ network, maxAttempts: 3 });
    await expect(run(client.cancel(1n))).rejects.toBeInstanceOf(NetworkError);
    expect(sent).toHaveLength(3);
  });

  test("a 500 is not retried", async () => {
    const network = async () => errorResponse(500, "internal_error");
    const { client, run, sent } = await openClient({ network });
    await expect(run(client.cancel(1n))).rejects.toMatchObject({ code: "internal_error", retryable: false });
    expect(sent).toHaveLength(1);
  });
});

/** The first request has no response. */
const hangOnce: Network = (forward, attempt, signal) =>
  attempt === 1 ? neverRespond(forward, attempt, signal) : forward();

describe("time limits", () => {
  test("an attempt without a response times out and is retried", async () => {
    const { client, run, sent } = await openClient({ network: hangOnce, attemptTimeoutMs: 3_000 });
    expect(await run(client.cancel(1n))).toEqual({ ok: true });
    expect(sent.map(({ at }) => at - NOON)).toEqual([0, 3_250]);
  });

  test("the total timeout ends a call in any phase and leaves no timer behind", async () => {
    const { client, run, time, pendingTimers } = await openClient({
      network: neverRespond,
      attemptTimeoutMs: 3_000,
      totalTimeoutMs: 5_000,
    });
    const error = await run(rejection(client.cancel(1n)));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({
      ...{ name: "TimeoutError", phase: "total", retryable: true },
      message: "The call did not finish within 5000 ms.",
    });
    expect(time.now - NOON).toBe(5_000);
    expect(pendingTimers()).toBe(0);
  });

  test("a fetch that ignores its signal does not block the call", async () => {
    const network = () => new Promise<Response>(() => {});
    const { client, run } = await openClient({ network, maxAttempts: 2 });
    await expect(run(client.cancel(1n))).rejects.toMatchObject({ phase: "attempt" });
  });

  test("aborting a call rejects it with the signal's reason and does not affect other calls", async () => {
    const { client, run, sent } = await openClient({ network: hangOnce });
    const controller = new AbortController();
    const first = client.cancel(1n, { signal: controller.signal });
    const second = client.cancel(MAX);
    controller.abort(new Error("stopped by the test"));
    await expect(first).rejects.toThrow("stopped by the test");
    expect(await run(second)).toEqual({ ok: true });
    await expect(client.cancel(1n, { signal: controller.signal })).rejects.toThrow("stopped by the test");
    expect(sent).toHaveLength(2);
  });

  test("a call that is aborted during an attempt ends without a pause, whatever the caller's sleep does", async () => {
    const sleep = () => expect.fail("nothing is repeated");
    const { client } = await openClient({ network: neverRespond, sleep });
    const controller = new AbortController();
    const call = client.cancel(1n, { signal: controller.signal });
    await turn();
    controller.abort(new Error("stopped by the test"));
    await expect(call).rejects.toThrow("stopped by the test");
  });

  test("a wait longer than maxWaitMs throws at once, and nothing is sent until it is over", async () => {
    const network = async () => errorResponse(429, "api_key_banned", { "retry-after": "900" });
    const { client, run, sent } = await openClient({ network });
    const error = await run(rejection(client.cancel(1n)));
    expect(error).toBeInstanceOf(RateLimitedError);
    expect(error).toMatchObject({ retryAt: NOON + 900_250, cause: { code: "api_key_banned" } });
    await expect(run(client.cancel(1n))).rejects.toBeInstanceOf(RateLimitedError);
    expect(sent).toHaveLength(1);
  });
});

test("a request that cannot be built, or sent for lack of a fetch, is not retried", async () => {
  onTestFinished(() => void vi.unstubAllGlobals());
  // As that of jsdom: the `fetch` of Node does not take its signals.
  class ForeignController {
    readonly signal = Object.assign(new EventTarget(), { aborted: false, throwIfAborted() {} });
  }
  vi.stubGlobal("AbortController", ForeignController);
  const sent = vi.spyOn(globalThis, "fetch");
  const client = createClient({ baseUrl: "http://127.0.0.1:1/v1", apiKey: "so_x", sleep: async () => {} });
  await expect(client.cancel(7n)).rejects.toThrow(/^RequestInit: Expected signal/);
  expect(sent).toHaveBeenCalledTimes(1);
  vi.unstubAllGlobals();
  vi.stubGlobal("fetch", undefined);
  await expect(client.cancel(7n)).rejects.toThrow("no fetch");
});
