/**
 * The rules of a store's orders API, without I/O and without a vendor: the order state machine, the plan limits,
 * API keys and admission, custom domains. Take any of them without the rest.
 *
 * ```ts
 * import { systemClock, transition } from "store-orders";
 *
 * const order = { record: { id: 1n }, status: "pending" } as const;
 * const result = transition(order, "cancel", systemClock());
 * if (result.moved) console.log(result.order.status); // "cancelled"
 * ```
 *
 * @module store-orders
 */

export {
  type Account,
  type AccountSettings,
  type ApiKey,
  addKey,
  isActive,
  type RejectionCount,
  revokeKey,
  rotateKey,
} from "./accounts/account.ts";
export type { AccountStore } from "./accounts/account-store.ts";
export { type Accounts, createAccounts, type IssuedKey } from "./accounts/accounts.ts";
export {
  type Admission,
  type BanPolicy,
  type Caller,
  DEFAULT_BAN_POLICY,
  decideAdmission,
  type KeyState,
} from "./accounts/admission.ts";
export { type AnonymousCallers, createAnonymousCallers } from "./accounts/anonymous-callers.ts";
export { type Environment, generateKey, hashKey, type ParsedKey, parseKey } from "./accounts/api-key.ts";
export { withRejectionCache } from "./accounts/rejection-cache.ts";
export { type Clock, type Instant, systemClock } from "./clock.ts";
export * from "./domains/index.ts";
export {
  ACCOUNT_ERRORS,
  type AccountErrorCode,
  ERRORS,
  type ErrorBody,
  type ErrorCode,
  InvalidInputError,
  type Issue,
  NewerSchemaError,
  type Refusal,
  StoreOrdersError,
  StoreUnavailableError,
} from "./errors.ts";
export { isInt64, parseInt64, parseInt64Json, toInt64Json } from "./orders/int64.ts";
export {
  explainTransitionError,
  LIFECYCLE,
  ORDER_STATUSES,
  type OrderEvent,
  type OrderStatus,
  type Transition,
  type TransitionErrorCode,
  transition,
} from "./orders/lifecycle.ts";
export {
  fromWire,
  type OrderRecord,
  type ParsedOrder,
  parseLine,
  parseOrder,
  type StoredOrder,
  toLine,
  toWire,
} from "./orders/order.ts";
export type { OrderPage, OrderStore, PlaceOutcome } from "./orders/order-store.ts";
export { createOrders, type NewOrder, type Orders } from "./orders/orders.ts";
export {
  limitsOf,
  PLAN_LIMITS,
  PLANS,
  type Plan,
  type PlanAssignment,
  type PlanLimits,
} from "./plans/plan-limits.ts";
export {
  hasCapacity,
  increment,
  NO_USAGE,
  type Quota,
  secondsUntil,
  tightestQuota,
  type Usage,
  usageAt,
  type WindowUsage,
} from "./plans/windows.ts";
