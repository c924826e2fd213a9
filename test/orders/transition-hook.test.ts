import { expect, test } from "vitest";
import { LIFECYCLE } from "../../lib/orders/lifecycle.ts";
import { createOrders } from "../../lib/orders/orders.ts";
import type { OrderTransition } from "../../lib/orders/transition-hook.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

const AT = Date.UTC(2026, 10, 20);

test("onTransition is called once for each change, after it is stored, and not for what changed nothing", async () => {
  const { orders: store } = createMemoryStore();
  const seen: (OrderTransition & { readonly stored: unknown })[] = [];
  const orders = createOrders({
    store,
    clock: () => AT,
    onTransition: async (change) => void seen.push({ ...change, stored: await store.find(1n) }),
  });
  await orders.place({ id: 1n, quantity: 2 });
  await orders.place({ id: 1n, quantity: 2 });
  await orders.place({ id: 1n, quantity: 3 });
  await orders.ship(1n);
  await orders.fulfil(1n);
  await orders.cancel(1n);
  await orders.cancel(7n);
  expect(seen.map(({ event, from, to }) => [event, from, to])).toEqual([
    ["place", undefined, "pending"],
    ["ship", "pending", "shipped"],
    ["fulfil", "shipped", "shipped"],
  ]);
  for (const { order, stored } of seen) expect(stored).toMatchObject(order);
});

test("a hook that changes its order changes neither what is stored nor what the caller gets", async () => {
  const { orders: store } = createMemoryStore();
  const onTransition = ({ order }: OrderTransition) => {
    Object.assign(order, { status: "pending" });
    Object.assign(order.record, { quantity: 666 });
  };
  const orders = createOrders({ store, onTransition });
  const cancelled = { record: { id: 1n, quantity: 2 }, status: "cancelled" };
  expect(await orders.place({ id: 1n, quantity: 2 })).toMatchObject({ record: cancelled.record });
  expect(await orders.cancel(1n)).toEqual({ ok: true, order: cancelled });
  expect(await orders.find(1n)).toMatchObject(cancelled);
});

test.each([
  [
    "throws",
    () => {
      throw new Error("The till is closed.");
    },
  ],
  ["rejects", () => Promise.reject(new Error("The till is closed."))],
])("a hook that %s fails nothing and is reported once", async (_, onTransition) => {
  const reported: unknown[] = [];
  const orders = createOrders({
    store: createMemoryStore().orders,
    onTransition,
    onHookError: (error, hook) => reported.push([hook, error]),
  });
  expect(await orders.place({ id: 1n })).toMatchObject({ ok: true, created: true });
  expect(reported).toEqual([["onTransition", new Error("The till is closed.")]]);
});

test("each event is allowed in exactly one status, which the hook reports as the one before", () => {
  for (const event of LIFECYCLE.events)
    expect(LIFECYCLE.statuses.filter((status) => LIFECYCLE.acceptsEvent(status, event))).toHaveLength(1);
});
