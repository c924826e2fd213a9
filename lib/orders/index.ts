/**
 * The order record and its state machine: pure functions and tables without dependencies, also for browsers.
 * `createOrders` applies them to a store that is passed in.
 *
 * ```ts
 * import { transition } from "store-orders/orders";
 *
 * const result = transition({ record: { id: 1001n }, status: "shipped" }, "cancel", Date.now());
 * if (!result.ok) console.log(result.code); // order_already_shipped
 * ```
 *
 * @module store-orders/orders
 */
export {
  type Failure,
  InvalidInputError,
  type Issue,
  isInvalidInput,
  isStoreUnavailable,
  StoreUnavailableError,
} from "../core/errors.ts";
export type { HookErrorReporter } from "../core/hooks.ts";
export {
  defineLifecycle,
  type EventOf,
  type Lifecycle,
  type LifecycleResult,
  type LifecycleRule,
  type LifecycleTable,
  type StatusOf,
} from "../core/lifecycle.ts";
export { type DeliveredChange, type DeliverOptions, type Delivery, deliverChanges } from "./delivery.ts";
export { type ChangeOrigin, newChange, type OrderChange, type OrderWithHistory } from "./history.ts";
export { parseInt64, parseInt64Json, toInt64Json } from "./int64.ts";
export {
  decideEvent,
  LIFECYCLE,
  type OrderEvent,
  type OrderStatus,
  type StoredOrder,
  type TransitionError,
  type TransitionErrorCode,
  type TransitionResult,
  transition,
} from "./lifecycle.ts";
export type { OrderRecord } from "./order.ts";
export { orderJsonSchema } from "./order.ts";
export {
  type DamagedOrder,
  eachOrder,
  type OrderQuery,
  type OrderQueryPage,
  validateOrderQuery,
} from "./order-query.ts";
export type {
  AcknowledgedOrder,
  ApplyResult,
  HeldOrder,
  OrderCounts,
  OrderPage,
  OrderStore,
  Outbox,
  OutboxBacklog,
  PlaceOutcome,
  WaitingOrder,
} from "./order-store.ts";
export { createOrders, type NewOrder, type Orders, type OrdersOptions, type PlacedOrder } from "./orders.ts";
export { performStoreOperation, type StoreOperation, type StoreOutcome } from "./store-operation.ts";
export type { OrderTransition, TransitionHook } from "./transition-hook.ts";
export {
  DamagedOrderError,
  orderFromJson,
  orderToJson,
  type ParsedOrder,
  parseOrder,
  toLine,
} from "./wire.ts";
