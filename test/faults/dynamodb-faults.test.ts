import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CALL_TIMEOUT_MS } from "../../lib/core/time.ts";
import { type Emulator, startEmulator } from "../support/dynamodb/emulator.ts";
import type { Fault } from "../support/dynamodb/fault-responses.ts";
import type { ProxiedRequest } from "../support/dynamodb/proxy.ts";
import { startProxiedService } from "./dynamodb/fixture.ts";
import { reconcile, runMixedRequests } from "./mixed-requests.ts";
import { expectUnavailable, LIST, orderAt, retryWhileUnavailable } from "./requester.ts";
import { createRandom, reportFigures, type SeededRandom } from "./run.ts";

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

/** How many of a thousand requests have each fault. Every other query returns a short page, which is not a failure. */
const RATES: readonly (readonly [Fault, number])[] = [
  ["throttle", 30],
  ["error", 20],
  ["garble", 3],
  ["cut", 20],
  ["lose", 40],
  ["tear", 20],
  ["hang", 3],
  ["withhold", 3],
];

function chooseFault(random: SeededRandom): (request: ProxiedRequest) => Fault {
  return ({ operation }) => {
    let drawn = random.int(0, 999);
    for (const [fault, rate] of RATES) {
      drawn -= rate;
      if (drawn < 0) return fault;
    }
    return /Query|Scan/.test(operation) ? "shorten" : "pass";
  };
}

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
});

// On their own: they use the processor so much that the calls of other services would take too long.
describe("a fault of DynamoDB", () => {
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

  test("in the middle of a list ends the connection and leaves the array unclosed", async () => {
    // More than 500 in each of the sixteen buckets, so that their queries continue.
    const orders = 10_000;
    await using service = await startProxiedService(emulator, orders);
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
    expect((JSON.parse(text) as { id: number }[]).map(({ id }) => id)).toEqual(
      Array.from({ length: orders }, (_, id) => id),
    );
  });
});

test("throttled items of one account delay no other account, and it is admitted exactly up to its limit", async () => {
  await using service = await startProxiedService(emulator, 10);
  const { store, direct } = service;
  const customLimits = { perMinute: 5, perDay: 1_000 };
  const keyOf = (accountId: string) => ({ accountId, hash: accountId.padEnd(64, "0") });
  for (const id of ["hot", "quiet"]) {
    const key = { id: `${id}.1`, hash: keyOf(id).hash, createdAt: 0 };
    await direct.accounts.create({ id, plan: "enterprise", customLimits, keys: [key] });
  }
  let requests = 0;
  // Two of three, as on a partition that takes a third of them.
  service.proxy.chooseFault = ({ item }) => (item === "hot" && ++requests % 3 > 0 ? "throttle" : "pass");
  const at = Date.UTC(2026, 10, 20, 12);
  const hot = Promise.allSettled(Array.from({ length: 60 }, () => store.accounts.admit(keyOf("hot"), at)));
  // Each within the time of a call.
  for (let count = 0; count < 5; count++)
    expect(await store.accounts.admit(keyOf("quiet"), at)).toMatchObject({ ok: true });
  const outcomes = await hot;
  const failed = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  expect(failed.length).toBeGreaterThan(0);
  for (const error of failed) expect(error).toMatchObject({ code: "store_unavailable" });
  service.proxy.chooseFault = () => "pass";
  for (let more = 0; more < 60; more++) {
    // An account that was throttled pauses for at most five seconds.
    const done = await store.accounts.admit(keyOf("hot"), at).then(
      (admission) => !admission.ok,
      () => false,
    );
    if (done) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect((await direct.accounts.find("hot"))?.usage.minute.count).toBe(5);
});

test("faults of every kind at once leave each 204 as one cancelled order, and no admitted request uncounted", async () => {
  const sizes = { orders: 1_000, requests: 1_200 };
  const random = createRandom("faults of DynamoDB");
  await using service = await startProxiedService(emulator, sizes.orders);
  service.proxy.chooseFault = chooseFault(random);
  const tally = await runMixedRequests(service.send, random, { ...sizes, width: 24 });
  service.proxy.chooseFault = () => "pass";

  expect(tally.unanswered).toBe(0);
  const figures = await reconcile(service.direct, tally, sizes.orders);
  const counted = (await service.direct.accounts.find("shop"))?.usage.minute.count ?? 0;
  const { done, unanswered } = service.proxy.writes.get(`${service.prefix}-accounts`) ?? {
    done: 0,
    unanswered: 0,
  };
  expect(counted, "each write of the admission counts once").toBe(done);
  expect(counted).toBeGreaterThanOrEqual(tally.admitted);
  expect(counted).toBeLessThanOrEqual(tally.admitted + unanswered);
  expect((await service.send("DELETE", orderAt(0))).status, "still serves").toBeLessThan(500);

  const { pass, shorten, ...faults } = service.proxy.faults;
  reportFigures("faults of DynamoDB", {
    "requests under faults": sizes.requests,
    "injected faults": Object.values(faults).reduce((sum, count) => sum + count, 0),
    ...figures,
    "admitted / counted / lost responses": `${tally.admitted} / ${counted} / ${unanswered}`,
  });
});
