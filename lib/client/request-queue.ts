import { abortable } from "../core/concurrency.ts";
import type { Failure } from "../core/errors.ts";
import { parseHttpDate, parseRetryAfter, parseWholeNumber } from "../core/retry-after.ts";
import type { Clock, Instant } from "../core/time.ts";
import type { Sleep } from "./time-limit.ts";

/** The facts about the rate limit in a response. Empty if there was no response. */
export interface QueueFeedback extends Pick<RateLimitHeaders, "window"> {
  /** The time for which no request is sent. At most one day. */
  readonly pauseMs?: number;
}

/** The queue of all requests of one key, first in, first out, which keeps the key within its limits. */
export interface RequestQueue {
  /**
   * Resolves when the request may be sent, or at once with `ok: false` if it would wait longer than `maxWaitMs` or beyond
   * the deadline. `limitedToOneDay`: the service asked for a longer pause than `MAX_PAUSE_MS`.
   */
  acquire(options: {
    readonly signal: AbortSignal;
    /** As a time of `elapsedMs`. */
    readonly deadline: number;
    readonly maxWaitMs: number;
  }): Promise<
    { readonly ok: true } | (Failure<"wait_too_long"> & { retryAt: Instant; limitedToOneDay: boolean })
  >;
  /** Must be called exactly once for each turn with `ok: true`: when the headers arrive, or when the request fails. */
  release(feedback: QueueFeedback): void;
}

const MAX_IN_FLIGHT = 8;
/** The current minute and day, and the next ones, since late responses report earlier windows. */
const MAX_WINDOWS = 4;
const LONGEST_WINDOW_MS = 24 * 60 * 60 * 1000;
/** No service needs a longer pause. */
const MAX_PAUSE_MS = LONGEST_WINDOW_MS;

/**
 * Creates a queue. While the limits are unknown, one request is sent at a time. After that, at most a tenth of the
 * remaining quota is in flight, so that several processes that share an account get few 429s. Times are those of
 * `elapsedMs`, because the clock can be set while a request waits.
 */
export function createRequestQueue(clock: Clock, sleep: Sleep, elapsedMs: () => number): RequestQueue {
  /** By reset time: the lowest reported quota, which may not include the requests in flight. */
  const windows = new Map<number, { readonly remainingRequests: number; readonly endsAt: number }>();
  /** The end of the longest wait. Fake timers may have ended it without a change of the time. */
  let sleptUntil = Number.NEGATIVE_INFINITY;
  const time = () => Math.max(elapsedMs(), sleptUntil);
  let pause = { until: Number.NEGATIVE_INFINITY, limited: false };
  let inFlight = 0;
  let lastTurn = Promise.resolve();
  let changed = Promise.withResolvers<void>();

  /** Returns when the next request may be sent, or `Infinity` if a response must arrive first. */
  function opensAt(now: number): number {
    let opens = Math.max(pause.until, now);
    let lowest = Infinity;
    for (const [resetSeconds, { remainingRequests, endsAt }] of windows) {
      if (endsAt <= now) windows.delete(resetSeconds);
      else if (remainingRequests === 0) opens = Math.max(opens, endsAt);
      else lowest = Math.min(lowest, remainingRequests);
    }
    if (opens > now) return opens;
    const capacity = windows.size === 0 ? 1 : Math.min(MAX_IN_FLIGHT, Math.max(1, Math.floor(lowest / 10)));
    return inFlight < capacity ? now : Infinity;
  }

  return {
    async acquire({ signal, deadline, maxWaitMs }) {
      const previousTurn = lastTurn;
      const { promise, resolve: releaseTurn } = Promise.withResolvers<void>();
      lastTurn = promise;
      try {
        await abortable(previousTurn, signal);
        for (;;) {
          signal.throwIfAborted();
          const now = time();
          const opens = opensAt(now);
          if (opens <= now) {
            inFlight++;
            return { ok: true };
          }
          if (opens === Infinity) {
            await abortable(changed.promise, signal);
            continue;
          }
          if (opens > deadline || opens - now > maxWaitMs)
            return {
              ok: false,
              code: "wait_too_long",
              retryAt: clock() + opens - now,
              limitedToOneDay: opens === pause.until && pause.limited,
            };
          await sleep(opens - now, signal);
          if (!signal.aborted) sleptUntil = Math.max(sleptUntil, opens);
        }
      } finally {
        // A request that is aborted in the queue must not let the next one overtake those before it.
        void previousTurn.then(releaseTurn);
      }
    },

    release({ window, pauseMs = 0 }) {
      inFlight--;
      changed.resolve();
      changed = Promise.withResolvers();
      const now = time();
      const until = now + Math.min(pauseMs, MAX_PAUSE_MS);
      if (until > pause.until) pause = { until, limited: pauseMs > MAX_PAUSE_MS };
      if (window === undefined) {
        // The service may have counted the request although it did not respond.
        for (const [resetSeconds, { remainingRequests, endsAt }] of windows)
          windows.set(resetSeconds, { remainingRequests: Math.max(0, remainingRequests - 1), endsAt });
      } else {
        const { remainingRequests, resetSeconds, resetsInMs } = window;
        const known = windows.get(resetSeconds)?.remainingRequests ?? Infinity;
        windows.set(resetSeconds, {
          remainingRequests: Math.min(known, remainingRequests),
          endsAt: now + resetsInMs,
        });
        const [oldest] = windows.keys();
        if (windows.size > MAX_WINDOWS && oldest !== undefined) windows.delete(oldest);
      }
    },
  };
}

/** The rate-limit headers of a response. The property of a missing or invalid header is missing. */
interface RateLimitHeaders {
  readonly window?: RateLimitWindow;
  /** The wait before the next request. It can be any length, even `Infinity`. */
  readonly retryAfterMs?: number;
}

interface RateLimitWindow {
  readonly remainingRequests: number;
  /** The instant at which the window ends by the service's clock, in Unix seconds. It identifies the window. */
  readonly resetSeconds: number;
  readonly resetsInMs: number;
}

/** The minute allows for clocks that differ slightly. */
const MAX_RESET_MS = LONGEST_WINDOW_MS + 60_000;

/**
 * Parses `X-RateLimit-Remaining`, `X-RateLimit-Reset` and `Retry-After` (RFC 9110, section 10.2.3). Instants are
 * compared with the response's own `Date`, so a skewed client clock does not matter.
 */
export function readRateLimitHeaders(headers: Headers, now: Instant): RateLimitHeaders {
  const serverNow = parseHttpDate(headers.get("date"), now) ?? now;
  const window = readWindow(headers, serverNow) ?? readWindow(headers, now);
  const retryAfterMs = parseRetryAfter(headers.get("retry-after"), serverNow);
  return {
    ...(window === undefined ? {} : { window }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** Returns `undefined` if a header is missing, or if no current window can end at this reset time. */
function readWindow(headers: Headers, now: Instant): RateLimitWindow | undefined {
  const remainingRequests = parseWholeNumber(headers.get("x-ratelimit-remaining"));
  const resetSeconds = parseWholeNumber(headers.get("x-ratelimit-reset"));
  if (remainingRequests === undefined || resetSeconds === undefined) return undefined;
  const resetsInMs = resetSeconds * 1000 - now;
  return resetsInMs > 0 && resetsInMs <= MAX_RESET_MS
    ? { remainingRequests, resetSeconds, resetsInMs }
    : undefined;
}
