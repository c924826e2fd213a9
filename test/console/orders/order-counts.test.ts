import { expect, test } from "vitest";
import { createOrderCounter } from "../../../lib/console/orders/order-counts.ts";
import { StoreUnavailableError } from "../../../lib/core/errors.ts";
import { sumByStatus } from "../../../lib/orders/lifecycle.ts";
import type { OrderCounts } from "../../../lib/orders/order-store.ts";
import { createMemoryStore } from "../../../lib/stores/memory.ts";
import { useSession } from "../../support/console.ts";

/** A store whose counts end when the test says so. */
function storeThatCounts() {
  const { orders } = createMemoryStore();
  const counts: ((counts: OrderCounts | Promise<never>) => void)[] = [];
  const countByStatus = () => new Promise<OrderCounts>((resolve) => counts.push(resolve));
  return { orders: { ...orders, countByStatus }, counts };
}

const COUNTS = sumByStatus([
  ["pending", 3],
  ["shipped", 4],
]);

test("a count that takes long goes on in the background, and no second one begins soon", async () => {
  const { orders, counts } = storeThatCounts();
  const counter = createOrderCounter(orders);
  await counter.refresh();
  await counter.refresh();
  expect([counts.length, counter.of("pending"), counter.of()]).toEqual([1, undefined, undefined]);
  counts[0]?.(COUNTS);
  for (let turn = 0; turn < 2; turn++) await counter.refresh();
  expect([counts.length, counter.of("pending"), counter.of()]).toEqual([1, 3, 7]);
});

test("a store that cannot be reached fails the count, and the next one can succeed", async () => {
  const { orders, counts } = storeThatCounts();
  const counter = createOrderCounter(orders);
  const first = counter.refresh();
  counts[0]?.(Promise.reject(new StoreUnavailableError("The store does not answer.")));
  await first;
  expect(counter.of()).toBeUndefined();
  await expect
    .poll(() => {
      void counter.refresh();
      return counts.length;
    })
    .toBe(2);
  counts[1]?.(COUNTS);
  await expect.poll(() => counter.of("pending")).toBe(3);
});

test("the page counts a store that costs nothing to read, and is empty for an update if nothing has changed", async () => {
  const console = await useSession();
  await console.store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  const response = await console.get("orders");
  expect(await response.text()).toMatch(/>pending<\/a><\/dt><dd>1<\/dd>/);
  const headers = { cookie: console.cookie, "if-none-match": response.headers.get("etag") ?? "" };
  expect((await fetch(console.at("orders"), { headers })).status).toBe(304);
});

test("where reading costs money, the page counts nothing, and says that it reads its orders again", async () => {
  const { orders, ...rest } = createMemoryStore();
  const countByStatus = () => expect.fail("It counts.");
  const console = await useSession({
    store: { ...rest, orders: { ...orders, countByStatus } },
    isMetered: true,
  });
  await orders.place([{ record: { id: 1n }, status: "pending" }]);
  const text = await console.textOf("orders");
  expect(text).toMatch(/status=pending">pending<\/a><\/dt><dd>–<\/dd>/);
  expect(text).toContain("it reads its orders again every 1.5 seconds");
});
