import { describe, expect, test } from "vitest";
import { InvalidInputError } from "../../lib/core/errors.ts";
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
  expect(await store.find(1n)).toMatchObject({
    record: { id: 1n, shipDate: "2026-11-20T00:00:00.000Z", complete: true },
    status: "shipped",
  });
});

test("a complete order cannot be placed: it is shipped first", async () => {
  const { orders, store } = open();
  await expect(orders.place({ id: 1n, complete: true })).rejects.toThrow(
    /^complete: The order is complete and pending, which cannot be: only shipped .*orders can be complete\.$/,
  );
  expect(await store.find(1n)).toBeUndefined();
});

test("an order is found with its history, and another one is not", async () => {
  const { orders } = open();
  await orders.place({ id: 1n, quantity: 2 });
  await orders.cancel(1n);
  expect(await orders.find(1n)).toMatchObject({
    ...{ record: { id: 1n, quantity: 2 }, status: "cancelled" },
    history: [{ event: "place" }, { event: "cancel", at: AT }],
  });
  for (const id of [2n, 2n ** 64n]) expect(await orders.find(id)).toBeUndefined();
});

test("the name of who makes changes has at most 100 characters, and is recorded", async () => {
  const { orders: store } = createMemoryStore();
  expect(() => createOrders({ store, by: "x".repeat(101) })).toThrow("by: Use at most 100 characters.");
  await createOrders({ store, clock: () => AT, by: "x".repeat(100) }).place({ id: 1n });
  await createOrders({ store, clock: () => AT }).place({ id: 2n });
  expect((await store.find(1n))?.history).toMatchObject([{ event: "place", at: AT, by: "x".repeat(100) }]);
  expect(Object.keys((await store.find(2n))?.history[0] ?? {})).toEqual(["event", "at", "token"]);
});

test("an order without an identifier gets a unique one below 2^53", async () => {
  const { orders } = open();
  const placed = await Promise.all(Array.from({ length: 300 }, () => orders.place({ quantity: 1 })));
  const ids = placed.flatMap((result) => (result.ok ? [result.record.id] : []));
  expect(new Set(ids).size).toBe(300);
  for (const id of ids) expect(Number.isSafeInteger(Number(id))).toBe(true);
});

test("placing an existing order does not overwrite it", async () => {
  const { orders } = open();
  await orders.place({ id: 1n, quantity: 1 });
  expect(await orders.place({ id: 1n, quantity: 2 })).toEqual({ ok: false, code: "order_conflict", id: 1n });
  expect(await orders.place({ id: 1n, quantity: 1 })).toMatchObject({ ok: true, created: false });
});

test("orders of one millisecond get different identifiers, also after all of that millisecond are taken", async () => {
  const { orders } = open();
  const ids = new Set<bigint>();
  for (let count = 0; count < 5_000; count++) {
    const placed = await orders.place({ quantity: 1 });
    if (placed.ok) ids.add(placed.record.id);
  }
  expect(ids.size).toBe(5_000);
});

test("a store that has an order for each generated identifier does not occupy the process", async () => {
  const { store } = open();
  const orders = createOrders({ store: { ...store, place: async () => ["conflict"] } });
  await expect(orders.place({ quantity: 1 })).rejects.toThrow("for each generated identifier");
});

test("an invalid order is rejected with every issue, and nothing is stored", async () => {
  const { orders, store } = open();
  const placed = orders.place({ id: 2n ** 63n, quantity: -1 });
  await expect(placed).rejects.toThrow(InvalidInputError);
  await expect(placed).rejects.toMatchObject({ issues: [{ path: "id" }, { path: "quantity" }] });
  const rounded = orders.place({ id: 2 ** 60 } as never);
  await expect(rounded).rejects.toThrow(
    "id: The number is too large to be exact; in JavaScript, pass a bigint.",
  );
  expect((await store.page({ limit: 1 })).orders).toEqual([]);
});

test("a quantity that is a bigint is not called too large", async () => {
  const small = open().orders.place({ id: 1n, quantity: 1n as never });
  await expect(small).rejects.toThrow("quantity: Pass a number, not a bigint.");
});

test.each(["shipped", "cancelled"])(
  "an order of the status %s cannot be placed: it is pending first",
  async (status) => {
    const { orders, store } = open();
    // A caller has sent it, and a program passes it on.
    const body = JSON.parse(`{"quantity":1,"status":"${status}"}`);
    for (const order of [{ ...body, id: 1n }, { ...body, id: 2n, complete: status === "shipped" }, body])
      await expect(orders.place(order)).rejects.toThrow("status: A new order is pending.");
    expect((await store.page({ limit: 1 })).orders).toEqual([]);
    expect(await orders.place({ ...body, id: 1n, status: "pending" })).toMatchObject({ ok: true });
  },
);

describe("what a caller has sent", () => {
  test("a body that is not an order is not placed", async () => {
    const { orders, store } = open();
    for (const order of [undefined, null, 5, true, "order", [], { id: null }])
      await expect(orders.place(order as never)).rejects.toMatchObject({ code: "invalid_input" });
    expect((await store.page({ limit: 1 })).orders).toEqual([]);
  });

  test("an identifier beyond int64 names no order", async () => {
    expect(await open().orders.cancel(2n ** 63n)).toEqual({ ok: false, code: "order_not_found" });
  });
});

test("with a clock that returns no instant, every change is an error that says so, and nothing is stored", async () => {
  const { store } = open();
  await store.place([{ record: { id: 1n }, status: "pending" }], AT);
  for (const clock of [() => new Date(AT) as never, () => Number.NaN, () => AT + 0.5]) {
    const orders = createOrders({ store, clock });
    for (const change of [() => orders.place({}), () => orders.place({ id: 2n }), () => orders.ship(1n)])
      await expect(change()).rejects.toThrow(/^clock: It is .*whole milliseconds/);
  }
  expect(await store.countByStatus()).toMatchObject({ pending: 1, shipped: 0, cancelled: 0 });
});
