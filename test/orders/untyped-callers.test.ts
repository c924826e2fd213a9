import { describe, expect, test } from "vitest";
import { createOrders } from "../../lib/orders/orders.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";

describe.each([
  ["memory", createMemoryStore],
  ["sqlite", () => createSqliteStore({ path: ":memory:" })],
] as const)("a caller without types, over the %s store", (_name, open) => {
  test("a caller without types cancels the order that a number names, in every store", async () => {
    const store = open();
    const orders = createOrders({ store: store.orders });
    await orders.place({ id: 5n });
    expect(await orders.cancel(5 as never)).toMatchObject({ ok: true, order: { status: "cancelled" } });
    await store.close();
  });

  test.each(["5", 5.5, 2 ** 53, undefined, null, {}])(
    "a caller without types gets InvalidInputError for the identifier %j, which names no order",
    async (id) => {
      const store = open();
      const orders = createOrders({ store: store.orders });
      await orders.place({ id: 5n });
      for (const apply of [orders.cancel, orders.ship, orders.fulfil])
        await expect(apply(id as never)).rejects.toMatchObject({
          code: "invalid_input",
          issues: [{ path: "id" }],
        });
      expect(await store.orders.find(5n)).toMatchObject({ status: "pending" });
      await store.close();
    },
  );

  test("a caller without types cannot place what is not an order", async () => {
    const store = open();
    const orders = createOrders({ store: store.orders });
    for (const order of [undefined, null, 5, true, "order", [], { id: null }])
      await expect(orders.place(order as never)).rejects.toMatchObject({ code: "invalid_input" });
    for await (const { json } of store.orders.list()) expect(json).toBe("");
    await store.close();
  });

  test("an identifier beyond int64 names no order", async () => {
    const store = open();
    expect(await createOrders({ store: store.orders }).cancel(2n ** 63n)).toEqual({
      ok: false,
      code: "order_not_found",
    });
    await store.close();
  });
});
