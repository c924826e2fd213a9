import { type Clock, systemClock } from "../clock.ts";
import { InvalidInputError } from "../errors.ts";
import type { OrderRecord } from "../orders/order.ts";
import { ApiError } from "./client-errors.ts";
import { openBody, readOrders } from "./order-reader.ts";
import { createRequestQueue } from "./request-queue.ts";
import { createSender, type Fetch } from "./sender.ts";
import { type Sleep, startLimit, systemSleep } from "./time-limit.ts";

/** How a client reaches the service. Times are in milliseconds. */
export interface ClientOptions {
  /** The base address, which ends with the version: `https://orders.example.com/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** How often a request is sent at most where it meets 429, 502, 503, 504 or no answer. @default 5 */
  readonly maxAttempts?: number;
  /** From sending a request to its answer, of a list to its first orders. @default 30 s */
  readonly attemptTimeoutMs?: number;
  /** Without anything more of a list that has begun. @default 30 s */
  readonly idleTimeoutMs?: number;
  /** For a call in all: its turn in the line, every attempt, and the reading of a list. @default none */
  readonly totalTimeoutMs?: number;
  /** A wait for the limits longer than this is refused with `RateLimitedError` instead. @default 2 minutes */
  readonly maxWaitMs?: number;
  /** @default the platform's own */
  readonly fetch?: Fetch;
  /** @default the machine's clock */
  readonly clock?: Clock;
  /** @default the machine's timers */
  readonly sleep?: Sleep;
  /** From 0 up to 1, for the jitter. @default Math.random */
  readonly random?: () => number;
}

/** What a call can be stopped with: it then rejects with the signal's reason. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** What became of an order that was to be cancelled. */
export type CancelOutcome =
  | { readonly outcome: "cancelled" | "order_not_found" | "order_already_shipped" }
  | {
      readonly outcome: "order_already_cancelled";
      /**
       * True where an earlier attempt of this very call got no answer: it may have been the one that cancelled
       * the order. False: somebody else did, before.
       */
      readonly maybeByThisCall: boolean;
    };

/** The calls of the service. Anything else than their outcomes is thrown, as a `StoreOrdersError`. */
export interface Client {
  /**
   * Every order, ascending, read off the connection as they are asked for. A list that breaks off is thrown as
   * `IncompleteListError`, never taken for a short one. Each call is one request, sent when its first order is asked for.
   */
  list(options?: CallOptions): AsyncGenerator<OrderRecord, void, undefined>;
  /** Cancels a pending order. It is safe to call again: an order is cancelled at most once. */
  cancel(id: bigint, options?: CallOptions): Promise<CancelOutcome>;
}

/** Makes a client. Its requests share one waiting line, so make one for each key and keep it. */
export function createClient(options: ClientOptions): Client {
  const { baseUrl, apiKey, maxAttempts = 5, maxWaitMs = 120_000 } = options;
  const { attemptTimeoutMs = 30_000, idleTimeoutMs = 30_000, totalTimeoutMs = Infinity } = options;
  const { clock = systemClock, sleep = systemSleep, random = Math.random } = options;
  const { fetch = (url, init) => globalThis.fetch(url, init) } = options;
  const orders = `${checked(baseUrl, apiKey)}/store/orders`;
  const line = createRequestQueue(clock, sleep);
  const limits = { maxAttempts, attemptTimeoutMs, maxWaitMs };
  const send = createSender({ apiKey, fetch, line, clock, sleep, random, ...limits });
  const begin = (signal: AbortSignal | undefined) => {
    const limit = startLimit(sleep, "total", totalTimeoutMs, signal);
    return { ...limit, deadline: clock() + totalTimeoutMs };
  };

  return {
    async *list({ signal: given } = {}) {
      const { signal, deadline, release } = begin(given);
      try {
        const { result } = await send({ method: "GET", url: orders, signal, deadline, read: openBody });
        if (result instanceof ApiError) throw result;
        yield* readOrders(result, { sleep, idleTimeoutMs, signal });
      } finally {
        release();
      }
    },

    async cancel(id, { signal: given } = {}) {
      const { signal, deadline, release } = begin(given);
      try {
        const url = `${orders}/${encodeURIComponent(`${id}`)}`;
        const { result, ambiguous: unsure } = await send({
          method: "DELETE",
          url,
          signal,
          deadline,
          read: discardBody,
        });
        return outcomeOf(result, unsure);
      } finally {
        release();
      }
    },
  };
}

function outcomeOf(result: ApiError | undefined, unsure: boolean): CancelOutcome {
  switch (result?.code) {
    case undefined:
      return { outcome: "cancelled" };
    case "order_not_found":
    case "order_already_shipped":
      return { outcome: result.code };
    case "order_already_cancelled":
      return { outcome: result.code, maybeByThisCall: unsure };
    default:
      throw result;
  }
}

async function discardBody(response: Response): Promise<undefined> {
  await response.body?.cancel();
}

/** The base address without a slash at its end. Says what is wrong before a request does, and never shows the key. */
function checked(baseUrl: string, apiKey: string): string {
  const issues = [];
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    issues.push({ path: "baseUrl", message: "Give an address such as https://orders.example.com/v1." });
  }
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    issues.push({
      path: "apiKey",
      message: "Give the key as it was issued, without spaces and line breaks.",
    });
  }
  if (issues.length > 0) throw new InvalidInputError(issues);
  return baseUrl.replace(/\/+$/, "");
}
