import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { CALL_TIMEOUT_MS } from "../../lib/core/time.ts";
import { type Emulator, startEmulator } from "../support/dynamodb/emulator.ts";
import type { Fault } from "../support/dynamodb/fault-responses.ts";
import type { ProxiedRequest } from "../support/dynamodb/proxy.ts";
import { startProxiedService } from "./dynamodb/fixture.ts";
import { PER_MINUTE } from "./mixed-requests.ts";
import { expectUnavailable, LIST, orderAt, retryWhileUnavailable } from "./requester.ts";
import { reportFigures } from "./run.ts";

/** The timeout of a store call. A request makes two of them. */

const NOT_EXECUTED: readonly Fault[] = ["throttle", "error", "garble", "cut", "hang"];
const RESPONSE_LOST: readonly Fault[] = ["lose", "tear", "withhold"];

let emulator: Emulator;
beforeAll(async () => {
  emulator = await startEmulator("all-old");
});
afterAll(async () => {
  await emulator.stop();
  reportFigures("faults of DynamoDB", {
    "kinds of fault, each by itself": NOT_EXECUTED.length + RESPONSE_LOST.length,
  });
});

const isWrite = ({ operation }: ProxiedRequest) => operation === "UpdateItem";

describe.concurrent("a fault of DynamoDB", () => {
  test.each([...NOT_EXECUTED, ...RESPONSE_LOST])(
    "'%s' causes a 503 without executing the request, and the service recovers by itself",
    async (fault) => {
      await using service = await startProxiedService(emulator, 10);
      service.proxy.chooseFault = () => fault;
      const startedAt = performance.now();
      const responses = await Promise.all([
        service.send("DELETE", orderAt(1)),
        service.send("DELETE", orderAt(2)),
        service.send("GET", LIST),
      ]);
      const waited = performance.now() - startedAt;
      for (const response of responses) expectUnavailable(response);
      for (const id of [1n, 2n]) expect((await service.direct.orders.find(id))?.status).toBe("pending");
      const counted = (await service.direct.accounts.find("shop"))?.usage.minute.count ?? 0;
      // Each of the three requests is attempted at most three times, and counts once per executed attempt.
      expect(counted).toBeLessThanOrEqual(NOT_EXECUTED.includes(fault) ? 0 : 9);
      expect(waited).toBeLessThan(2 * CALL_TIMEOUT_MS + 2_000);

      service.proxy.chooseFault = () => "pass";
      // An account that was throttled pauses for at most five seconds, and counts nothing meanwhile.
      let { status } = await service.send("DELETE", orderAt(1));
      for (let attempts = 0; status === 503 && attempts < 60; attempts++) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        ({ status } = await service.send("DELETE", orderAt(1)));
      }
      expect(status).toBe(204);
      expect((await service.direct.accounts.find("shop"))?.usage.minute.count).toBe(counted + 1);
    },
  );

  test("a fault after admission causes a 503 with the remaining quota of the account", async () => {
    await using service = await startProxiedService(emulator, 10);
    let remaining = PER_MINUTE;
    for (const fault of ["throttle", "garble", "garble"] as const) {
      service.proxy.chooseFault = ({ table }) => (table.endsWith("orders") ? fault : "pass");
      for (const response of [await service.send("DELETE", orderAt(1)), await service.send("GET", LIST)]) {
        expectUnavailable(response);
        expect(response.headers.get("x-ratelimit-remaining")).toBe(`${--remaining}`);
      }
    }
    expect((await service.direct.orders.find(1n))?.status).toBe("pending");
  });

  test("a fault in hundreds of concurrent requests does not delay later requests", async () => {
    const width = 300;
    await using service = await startProxiedService(emulator, 10);
    service.proxy.chooseFault = () => "hang";
    const responses = await Promise.all(
      Array.from({ length: width }, () => service.send("DELETE", orderAt(1))),
    );
    for (const response of responses) expectUnavailable(response);
    service.proxy.chooseFault = () => "pass";
    expect((await retryWhileUnavailable(() => service.send("DELETE", orderAt(1)))).status).toBe(204);
    expect((await service.direct.accounts.find("shop"))?.usage.minute.count).toBe(1);
  });
});

describe.concurrent("a lost response to a successful write", () => {
  test.each(RESPONSE_LOST)(
    "'%s' leaves the request counted once, and its cancel succeeds with 204",
    async (fault) => {
      await using service = await startProxiedService(emulator, 10);
      // Starts the minute window: three timeouts in a row would exceed the request's timeout.
      expect((await service.send("DELETE", orderAt(2))).status).toBe(204);
      service.proxy.chooseFault = (request) => (isWrite(request) && request.attempt === 1 ? fault : "pass");
      expect((await service.send("DELETE", orderAt(1))).status).toBe(204);
      expect((await service.send("DELETE", orderAt(1))).status).toBe(409);
      const counted = (await service.direct.accounts.find("shop"))?.usage.minute.count;
      const writes = service.proxy.writes.get(`${service.prefix}-accounts`);
      expect(writes?.unanswered).toBeGreaterThan(0);
      expect(counted).toBe(3);
    },
  );

  test("at every attempt causes a 503, and a repeated cancel gets 409", async () => {
    await using service = await startProxiedService(emulator, 10);
    service.proxy.chooseFault = (request) =>
      isWrite(request) && request.table.endsWith("orders") ? "lose" : "pass";
    expectUnavailable(await service.send("DELETE", orderAt(1)));
    service.proxy.chooseFault = () => "pass";
    expect((await service.send("DELETE", orderAt(1))).status).toBe(409);
    expect((await service.direct.accounts.find("shop"))?.usage.minute.count).toBe(2);
  });
});

test("a lost response to a rejection neither delays a ban nor triggers it early", async () => {
  await using service = await startProxiedService(emulator, 1);
  const { store, direct, key, proxy } = service;
  const at = Date.UTC(2026, 10, 20, 12);
  await direct.accounts.update("shop", ({ id, keys }) => ({ ok: true, account: { id, keys, plan: "free" } }));
  for (let request = 0; request < 60; request++) await direct.accounts.admit(key, at);
  let rejections = 0;
  proxy.chooseFault = (request) =>
    isWrite(request) && rejections % 3 === 0 && request.attempt === 1 ? "lose" : "pass";
  for (;;) {
    const result = await store.accounts.admit(key, at);
    expect(result.ok).toBe(false);
    if (!result.ok && result.code === "api_key_banned") break;
    rejections++;
  }
  const { unanswered } = proxy.writes.get(`${service.prefix}-accounts`) ?? { unanswered: 0 };
  expect(unanswered).toBeGreaterThan(0);
  expect(rejections).toBe(20);
});

describe.concurrent("a list", () => {
  const ORDERS = 2_500;
  const ALL = Array.from({ length: ORDERS }, (_, id) => id);

  test("a list is complete if DynamoDB returns short and empty pages", async () => {
    await using service = await startProxiedService(emulator, 300);
    service.proxy.chooseFault = ({ operation }) => (/Query|Scan/.test(operation) ? "shorten" : "pass");
    const { status, text } = await service.send("GET", LIST);
    expect(status).toBe(200);
    expect((JSON.parse(text) as { id: number }[]).map(({ id }) => id)).toEqual(ALL.slice(0, 300));
    expect(service.proxy.faults.shorten).toBeGreaterThan(16);
  });

  test("that fails midway ends the connection and leaves the array unclosed", async () => {
    await using service = await startProxiedService(emulator, ORDERS);
    for (const fault of ["throttle", "cut", "tear", "garble"] as const) {
      service.proxy.chooseFault = ({ continues }) => (continues ? fault : "pass");
      const { status, text, complete } = await service.send("GET", LIST);
      // The head may be lost with the connection. A 503 would be complete.
      expect([0, 200], fault).toContain(status);
      expect({ fault, complete }).toEqual({ fault, complete: false });
      expect(text).not.toMatch(/\]$/);
    }
    service.proxy.chooseFault = () => "pass";
    const { text } = await service.send("GET", LIST);
    expect((JSON.parse(text) as { id: number }[]).map(({ id }) => id)).toEqual(ALL);
  });
});

test("calls that are in progress when the store is closed succeed or fail as unavailable", async () => {
  await using service = await startProxiedService(emulator, 10);
  const calls = Array.from({ length: 20 }, () =>
    service.store.accounts.admit(service.key, Date.UTC(2026, 10, 20)),
  );
  await service.store.close();
  const results = await Promise.allSettled([...calls, service.store.orders.find(1n)]);
  for (const result of results)
    if (result.status === "rejected") expect(result.reason).toBeInstanceOf(StoreUnavailableError);
});
