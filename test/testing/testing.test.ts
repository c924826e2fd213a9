import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createClient } from "../../lib/client/index.ts";
import { createHandler } from "../../lib/http/index.ts";
import { createTestService } from "../../lib/testing/index.ts";

describe("a test service", () => {
  test("has a key, a client and orders, and cancels one", async () => {
    const { orders, client, fetch } = await createTestService();
    await orders.place({ id: 9223372036854775807n, quantity: 2 });
    await orders.place({ id: 7n });
    expect(await client.cancel(7n)).toEqual({ ok: true });
    expect(await client.cancel(7n)).toMatchObject({ ok: false, code: "order_already_cancelled" });
    expect((await fetch("/store/orders")).status).toBe(200);
    const ids: bigint[] = [];
    for await (const { id } of client.list()) ids.push(id);
    expect(ids).toEqual([7n, 9223372036854775807n]);
  });

  test("is exhausted until its clock has advanced", async () => {
    const service = await createTestService({ plan: "pro", now: 1_000 });
    await service.exhaust();
    const rejected = await service.fetch("/store/orders");
    expect([rejected.status, rejected.headers.get("retry-after")]).toEqual([429, "59"]);
    service.advance(59_000);
    expect((await service.fetch("/store/orders")).status).toBe(200);
  });

  test("has an account of a plan of your own, and counts by your table", async () => {
    const perDay = 5_000;
    const plans = { free: { perMinute: 1_000, perDay }, partner: "custom" } as const;
    const customLimits = { perMinute: 7, perDay };
    for (const plan of ["free", { plan: "partner", customLimits }]) {
      const service = await createTestService({
        plan,
        handler: { plans, banPolicy: { maxRejections: 1, durationMs: 1_000 } },
      });
      const limit = (await service.fetch("/store/orders")).headers.get("x-ratelimit-limit");
      expect(limit).toBe(plan === "free" ? "1000" : "7");
      await service.exhaust();
      expect((await service.fetch("/store/orders")).status).toBe(429);
      service.advance(60_000);
      await service.ban();
      expect(await (await service.fetch("/store/orders")).json()).toMatchObject({ code: "api_key_banned" });
      expect(await service.accounts.setPlan("test", { plan: "partner", customLimits })).toMatchObject({
        ok: true,
      });
    }
    await expect(createTestService({ plan: "pro", handler: { plans } })).rejects.toThrow("free, partner");
  });

  test("advances the clock instead of waiting in the client", async () => {
    const service = await createTestService();
    await service.exhaust();
    const before = service.now();
    await service.orders.place({ id: 7n });
    expect(await service.client.cancel(7n)).toEqual({ ok: true });
    expect(service.now() - before).toBeGreaterThanOrEqual(60_000);
    expect(Number.isInteger(service.now())).toBe(true);
  });

  test("shows a client of your own, with one attempt, the minute that is used up and the next one", async () => {
    const service = await createTestService();
    const { baseUrl, apiKey, fetch, now: clock } = service;
    const sleep = async (ms: number) => service.advance(ms);
    const client = createClient({ baseUrl, apiKey, fetch, clock, sleep, maxAttempts: 1 });
    await service.orders.place({ id: 7n });
    await service.exhaust();
    await expect(client.cancel(7n)).rejects.toMatchObject({ code: "rate_limit_exceeded" });
    expect(await client.cancel(7n)).toEqual({ ok: true });
    expect(clock() - Date.UTC(2030, 0)).toBeLessThan(61_000);
  });

  test("bans its key for 15 minutes", async () => {
    const service = await createTestService();
    await service.ban();
    expect(await (await service.fetch("/store/orders")).json()).toMatchObject({ code: "api_key_banned" });
    service.advance(15 * 60_000);
    expect((await service.fetch("/store/orders")).status).toBe(200);
  });

  test("fails once, with an error of the API or without a response", async () => {
    const service = await createTestService();
    service.failNext("store_unavailable");
    service.failNext("network");
    const { status, headers } = await service.fetch("/store/orders");
    expect([status, headers.has("retry-after"), headers.has("x-ratelimit-limit")]).toEqual([503, true, true]);
    await expect(service.fetch("/store/orders")).rejects.toThrow(TypeError);
    expect((await service.fetch("/store/orders")).status).toBe(200);
  });

  test("is the fetch of a client of your own, which repeats what failed", async () => {
    const { baseUrl, apiKey, fetch, now, advance, failNext } = await createTestService();
    const sleep = async (ms: number) => advance(ms);
    const client = createClient({ baseUrl, apiKey, fetch, clock: now, sleep });
    failNext("network");
    failNext("store_unavailable");
    await expect(client.list().next()).resolves.toMatchObject({ done: true });
  });

  test("takes the options of a handler, and rejects what is invalid", async () => {
    const transitions: string[] = [];
    const onTransition = ({ to }: { readonly to: string }) => void transitions.push(to);
    const service = await createTestService({ handler: { onTransition, basePath: "" } });
    await service.orders.place({ id: 7n });
    await service.client.cancel(7n);
    expect(transitions).toEqual(["cancelled"]);
    await expect(createTestService({ plan: "gold" as "free" })).rejects.toThrow("plan");
    await expect(createTestService({ plan: "enterprise" })).rejects.toThrow("needs its limits");
    await expect(createTestService({ plna: "free" } as object)).rejects.toThrow("plna: There is no option");
  });
});

describe("with fake timers", () => {
  const { setImmediate } = globalThis;
  afterEach(() => void vi.useRealTimers());

  test("the handler, the client and the store follow the time of the test", async () => {
    vi.useFakeTimers({ now: Date.UTC(2030, 0) });
    const { store, baseUrl, apiKey, orders } = await createTestService({ now: Date.now() });
    await orders.place({ id: 7n });
    const handler = createHandler({ store });
    /** The requests of the client. While one is being answered the time stands still, so that none is late. */
    let sent = 0;
    let answered = 0;
    const advance = async () => {
      while (sent === 0 || answered < sent) await new Promise<void>((resolve) => setImmediate(resolve));
      await vi.advanceTimersByTimeAsync(1_000);
    };
    const client = createClient({
      baseUrl,
      apiKey,
      async fetch(url, init) {
        sent++;
        const response = await handler(new Request(url, init));
        answered++;
        return response;
      },
    });
    for (let request = 0; request < 60; request++)
      await handler(
        new Request(`${baseUrl}/store/orders`, { headers: { authorization: `Bearer ${apiKey}` } }),
      );
    let result: unknown;
    const settle = (settled: unknown) => {
      result = settled;
    };
    void client.cancel(7n).then(settle, settle);
    for (let second = 0; second < 30; second++) await advance();
    expect(result).toBeUndefined();
    // The client may begin to wait a little later than the test.
    while (result === undefined) await advance();
    expect(result).toEqual({ ok: true });
    expect(Date.now()).toBeGreaterThanOrEqual(Date.UTC(2030, 0) + 60_000);
  });
});

test("a start and an advance that lead to no instant are errors, and the clock stays", async () => {
  for (const now of [Number.NaN, -1, 0.5, new Date() as never])
    await expect(createTestService({ now })).rejects.toThrow(/^now: It is /);
  const service = await createTestService();
  const before = service.now();
  for (const ms of [Number.NaN, Infinity, -Infinity, 9e15])
    expect(() => service.advance(ms)).toThrow(/^ms: It is /);
  expect(service.now()).toBe(before);
});

test("the kit needs no fetch, Request, Response, signal or structuredClone of its environment", async () => {
  // As in the environments of jsdom, where some are missing and others are those of the page.
  const lacking = ["fetch", "Request", "Response", "Headers", "structuredClone", "ReadableStream", "Blob"];
  for (const name of lacking) vi.stubGlobal(name, undefined);
  onTestFinished(() => void vi.unstubAllGlobals());
  const service = await createTestService({ plan: "pro" });
  for (let id = 1n; id <= 2_500n; id++) await service.orders.place({ id });
  let count = 0;
  for await (const _order of service.client.list()) count++;
  expect(count).toBe(2_500);
  expect(await service.client.cancel(7n)).toEqual({ ok: true });
  expect(await service.client.cancel(2_501n)).toEqual({ ok: false, code: "order_not_found" });
  service.failNext("network");
  expect(await service.client.cancel(8n)).toEqual({ ok: true });
  await expect(service.fetch("/store/orders")).rejects.toThrow("has no Request, no Response");
  vi.stubGlobal("TextDecoder", undefined);
  await expect(createTestService()).rejects.toThrow("has no TextDecoder");
});
