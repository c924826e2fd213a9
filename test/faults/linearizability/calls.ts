import type { Store } from "../../../lib/stores/store.ts";
import { type AccountAnswer, type AccountCall, callAccount } from "./account-model.ts";
import type { Operation } from "./history.ts";
import { callOrder, type OrderAnswer, type OrderCall } from "./order-model.ts";

/** A call of either port. */
export type Call = OrderCall | AccountCall;

/** What it was answered. */
export type Reply = OrderAnswer | AccountAnswer;

/** Makes a call. */
export function make(store: Store, call: Call): Promise<Reply> {
  return "order" in call ? callOrder(store.orders, call) : callAccount(store.accounts, call);
}

/** A history of both ports. */
export type History = readonly Operation<Call, Reply>[];
