/** Limits on the resources that one client can occupy. Times are in milliseconds. */
export interface ConnectionLimits {
  /** Time to receive the head of a request, the first one from the start of the connection. @default 10_000 */
  readonly headersTimeoutMs: number;
  /** Time to receive a whole request, at least that for its head. @default 30_000 */
  readonly requestTimeoutMs: number;
  /** Time for which a connection can be idle between two requests. @default 5_000 */
  readonly keepAliveTimeoutMs: number;
  /** Time in which the client must read each part of a response, at most a page of the list. @default 30_000 */
  readonly writeTimeoutMs: number;
  /** Simultaneous connections; further ones are closed at once. @default 10_000 */
  readonly maxConnections: number;
}

/** Requests per connection are not limited: the rate limits count each one for its key or address. */
export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 5_000,
  writeTimeoutMs: 30_000,
  maxConnections: 10_000,
};

export const MAX_HEADER_BYTES = 16 * 1024;

/** The most fields in a head. Each one takes more memory than bytes, also in a head that is never completed. */
export const MAX_HEADER_FIELDS = 100;
