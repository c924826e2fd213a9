/**
 * A client of the service, on `fetch`: identifiers as `bigint`, lists of any length in bounded memory, and one
 * waiting line per key, so that it keeps to the limits and is never banned.
 *
 * ```ts
 * const client = createClient({ baseUrl: "https://orders.example.com/v1", apiKey });
 * for await (const order of client.list()) console.log(order.id);
 * const { outcome } = await client.cancel(1001n);
 * ```
 *
 * @module store-orders/client
 */
export { InvalidInputError, StoreOrdersError } from "../errors.ts";
export type { OrderRecord } from "../orders/order.ts";
export {
  type CallOptions,
  type CancelOutcome,
  type Client,
  type ClientOptions,
  createClient,
} from "./client.ts";
export {
  ApiError,
  IncompleteListError,
  MalformedListError,
  NetworkError,
  RateLimitedError,
  TimeoutError,
} from "./client-errors.ts";
export type { Fetch } from "./sender.ts";
export type { Sleep } from "./time-limit.ts";
