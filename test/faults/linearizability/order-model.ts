import type { Instant } from "../../../lib/core/time.ts";
import type { OrderWithHistory } from "../../../lib/orders/history.ts";
import type { OrderEvent } from "../../../lib/orders/lifecycle.ts";
import { decideEvent } from "../../../lib/orders/lifecycle.ts";
import type { ApplyResult, OrderStore } from "../../../lib/orders/order-store.ts";
import { toLine } from "../../../lib/orders/wire.ts";
import type { Model } from "./checker.ts";

export type OrderCall =
  | { readonly order: bigint; readonly kind: "find" }
  | { readonly order: bigint; readonly kind: OrderEvent; readonly at: Instant };

/** The result of a call. `undefined` if the order does not exist. */
export type OrderCallResult = OrderWithHistory | ApplyResult | undefined;

/** Performs the call. The tokens of changes are random, and no part of the result. */
export async function callOrder(orders: OrderStore, call: OrderCall): Promise<OrderCallResult> {
  if (call.kind !== "find") return orders.apply(call.order, call.kind, call.at);
  const found = await orders.find(call.order);
  return found && { ...found, history: found.history.map(({ token: _token, ...change }) => change) };
}

/** An order and its history according to the pure rules. */
export const orderModel: Model<OrderWithHistory, OrderCall, OrderCallResult> = {
  step(state, call) {
    if (call.kind === "find") return { state, result: state };
    const { history, ...order } = state;
    const { result, changed } = decideEvent(order, call.kind, call.at);
    if (changed === undefined) return { state, result };
    const change = { event: call.kind, at: call.at };
    return { state: { ...changed, history: [...history, change] }, result };
  },
  keyOf: (order) => toLine(order) + JSON.stringify(order.history),
};
