/**
 * The rules of a shop's orders API, without a vendor: the order state machine, the plan limits, API keys and
 * admission, custom domains. They are pure functions and tables. `createOrders`, `createAccounts` and `verifyHosts`
 * apply them through the store or the DNS resolver that they are given. See lib/README.md.
 *
 * To serve the API, begin with `createHandler` in `store-orders/http`. The parts below are entry points of their own:
 * `store-orders/orders`, `/plans`, `/accounts` and `/domains`.
 *
 * @module store-orders
 */

export * from "./orders/index.ts";
export { orderSchema } from "./orders/order-schema.ts";

export * from "./plans/index.ts";

export * from "./accounts/index.ts";

// A store: orders and accounts in one database. To write your own, see lib/stores/README.md.
export { MAX_STORE_CALL_MS, type Store } from "./stores/store.ts";

export * from "./domains/index.ts";

// What all of these share: time, errors, and the errors of hooks.
export { type Clock, type Instant, systemClock } from "./core/time.ts";
export { ACCOUNT_ERRORS, type AccountErrorCode } from "./accounts/account.ts";
export { ERRORS, type ErrorBody, type ErrorCode } from "./http/errors.ts";
export {
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
  type StoreUnavailableOptions,
} from "./core/errors.ts";
export type { HookErrorReporter } from "./core/hooks.ts";
