import type { Store } from "../../../lib/stores/store.ts";
import { type AccountCall, type AccountCallResult, callAccount } from "./account-model.ts";
import type { Operation } from "./checker.ts";
import { callOrder, type OrderCall, type OrderCallResult } from "./order-model.ts";

export type Call = OrderCall | AccountCall;

export type CallResult = OrderCallResult | AccountCallResult;

export function performCall(store: Store, call: Call): Promise<CallResult> {
  return "order" in call ? callOrder(store.orders, call) : callAccount(store.accounts, call);
}

export type History = readonly Operation<Call, CallResult>[];
