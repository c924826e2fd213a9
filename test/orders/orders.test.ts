import { expect, test } from "vitest";
import { InvalidInputError } from "../../lib/errors.ts";
import { createOrders } from "../../lib/orders/orders.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

const AT = Date.UTC(2026, 10, 20);
const open = () => {
  const { orders: store } = createMemoryStore();
  return { store, orders: createOrders({ store, clock: () => AT }) };
};

test("place, ship, fulfil and cancel obey the one machine (decision 3)", async () => {
  const { orders, store } = open();
  await orders.place({ id: 1n });
  await orders.place({ id: 2n });
  expect(await orders.ship(1n)).toMatchObject({ moved: true, order: { status: "shipped" } });
  expect(await orders.fulfil(1n)).toMatchObject({ moved: true });
  expect(await orders.cancel(1n)).toMatchObject({ moved: false, refused: "order_already_shipped" });
  expect(await orders.cancel(2n)).toMatchObject({ moved: true, order: { status: "cancelled" } });
  expect(await orders.cancel(3n)).toBeUndefined();
  expect(await store.find(1n)).toEqual({
    record: { id: 1n, shipDate: "2026-11-20T00:00:00.000Z", complete: true },
    status: "shipped",
  });
});

test("an order without an identifier gets one of its own that a double can hold", async () => {
  const { orders } = open();
  const placed = await Promise.all(Array.from({ length: 300 }, () => orders.place({ quantity: 1 })));
  const ids = placed.map(({ record }) => record.id);
  expect(new Set(ids).size).toBe(300);
  for (const id of ids) expect(Number.isSafeInteger(Number(id))).toBe(true);
});

test("an order that is there is not overwritten", async () => {
  const { orders } = open();
  await orders.place({ id: 1n, quantity: 1 });
  expect(await orders.place({ id: 1n, quantity: 2 })).toMatchObject({ outcome: "conflict" });
  expect(await orders.place({ id: 1n, quantity: 1 })).toMatchObject({ outcome: "unchanged" });
});

test("an order that is none is refused with every issue, and nothing is stored", async () => {
  const { orders, store } = open();
  const refused = orders.place({ id: 2n ** 63n, quantity: -1 });
  await expect(refused).rejects.toThrow(InvalidInputError);
  await expect(refused).rejects.toMatchObject({ issues: [{ path: "id" }, { path: "quantity" }] });
  for await (const page of store.scan()) expect(page).toEqual([]);
});
