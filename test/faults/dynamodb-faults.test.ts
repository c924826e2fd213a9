import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StoreUnavailableError } from "../../lib/errors.ts";
import { type Emulator, startEmulator } from "../support/dynamodb/emulator.ts";
import type { Fault } from "../support/dynamodb/fault-responses.ts";
import type { ProxiedRequest } from "../support/dynamodb/proxy.ts";
import { proxiedShop } from "./dynamodb/fixture.ts";
import { PER_MINUTE } from "./mixed-run.ts";
import { expectUnavailable, LIST, orderAt, untilServed } from "./requester.ts";
import { tell } from "./run.ts";

/** What a call of the store may take, and one request of the service, which makes two of them. */
const BUDGET = 4_000;

const NOT_DONE: readonly Fault[] = ["throttle", "error", "garble", "cut", "hang"];
const UNTOLD: readonly Fault[] = ["lose", "tear", "withhold"];

let emulator: Emulator;
beforeAll(async () => {
  emulator = await startEmulator("all-old");
});
afterAll(async () => {
  await emulator.stop();
  tell("faults of DynamoDB", { "kinds of fault, each by itself": NOT_DONE.length + UNTOLD.length });
});

const isWrite = ({ operation }: ProxiedRequest) => operation === "UpdateItem";

describe.concurrent("a fault of DynamoDB", () => {
  test.each([...NOT_DONE, ...UNTOLD])(
    "'%s' causes a 503 without executing the request, and the service recovers by itself",
    async (fault) => {
      await using shop = await proxiedShop(emulator, 10);
      shop.proxy.chooseFault = () => fault;
      const began = performance.now();
      const told = await Promise.all([
        shop.ask("DELETE", orderAt(1)),
        shop.ask("DELETE", orderAt(2)),
        shop.ask("GET", LIST),
      ]);
      const waited = performance.now() - began;
      for (const answer of told) expectUnavailable(answer);
      for (const id of [1n, 2n]) expect((await shop.behind.orders.find(id))?.status).toBe("pending");
      const counted = (await shop.behind.accounts.find("shop"))?.usage.minute.count ?? 0;
      // Each of three requests was tried three times at most, and counts for each try that took effect.
      expect(counted).toBeLessThanOrEqual(NOT_DONE.includes(fault) ? 0 : 9);
      expect(waited).toBeLessThan(2 * BUDGET + 2_000);

      shop.proxy.chooseFault = () => "pass";
      expect((await shop.ask("DELETE", orderAt(1))).status).toBe(204);
      expect((await shop.behind.accounts.find("shop"))?.usage.minute.count).toBe(counted + 1);
    },
  );

  test("after admission causes a 503 with the remaining quota of the account", async () => {
    await using shop = await proxiedShop(emulator, 10);
    let remaining = PER_MINUTE;
    for (const fault of ["throttle", "garble", "garble"] as const) {
      shop.proxy.chooseFault = ({ table }) => (table.endsWith("orders") ? fault : "pass");
      for (const told of [await shop.ask("DELETE", orderAt(1)), await shop.ask("GET", LIST)]) {
        expectUnavailable(told);
        expect(told.headers.get("x-ratelimit-remaining")).toBe(`${--remaining}`);
      }
    }
    expect((await shop.behind.orders.find(1n))?.status).toBe("pending");
  });

  test("in hundreds of concurrent requests does not delay later requests", async () => {
    const width = 300;
    await using shop = await proxiedShop(emulator, 10);
    shop.proxy.chooseFault = () => "hang";
    const told = await Promise.all(Array.from({ length: width }, () => shop.ask("DELETE", orderAt(1))));
    for (const answer of told) expectUnavailable(answer);
    shop.proxy.chooseFault = () => "pass";
    expect((await untilServed(() => shop.ask("DELETE", orderAt(1)))).status).toBe(204);
    expect((await shop.behind.accounts.find("shop"))?.usage.minute.count).toBe(1);
  });
});

describe.concurrent("a lost response to a successful write", () => {
  test.each(UNTOLD)("'%s' may count the request twice, but its cancel succeeds with 204", async (fault) => {
    await using shop = await proxiedShop(emulator, 10);
    // Opens the minute: three silences in a row would take more than the budget.
    expect((await shop.ask("DELETE", orderAt(2))).status).toBe(204);
    shop.proxy.chooseFault = (request) => (isWrite(request) && request.attempt === 1 ? fault : "pass");
    expect((await shop.ask("DELETE", orderAt(1))).status).toBe(204);
    expect((await shop.ask("DELETE", orderAt(1))).status).toBe(409);
    const counted = (await shop.behind.accounts.find("shop"))?.usage.minute.count;
    const writes = shop.proxy.writes.get(`${shop.prefix}-accounts`);
    expect(counted).toBe(3 + (writes?.unanswered ?? 0));
  });

  test("at every attempt causes a 503, and a repeated cancel gets 409", async () => {
    await using shop = await proxiedShop(emulator, 10);
    shop.proxy.chooseFault = (request) =>
      isWrite(request) && request.table.endsWith("orders") ? "lose" : "pass";
    expectUnavailable(await shop.ask("DELETE", orderAt(1)));
    shop.proxy.chooseFault = () => "pass";
    expect((await shop.ask("DELETE", orderAt(1))).status).toBe(409);
    expect((await shop.behind.accounts.find("shop"))?.usage.minute.count).toBe(2);
  });
});

test("a lost response to a rejection neither delays a ban nor triggers it early", async () => {
  await using shop = await proxiedShop(emulator, 1);
  const { store, behind, key, proxy } = shop;
  const at = Date.UTC(2026, 10, 20, 12);
  await behind.accounts.update("shop", ({ id, keys }) => ({ ok: true, account: { id, keys, plan: "free" } }));
  for (let request = 0; request < 60; request++) await behind.accounts.admit(key, at);
  let refusals = 0;
  proxy.chooseFault = (request) =>
    isWrite(request) && refusals % 3 === 0 && request.attempt === 1 ? "lose" : "pass";
  for (;;) {
    const told = await store.accounts.admit(key, at);
    expect(told.ok).toBe(false);
    if (!told.ok && told.code === "api_key_banned") break;
    refusals++;
  }
  const { unanswered } = proxy.writes.get(`${shop.prefix}-accounts`) ?? { unanswered: 0 };
  expect(unanswered).toBeGreaterThan(0);
  expect(refusals).toBe(20);
});

describe.concurrent("a list", () => {
  const ORDERS = 2_500;
  const ALL = Array.from({ length: ORDERS }, (_, id) => id);

  test("is complete if DynamoDB returns short and empty pages", async () => {
    await using shop = await proxiedShop(emulator, 300);
    shop.proxy.chooseFault = ({ operation }) => (operation === "Query" ? "shorten" : "pass");
    const { status, text } = await shop.ask("GET", LIST);
    expect(status).toBe(200);
    expect((JSON.parse(text) as { id: number }[]).map(({ id }) => id)).toEqual(ALL.slice(0, 300));
    expect(shop.proxy.faults.shorten).toBeGreaterThan(16);
  });

  test("that fails midway ends the connection and leaves the array unclosed", async () => {
    await using shop = await proxiedShop(emulator, ORDERS);
    for (const fault of ["throttle", "cut", "tear", "garble"] as const) {
      shop.proxy.chooseFault = ({ continues }) => (continues ? fault : "pass");
      const { status, text, whole } = await shop.ask("GET", LIST);
      // The head may be lost with the connection; a 503 would have come whole.
      expect([0, 200], fault).toContain(status);
      expect({ fault, whole }).toEqual({ fault, whole: false });
      expect(text).not.toMatch(/\]$/);
    }
    shop.proxy.chooseFault = () => "pass";
    const { text } = await shop.ask("GET", LIST);
    expect((JSON.parse(text) as { id: number }[]).map(({ id }) => id)).toEqual(ALL);
  });
});

test("calls that are in progress when the store is closed succeed or fail as unavailable", async () => {
  await using shop = await proxiedShop(emulator, 10);
  const calls = Array.from({ length: 20 }, () => shop.store.accounts.admit(shop.key, Date.UTC(2026, 10, 20)));
  await shop.store.close();
  const results = await Promise.allSettled([...calls, shop.store.orders.find(1n)]);
  for (const result of results)
    if (result.status === "rejected") expect(result.reason).toBeInstanceOf(StoreUnavailableError);
});
