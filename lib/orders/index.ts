/**
 * The order record and its state machine: pure functions and tables without dependencies, also for browsers.
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
export type { HookErrorReporter } from "../hooks.ts";
export { ORDER_FIELDS, type OrderField, orderJsonSchema } from "./fields.ts";
export { isInt64, parseInt64, parseInt64Json, toInt64Json } from "./int64.ts";
export {
  acceptsEvent,
  explainTransitionError,
  LIFECYCLE,
  ORDER_STATUSES,
  type OrderEvent,
  type OrderStatus,
  type StoredOrder,
  type Transition,
  type TransitionError,
  type TransitionErrorCode,
  transition,
} from "./lifecycle.ts";
export type { OrderRecord } from "./order.ts";
export type { AppliedEvent, OrderPage, OrderStore, PlaceOutcome } from "./order-store.ts";
export { createOrders, type NewOrder, type Orders, type OrdersOptions, type PlacedOrder } from "./orders.ts";
export { type ParsedOrder, parseLine, parseOrder } from "./parse-order.ts";
export type { OrderTransition, TransitionHook } from "./transition-hook.ts";
export { countRecords, fromWire, idOfWire, toLine, toWire } from "./wire.ts";
