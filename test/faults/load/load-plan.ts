/** What the load generator is told, and what it tells. */

export interface LoadPlan {
  /** The server's address, without a path. */
  readonly url: string;
  readonly seconds: number;
  readonly connections: number;
  /** Requests a second that are sent whatever comes back (open loop); without it as many as are answered (closed). */
  readonly rate?: number;
  /**
   * `mix`: half lists, half cancels of orders that are there and that are not, every tenth request with a key of the
   * free plan. `cancels`: each order once, and when the server closes, no more.
   */
  readonly of: "mix" | "cancels";
  readonly keys: readonly string[];
  readonly freeKeys: readonly string[];
  /** There are orders from 1 up to this one. */
  readonly orders: number;
}

export interface LoadResult {
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly perSecond: number;
  /** Milliseconds; in an open loop from the instant at which a request was to be sent. */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  /** Requests that were sent and got no answer. */
  readonly lost: number;
  /** Answers that came after the generator was told of the server's end. */
  readonly answeredAfterSignal: number;
  /** Orders whose cancel was answered with 204. */
  readonly cancelled: readonly number[];
}
