/**
 * The rules of a store's orders API, without I/O and without a vendor: the order state machine, the plan limits, API
 * keys and admission, custom domains. Each part is also an entry point of its own: `store-orders/orders`, `/plans`,
 * `/accounts` and `/domains`.
 *
 * ```ts
 * import { transition } from "store-orders";
 *
 * const order = { record: { id: 1001n }, status: "pending" } as const;
 * const result = transition(order, "cancel", Date.now());
 * if (result.ok) console.log(result.order.status); // cancelled
 * ```
 *
 * @module store-orders
 */
export * from "./accounts/index.ts";
export { type Clock, type Instant, systemClock } from "./clock.ts";
export * from "./domains/index.ts";
export {
  ACCOUNT_ERRORS,
  type AccountErrorCode,
  ERRORS,
  type ErrorBody,
  type ErrorCode,
  explainIssues,
  type Failure,
  InvalidInputError,
  type Issue,
  isInvalidInput,
  isNewerSchema,
  isStoreUnavailable,
  NewerSchemaError,
  StoreOrdersError,
  StoreUnavailableError,
} from "./errors.ts";
export * from "./orders/index.ts";
export { orderSchema } from "./orders/order-schema.ts";
export * from "./plans/index.ts";
