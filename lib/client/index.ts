/**
 * A client of the service, on `fetch`: identifiers as `bigint`, lists of any length in bounded memory, and one
 * request queue per key, so it stays within the limits and is never banned. For Node and browsers. See lib/client/README.md.
 *
 * @module store-orders/client
 */
export { InvalidInputError, isInvalidInput, StoreOrdersError } from "../core/errors.ts";
export type { OrderRecord } from "../orders/order.ts";
export { type CallOptions, type CancelResult, type Client, createClient, type PageQuery } from "./client.ts";
export {
  ApiError,
  IncompleteListError,
  MalformedListError,
  NetworkError,
  RateLimitedError,
  TimeoutError,
} from "./client-errors.ts";
export type { ClientOptions, Fetch } from "./options.ts";
export type { OrdersPage } from "./order-list.ts";
export type { Sleep } from "./time-limit.ts";
