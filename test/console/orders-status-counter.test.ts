import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { createStatusCounter } from "../../lib/console/orders/status-counter.ts";
import { formatDuration } from "../../lib/console/text.ts";
import { StoreUnavailableError } from "../../lib/errors.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { signIn, useConsole } from "../support/console.ts";

test("orders are counted by status, and again only after a change", async () => {
  const { orders } = createMemoryStore();
  let scans = 0;
  const scan: typeof orders.scan = (after) => {
    scans += 1;
    return orders.scan(after);
  };
  const counter = createStatusCounter({ ...orders, scan }, systemClock);
  await orders.place([
    { record: { id: 1n }, status: "pending" },
    { record: { id: 2n }, status: "shipped" },
  ]);
  await counter.refresh();
  expect(counter.latest?.counts).toEqual({ pending: 1, shipped: 1, cancelled: 0 });
  await orders.apply(1n, "cancel", 0);
  await counter.refresh();
  expect(counter.latest?.counts.cancelled, "not due yet").toBe(0);
  expect(counter.isCurrent).toBe(false);
  await sleep(1_050);
  await counter.refresh();
  expect(counter.latest?.counts).toEqual({ pending: 0, shipped: 1, cancelled: 1 });
  await sleep(1_050);
  await counter.refresh();
  expect(scans, "nothing has changed").toBe(2);
  expect(counter.isCurrent).toBe(true);
});

test("a long count goes on in the background, while the event loop serves others", async () => {
  const { orders } = createMemoryStore();
  let turns = 0;
  const pages = 20_000;
  async function* scan() {
    for (let page = 0; page < pages; page++)
      yield [{ record: { id: BigInt(page) }, status: "pending" as const }];
  }
  const counter = createStatusCounter({ ...orders, scan }, systemClock);
  let counting = true;
  const turn = () => {
    turns += 1;
    if (counting) setImmediate(turn);
  };
  setImmediate(turn);
  await counter.count();
  while (counter.progress !== undefined) await new Promise(setImmediate);
  counting = false;
  expect(counter.latest?.counts.pending).toBe(pages);
  expect(turns).toBeGreaterThan(pages / 2);
});

test("a store that cannot be reached fails the count, and the next one can succeed", async () => {
  const { orders } = createMemoryStore();
  let fails = true;
  const scan: typeof orders.scan = (after) => {
    if (fails) throw new StoreUnavailableError("The store does not answer.");
    return orders.scan(after);
  };
  const counter = createStatusCounter({ ...orders, scan }, systemClock);
  await expect(counter.count()).rejects.toThrow("The store does not answer.");
  expect(counter.failure).toBe("The store does not answer.");
  fails = false;
  await counter.count();
  expect(counter.latest?.counts.pending).toBe(0);
  expect(counter.failure).toBeUndefined();
});

test("a count that fails at a damaged order does not fail the page of others, which shows why", async () => {
  const store = createMemoryStore();
  let scans = 0;
  async function* scan(_after?: bigint, limit?: number) {
    if (limit === undefined) scans += 1;
    yield [{ record: { id: 1n }, status: "pending" as const }];
    if (limit === undefined) throw new Error('The record of an order is damaged: {"id":2,');
  }
  const console = await useConsole({ store: { ...store, orders: { ...store.orders, scan } } });
  const cookie = await signIn(console);
  for (let time = 0; time < 3; time++) {
    const response = await fetch(console.at("orders"), { headers: { cookie } });
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(text).toContain('id="order-1"');
    expect(text).toContain("The last count failed: The record of an order is damaged: {&quot;id&quot;:2,");
  }
  expect(scans, "it is not repeated for every page").toBe(1);
});

test.each([
  [0, "0 s"],
  [36_001, "37 s"],
  [125_000, "2 min 5 s"],
  [7_500_000, "2 h 5 min"],
  [90 * 86_400_000, "90 d"],
])("%d ms are %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});
