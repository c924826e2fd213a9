/** The plan of the load generator, and its result. */

export interface LoadPlan {
  /** The server's address, without a path. */
  readonly url: string;
  readonly seconds: number;
  readonly connections: number;
  /** Requests per second in an open loop. Without it, a closed loop: each connection waits for its response. */
  readonly rate?: number;
  /**
   * `mix`: half lists, half cancels of existing and missing orders, every tenth request with a key of the free plan.
   * `cancels`: each order once, until the server closes.
   */
  readonly requests: "mix" | "cancels";
  readonly keys: readonly string[];
  readonly freeKeys: readonly string[];
  /** The orders have the identifiers from 1 to this one. */
  readonly orders: number;
}

export interface LoadResult {
  /** Responses by status. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly perSecond: number;
  /** Milliseconds; in an open loop from the instant at which the request was due. */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  /** Requests without a response. */
  readonly lost: number;
  /** Responses after the generator learned that the server is shutting down. */
  readonly respondedAfterSignal: number;
  /** Orders whose cancel got 204. */
  readonly cancelled: readonly number[];
}
