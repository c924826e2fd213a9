import type { Instant } from "../../../lib/clock.ts";
import { type OrderEvent, type Transition, transition } from "../../../lib/orders/lifecycle.ts";
import { type StoredOrder, toLine } from "../../../lib/orders/order.ts";
import type { OrderStore } from "../../../lib/orders/order-store.ts";
import type { Model } from "./history.ts";

/** What is done with one order. */
export type OrderCall =
  | { readonly order: bigint; readonly does: "look" }
  | { readonly order: bigint; readonly does: OrderEvent; readonly at: Instant };

/** What became of it; `undefined`: no such order. */
export type OrderAnswer = StoredOrder | Transition | undefined;

/** Makes the call. */
export function callOrder(orders: OrderStore, call: OrderCall): Promise<OrderAnswer> {
  return call.does === "look" ? orders.find(call.order) : orders.apply(call.order, call.does, call.at);
}

/** An order by the rules alone. */
export const orderModel: Model<StoredOrder, OrderCall, OrderAnswer> = {
  step(order, call) {
    if (call.does === "look") return { state: order, answer: order };
    const answer = transition(order, call.does, call.at);
    return { state: answer.moved ? answer.order : order, answer };
  },
  keyOf: toLine,
};
