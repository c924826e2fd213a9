import type { Instant } from "../../../lib/core/time.ts";
import { type OrderEvent, type StoredOrder, transition } from "../../../lib/orders/lifecycle.ts";
import type { ApplyResult, OrderStore } from "../../../lib/orders/order-store.ts";
import { toLine } from "../../../lib/orders/wire.ts";
import type { Model } from "./history.ts";

/** A call on one order. */
export type OrderCall =
  | { readonly order: bigint; readonly kind: "find" }
  | { readonly order: bigint; readonly kind: OrderEvent; readonly at: Instant };

/** The result of a call. `undefined` if the order does not exist. */
export type OrderCallResult = StoredOrder | ApplyResult | undefined;

/** Performs the call. */
export function callOrder(orders: OrderStore, call: OrderCall): Promise<OrderCallResult> {
  return call.kind === "find" ? orders.find(call.order) : orders.apply(call.order, call.kind, call.at);
}

/** An order according to the pure rules. */
export const orderModel: Model<StoredOrder, OrderCall, OrderCallResult> = {
  step(order, call) {
    if (call.kind === "find") return { state: order, result: order };
    const result = transition(order, call.kind, call.at);
    return { state: result.ok ? result.order : order, result };
  },
  keyOf: toLine,
};
