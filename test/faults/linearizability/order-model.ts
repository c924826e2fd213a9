import type { Instant } from "../../../lib/clock.ts";
import { type OrderEvent, type StoredOrder, transition } from "../../../lib/orders/lifecycle.ts";
import type { AppliedEvent, OrderStore } from "../../../lib/orders/order-store.ts";
import { toLine } from "../../../lib/orders/wire.ts";
import type { Model } from "./history.ts";

/** What is done with one order. */
export type OrderCall =
  | { readonly order: bigint; readonly does: "find" }
  | { readonly order: bigint; readonly does: OrderEvent; readonly at: Instant };

/** What became of it; `undefined`: no such order. */
export type OrderAnswer = StoredOrder | AppliedEvent | undefined;

/** Makes the call. */
export function callOrder(orders: OrderStore, call: OrderCall): Promise<OrderAnswer> {
  return call.does === "find" ? orders.find(call.order) : orders.apply(call.order, call.does, call.at);
}

/** An order by the rules alone. */
export const orderModel: Model<StoredOrder, OrderCall, OrderAnswer> = {
  step(order, call) {
    if (call.does === "find") return { state: order, answer: order };
    const answer = transition(order, call.does, call.at);
    return { state: answer.ok ? answer.order : order, answer };
  },
  keyOf: toLine,
};
