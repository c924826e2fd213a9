import { expect, test } from "vitest";
import {
  createOrderCounter,
  explainCountCost,
  MAX_ITEM_BYTES,
} from "../../../lib/console/orders/order-counts.ts";
import { StoreUnavailableError } from "../../../lib/core/errors.ts";
import { systemClock } from "../../../lib/core/time.ts";
import { sumByStatus } from "../../../lib/orders/lifecycle.ts";
import type { OrderCounts } from "../../../lib/orders/order-store.ts";
import { orderToJson } from "../../../lib/orders/wire.ts";
import { newWriteToken } from "../../../lib/stores/dynamodb/table.ts";
import { createMemoryStore } from "../../../lib/stores/memory.ts";
import { useSession } from "../../support/console.ts";
import { itemSize } from "../../support/dynamodb/item-size.ts";

/** A store whose counts end when the test says so. */
function storeThatCounts() {
  const { orders } = createMemoryStore();
  const counts: ((counts: OrderCounts) => void)[] = [];
  const countByStatus = () => new Promise<OrderCounts>((resolve) => counts.push(resolve));
  return { orders: { ...orders, countByStatus }, counts };
}

const COUNTS = sumByStatus([["pending", 3]]);

test("a count that takes long goes on in the background, and no second one begins", async () => {
  const { orders, counts } = storeThatCounts();
  const counter = createOrderCounter(orders, () => 7);
  await counter.refresh();
  await counter.count();
  expect([counts.length, counter.state().isRunning, counter.state().latest]).toEqual([1, true, undefined]);
  counts[0]?.(COUNTS);
  await counter.count();
  expect([counts.length, counter.state().isRunning]).toEqual([1, false]);
  expect(counter.state().latest).toEqual({ counts: COUNTS, at: 7 });
});

test("after a count that took long, the next refresh is not due yet, but a request for a count is", async () => {
  const { orders, counts } = storeThatCounts();
  const counter = createOrderCounter(orders, systemClock);
  await counter.refresh();
  counts[0]?.(COUNTS);
  await counter.refresh();
  await counter.refresh();
  expect(counts.length).toBe(1);
  void counter.count();
  expect(counts.length).toBe(2);
});

test("a store that cannot be reached fails the count, and the next one can succeed", async () => {
  const { orders } = createMemoryStore();
  let fails = true;
  const countByStatus = async () => {
    if (fails) throw new StoreUnavailableError("The store does not answer.");
    return orders.countByStatus();
  };
  const counter = createOrderCounter({ ...orders, countByStatus }, systemClock);
  await counter.count();
  expect(counter.state().failure).toBe("The store does not answer.");
  fails = false;
  await counter.count();
  expect(counter.state().latest?.counts.pending).toBe(0);
  expect(counter.state().failure).toBeUndefined();
});

test("the page counts a store that costs nothing to read, and is empty for an update if nothing has changed", async () => {
  const console = await useSession();
  await console.store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  const response = await console.get("orders");
  expect(await response.text()).toMatch(/>pending<\/a><\/dt><dd>1<\/dd>/);
  const headers = { cookie: console.cookie, "if-none-match": response.headers.get("etag") ?? "" };
  expect((await fetch(console.at("orders"), { headers })).status).toBe(304);
});

test("where reading costs money, the page counts on request only, and states the costs", async () => {
  const store = createMemoryStore();
  const page: typeof store.orders.page = async (query) => ({
    ...(await store.orders.page(query)),
    readUnits: 16.5,
  });
  const console = await useSession({
    store: { ...store, orders: { ...store.orders, page } },
    isMetered: true,
  });
  await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  const before = await console.textOf("orders");
  expect(before).toMatch(/>pending<\/a><\/dt><dd>–<\/dd>/);
  expect(before).toContain("Not counted yet.");
  expect(before).toContain("at most 62,500 read units for a million orders");
  expect(before).toMatch(/every\s+1\.5 seconds: 16\.5 read units of DynamoDB each time/);
  expect(await (await console.post("orders/count")).text()).toMatch(
    />pending<\/a><\/dt><dd>1<\/dd>[\s\S]*Counted at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\./,
  );
});

test("no order is larger than the size that the cost is computed from", () => {
  const min = -(2n ** 63n) + 1n;
  const shipDate = "2026-12-01T09:00:00.123456789+01:00";
  const record = { id: min, petId: min, quantity: 2_147_483_647, shipDate, complete: false };
  const size = itemSize({
    bucket: { N: "15" },
    id: { N: `${min}` },
    status: { S: "cancelled" },
    wire: { S: orderToJson(record) },
    shipMark: { S: newWriteToken() },
    fulfilMark: { S: newWriteToken() },
    cancelMark: { S: newWriteToken() },
  });
  expect(size).toBeGreaterThan(MAX_ITEM_BYTES / 2);
  expect(size).toBeLessThanOrEqual(MAX_ITEM_BYTES);
});

test.each([
  [undefined, "at most 62,500 read units for a million orders"],
  [0, "at most 0 read units for the 0 of the last count"],
  [16, "at most 1 read units for the 16"],
  [17, "at most 2 read units for the 17"],
])("after a count of %s orders, the cost of the next one is %s", (orders, text) => {
  expect(explainCountCost(orders)).toContain(text);
});
