import { expect, test } from "vitest";
import { InvalidInputError } from "../../lib/errors.ts";
import { createOrders } from "../../lib/orders/orders.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

const AT = Date.UTC(2026, 10, 20);
const open = () => {
  const { orders: store } = createMemoryStore();
  return { store, orders: createOrders({ store, clock: () => AT }) };
};

test("place, ship, fulfil and cancel follow the state machine", async () => {
  const { orders, store } = open();
  await orders.place({ id: 1n });
  await orders.place({ id: 2n });
  expect(await orders.ship(1n)).toMatchObject({ ok: true, order: { status: "shipped" } });
  expect(await orders.fulfil(1n)).toMatchObject({ ok: true });
  expect(await orders.cancel(1n)).toMatchObject({ ok: false, code: "order_already_shipped" });
  expect(await orders.cancel(2n)).toMatchObject({ ok: true, order: { status: "cancelled" } });
  expect(await orders.cancel(3n)).toEqual({ ok: false, code: "order_not_found" });
  expect(await store.find(1n)).toEqual({
    record: { id: 1n, shipDate: "2026-11-20T00:00:00.000Z", complete: true },
    status: "shipped",
  });
});

test("an order without an identifier gets a unique one below 2^53", async () => {
  const { orders } = open();
  const placed = await Promise.all(Array.from({ length: 300 }, () => orders.place({ quantity: 1 })));
  const ids = placed.map(({ record }) => record.id);
  expect(new Set(ids).size).toBe(300);
  for (const id of ids) expect(Number.isSafeInteger(Number(id))).toBe(true);
});

test("placing an existing order does not overwrite it", async () => {
  const { orders } = open();
  await orders.place({ id: 1n, quantity: 1 });
  expect(await orders.place({ id: 1n, quantity: 2 })).toMatchObject({ ok: false, code: "order_conflict" });
  expect(await orders.place({ id: 1n, quantity: 1 })).toMatchObject({ ok: true, created: false });
});

test("an invalid order is rejected with every issue, and nothing is stored", async () => {
  const { orders, store } = open();
  const placed = orders.place({ id: 2n ** 63n, quantity: -1 });
  await expect(placed).rejects.toThrow(InvalidInputError);
  await expect(placed).rejects.toMatchObject({ issues: [{ path: "id" }, { path: "quantity" }] });
  for await (const page of store.scan()) expect(page).toEqual([]);
});
