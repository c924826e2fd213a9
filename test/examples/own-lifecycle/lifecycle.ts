import { defineLifecycle, type EventOf, type StatusOf } from "store-orders/orders";

/** What each event does to an order of this shop. `refund` is a field of its own, which `transition` returns. */
export const lifecycle = defineLifecycle({
  new: { pay: { to: "paid" }, cancel: { to: "cancelled", refund: false } },
  paid: { pack: { to: "packed" }, cancel: { to: "cancelled", refund: true } },
  packed: { ship: { to: "shipped" }, cancel: { error: "already_packed" } },
  shipped: { return: { to: "returned" }, cancel: { error: "already_packed" } },
  returned: {},
  cancelled: {},
});

export type Status = StatusOf<typeof lifecycle>;
export type Event = EventOf<typeof lifecycle>;
