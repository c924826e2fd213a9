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
import { errorResponse, neverRespond, openClient, rejection } from "./fixture.ts";

describe("results", () => {
  test.each([
    [1n, { ok: true }],
    [MAX, { ok: true }],
    [2n, { ok: false, code: "order_already_shipped" }],
    [3n, { ok: false, code: "order_already_cancelled", maybeByThisCall: false }],
    [77n, { ok: false, code: "order_not_found" }],
    [2n ** 63n, { ok: false, code: "order_not_found" }],
    [-5n, { ok: false, code: "order_not_found" }],
  ])("cancelling order %i resolves to %o", async (id, expected) => {
    const { client, run, store } = await openClient();
    expect(await run(client.cancel(id))).toEqual(expected);
    if (expected.ok) expect(await store.orders.find(id)).toMatchObject({ status: "cancelled" });
  });
});

describe("errors", () => {
  test("an invalid key throws an ApiError with code, status and request id", async () => {
    const { client, run, sent } = await openClient({ apiKey: "so_test_shop_wrong" });
    const error = await run(rejection(client.cancel(1n)));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: "invalid_api_key", status: 401, retryable: false });
    expect((error as ApiError).requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(sent).toHaveLength(1);
    expect(`${error}`).not.toContain("so_test_shop_wrong");
  });

  test("a 404 for the path is thrown and not reported as a missing order", async () => {
    const { client, run } = await openClient({ baseUrl: "http://orders.test/v2/" });
    await expect(run(client.cancel(1n))).rejects.toMatchObject({ code: "route_not_found", status: 404 });
  });

  test("a response that the service did not send has the code unexpected_response", async () => {
    const network = async () => new Response("<html>", { status: 403 });
    const { client, run } = await openClient({ network });
    await expect(run(client.cancel(1n))).rejects.toMatchObject({ code: "unexpected_response", status: 403 });
  });

  test("an unknown code is reported as unexpected_response, with the message of the response", async () => {
    const { client, run } = await openClient({
      network: async () => errorResponse(413, "too_big", {}, "Too big."),
    });
    await expect(run(client.cancel(1n))).rejects.toMatchObject({
      code: "unexpected_response",
      message: expect.stringMatching(/^413 unexpected_response: .* Its message: "Too big\."$/),
    });
  });

  test("a redirect is thrown with its target", async () => {
    const location = "https://orders.example.com/v1/store/orders/1";
    const network = async () => new Response(null, { status: 301, headers: { location } });
    const { client, run } = await openClient({ network });
    await expect(run(client.cancel(1n))).rejects.toThrow(location);
  });

  test("over a real connection the key is not sent to the target of a redirect", async () => {
    const redirected: Request[] = [];
    const target = await startNodeServer({
      port: 0,
      handler: async (request) => {
        redirected.push(request);
        return new Response();
      },
    });
    const origin = await startNodeServer({
      port: 0,
      handler: async () => new Response("Moved", { status: 301, headers: { location: target.url } }),
    });
    const client = createClient({ baseUrl: origin.url, apiKey: "key" });
    await expect(client.cancel(1n)).rejects.toThrow(target.url);
    expect(redirected).toEqual([]);
    await Promise.all([origin.close({ graceMs: 0 }), target.close({ graceMs: 0 })]);
  });

  test.each([
    ["baseUrl", { baseUrl: "orders.example.com" }],
    ["baseUrl", { baseUrl: "https://user:so_test@orders.example.com/v1" }],
    ["baseUrl", { baseUrl: "https://orders.example.com/v1?key=so_test" }],
    ["baseUrl", { baseUrl: "https://orders.example.com/v1#so_test" }],
    ["apiKey", { apiKey: "so_test\n" }],
    ["maxAttempts", { maxAttempts: Number.NaN }],
    ["attemptTimeoutMs", { attemptTimeoutMs: -1 }],
    ["maxWaitMs", { maxWaitMs: Number.NaN }],
  ])("an invalid %s is rejected when the client is created, without printing it", async (path, options) => {
    const error = await rejection(openClient(options));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error).toMatchObject({ issues: [{ path }] });
    expect(`${error}`).not.toContain("so_test");
  });
});

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

  test("after a lost response it is unknown whether this call cancelled the order", async () => {
    const { client, run, store } = await openClient({
      async network(forward, attempt) {
        const response = await forward();
        if (attempt === 1) throw new TypeError("terminated");
        return response;
      },
    });
    expect(await run(client.cancel(1n))).toEqual({
      ok: false,
      code: "order_already_cancelled",
      maybeByThisCall: true,
    });
    expect(await store.orders.find(1n)).toMatchObject({ status: "cancelled" });
  });

  test("after a 429 it is known that this call did not cancel the order", async () => {
    const { client, run } = await openClient({
      network: async (forward, attempt) =>
        attempt === 1 ? errorResponse(429, "rate_limit_exceeded", { "retry-after": "1" }) : forward(),
    });
    expect(await run(client.cancel(3n))).toEqual({
      ok: false,
      code: "order_already_cancelled",
      maybeByThisCall: false,
    });
  });

  test("a 429 without Retry-After is retried after at least a second", async () => {
    const { client, run, sent } = await openClient({
      network: async (forward, attempt) =>
        attempt === 1 ? errorResponse(429, "rate_limit_exceeded") : forward(),
    });
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
    const { client, run, sent } = await openClient({
      network: async () => errorResponse(500, "internal_error"),
    });
    await expect(run(client.cancel(1n))).rejects.toMatchObject({ code: "internal_error", retryable: false });
    expect(sent).toHaveLength(1);
  });
});

describe("time limits", () => {
  test("an attempt without a response times out and is retried", async () => {
    const { client, run, sent, time } = await openClient({
      network: (forward, attempt, signal) =>
        attempt === 1 ? neverRespond(forward, attempt, signal) : forward(),
      attemptTimeoutMs: 3_000,
    });
    const startedAt = time.now;
    expect(await run(client.cancel(1n))).toEqual({ ok: true });
    expect(sent.map(({ at }) => at - startedAt)).toEqual([0, 3_250]);
  });

  test("the total timeout ends a call in any phase and leaves no timer behind", async () => {
    const { client, run, time, pendingTimers } = await openClient({
      network: neverRespond,
      attemptTimeoutMs: 3_000,
      totalTimeoutMs: 5_000,
    });
    const startedAt = time.now;
    const error = await run(rejection(client.cancel(1n)));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ name: "TimeoutError", phase: "total", retryable: true });
    expect(time.now - startedAt).toBe(5_000);
    expect(pendingTimers()).toBe(0);
  });

  test("a fetch that ignores its signal does not block the call", async () => {
    const network = () => new Promise<Response>(() => {});
    const { client, run } = await openClient({ network, maxAttempts: 2 });
    await expect(run(client.cancel(1n))).rejects.toMatchObject({ phase: "attempt" });
  });

  test("aborting a call rejects it with the signal's reason and does not affect other calls", async () => {
    const { client, run, sent } = await openClient({
      network: (forward, attempt, signal) =>
        attempt === 1 ? neverRespond(forward, attempt, signal) : forward(),
    });
    const controller = new AbortController();
    const first = client.cancel(1n, { signal: controller.signal });
    const second = client.cancel(MAX);
    controller.abort(new Error("stopped by the test"));
    await expect(first).rejects.toThrow("stopped by the test");
    expect(await run(second)).toEqual({ ok: true });
    await expect(client.cancel(1n, { signal: controller.signal })).rejects.toThrow("stopped by the test");
    expect(sent).toHaveLength(2);
  });

  test("a wait longer than maxWaitMs throws at once, and nothing is sent until it is over", async () => {
    const { client, run, sent, time } = await openClient({
      network: async () => errorResponse(429, "api_key_banned", { "retry-after": "900" }),
    });
    const startedAt = time.now;
    const error = await run(rejection(client.cancel(1n)));
    expect(error).toBeInstanceOf(RateLimitedError);
    expect(error).toMatchObject({ retryAt: startedAt + 900_250, cause: { code: "api_key_banned" } });
    await expect(run(client.cancel(1n))).rejects.toBeInstanceOf(RateLimitedError);
    expect(sent).toHaveLength(1);
  });
});
