import { abortable } from "../core/concurrency.ts";
import { parseHttpDate, parseRetryAfter, parseWholeNumber } from "../core/retry-after.ts";
import type { Clock, Instant } from "../core/time.ts";
import { isTransient } from "./client-errors.ts";
import type { Sleep } from "./time-limit.ts";

/** What a response says about the rate limit. Empty if there was no response. */
export interface QueueFeedback {
  readonly window?: RateLimitWindow | undefined;
  /** The time for which no request is sent. Of any length, even `Infinity`, but a day is the longest that counts. */
  readonly pauseMs?: number;
}

interface RateLimitWindow {
  readonly remainingRequests: number;
  /** The instant at which the window ends by the service's clock, in Unix seconds. It identifies the window. */
  readonly resetSeconds: number;
  readonly resetsInMs: number;
}

/** When to send a request. The deadline is a time of `elapsedMs`. */
interface Turn {
  readonly signal: AbortSignal;
  readonly deadline: number;
  readonly maxWaitMs: number;
}

const MAX_IN_FLIGHT = 8;
/** The current minute and day, and the next ones, since late responses report earlier windows. */
const MAX_WINDOWS = 4;
/** The longest window, and the longest pause that a service needs. */
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * While the limits are unknown, one request is sent at a time. After that, at most a tenth of the remaining quota is in
 * flight, so that several processes that share an account get few 429s.
 */
export function createRequestQueue(clock: Clock, sleep: Sleep, elapsedMs: () => number) {
  /** By reset time: the lowest reported quota, which may not include the requests in flight. */
  const windows = new Map<number, { readonly remainingRequests: number; readonly endsAt: number }>();
  /** The end of the longest wait. Fake timers may have ended it without a change of the time. */
  let sleptUntil = Number.NEGATIVE_INFINITY;
  const time = () => Math.max(elapsedMs(), sleptUntil);
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let inFlight = 0;
  let lastTurn = Promise.resolve();
  let changed = Promise.withResolvers<void>();

  /** Returns when the next request may be sent, or `Infinity` if a response must arrive first. */
  function opensAt(now: number): number {
    let opens = Math.max(pausedUntil, now);
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
    /** Resolves at once with `retryAt` if the request would wait longer than `maxWaitMs` or beyond the deadline. */
    async acquire({ signal, deadline, maxWaitMs }: Turn): Promise<{ readonly retryAt: Instant } | undefined> {
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
            return undefined;
          }
          if (opens === Infinity) {
            await abortable(changed.promise, signal);
            continue;
          }
          if (opens > deadline || opens - now > maxWaitMs)
            return { retryAt: Math.ceil(clock() + opens - now) };
          await sleep(opens - now, signal);
          if (!signal.aborted) sleptUntil = Math.max(sleptUntil, opens);
        }
      } finally {
        // A request that is aborted in the queue must not let the next one overtake those before it.
        void previousTurn.then(releaseTurn);
      }
    },

    /** Must be called exactly once for each turn: when the headers arrive, or when the request fails. */
    release({ window, pauseMs = 0 }: QueueFeedback): void {
      inFlight--;
      changed.resolve();
      changed = Promise.withResolvers();
      const now = time();
      pausedUntil = Math.max(pausedUntil, now + Math.min(pauseMs, DAY_MS));
      if (window === undefined) {
        // The service may have counted the request although it did not respond.
        for (const [resetSeconds, { remainingRequests, endsAt }] of windows)
          windows.set(resetSeconds, { remainingRequests: Math.max(0, remainingRequests - 1), endsAt });
      } else {
        const { remainingRequests, resetSeconds, resetsInMs } = window;
        const known = windows.get(resetSeconds)?.remainingRequests ?? Infinity;
        const fewest = Math.min(known, remainingRequests);
        windows.set(resetSeconds, { remainingRequests: fewest, endsAt: now + resetsInMs });
        const [oldest] = windows.keys();
        if (windows.size > MAX_WINDOWS && oldest !== undefined) windows.delete(oldest);
      }
    },
  };
}

/** The minute allows for clocks that differ slightly. */
const MAX_RESET_MS = DAY_MS + 60_000;

const MIN_PAUSE_MS = 1_000;

/** See RFC 9110, section 10.2.3. Compared with the response's own `Date`, so a skewed client clock does not matter. */
export function readFeedback({ status, headers }: Response, now: Instant, jitterMs: number): QueueFeedback {
  const serverNow = parseHttpDate(headers.get("date"), now) ?? now;
  const found = readWindow(headers, serverNow) ?? readWindow(headers, now);
  // Without a known account, as in a 401 or a 503, the headers do not describe the quota of the key.
  const window = status === 401 || status === 503 ? undefined : found;
  if (!isTransient(status)) return { window };
  const resetsInMs = found?.remainingRequests === 0 ? found.resetsInMs : 0;
  const defaultMs = status === 429 ? Math.max(resetsInMs, MIN_PAUSE_MS) : undefined;
  const waitMs = parseRetryAfter(headers.get("retry-after"), serverNow) ?? defaultMs;
  return { window, pauseMs: waitMs === undefined ? 0 : waitMs + jitterMs };
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
