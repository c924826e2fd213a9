import type { Clock } from "../core/time.ts";
import type { Sleep } from "./time-limit.ts";

/** The part of `fetch` that the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Options of a client: its access to the service, its waits and its retries. */
export interface ClientOptions {
  /** The base URL, including the version: `https://orders.example.com/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The largest number of times that a request is sent if the response is 425, 429, 502, 503, 504 or missing. @default 5 */
  readonly maxAttempts?: number;
  /** The longest time from sending a request to its response, or to the first bytes of a list. @default 30 s */
  readonly attemptTimeoutMs?: number;
  /** The longest gap between two parts of a list. @default 30 s */
  readonly idleTimeoutMs?: number;
  /** The longest time for a whole call: waiting in the queue, every attempt, and reading a list. @default none */
  readonly totalTimeoutMs?: number;
  /** A call that would have to wait longer for the rate limit rejects with `RateLimitedError`. @default 2 minutes */
  readonly maxWaitMs?: number;
  /** Sends the requests: a handler in a test, or a `fetch` with a proxy. @default the platform's `fetch` */
  readonly fetch?: Fetch;
  /** Returns the current time, which is compared with that of the service. @default the system clock */
  readonly clock?: Clock;
  /** Returns milliseconds by which waits are measured; only differences count. @default `clock`, or `performance.now` */
  readonly elapsedMs?: () => number;
  /** Waits for the rate limit and between attempts. Time limits do not use it. @default the system's timers */
  readonly sleep?: Sleep;
  /** Returns a number from 0 up to 1, for the jitter. @default Math.random */
  readonly random?: () => number;
}
