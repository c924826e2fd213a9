import type { Clock, Instant } from "../clock.ts";
import { LONGEST_WINDOW_MS, type RateLimitHeaders } from "./rate-limit-headers.ts";
import { abortable, type Sleep } from "./time-limit.ts";

/** How long a request may wait in the queue. */
export interface WaitOptions {
  readonly signal: AbortSignal;
  /** If a wait would end after this instant, the request is not sent. */
  readonly deadline: Instant;
  /** If a wait would be longer, the request is not sent. */
  readonly maxWaitMs: number;
}

/** Whether a request may be sent now, or when it could be. */
export type QueueTurn =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly retryAt: Instant;
      /** True if the service asked for a longer pause than `MAX_PAUSE_MS`. */
      readonly limitedToOneDay: boolean;
    };

/** What a response says about the rate limit. Empty if there was no response. */
export interface QueueFeedback extends Pick<RateLimitHeaders, "window"> {
  /** How long to send no request. At most one day. */
  readonly pauseMs?: number;
}

/**
 * The queue of all requests of one key, first in, first out. It keeps the key within its limits and sends nothing
 * during the wait after a 429, so the key is never banned. See lib/README.md#bans.
 */
export interface RequestQueue {
  /**
   * Resolves when the request may be sent, or at once with `ok: false` if it would wait longer than the options allow.
   */
  acquire(options: WaitOptions): Promise<QueueTurn>;
  /** Must be called exactly once for each turn with `ok: true`: when the headers arrive, or when the request fails. */
  release(feedback: QueueFeedback): void;
}

const MAX_IN_FLIGHT = 8;
/** The current minute and day, and the next ones, since late responses report earlier windows. */
const MAX_WINDOWS = 4;
/** No service needs a longer pause. */
const MAX_PAUSE_MS = LONGEST_WINDOW_MS;

/**
 * Creates a queue. While the limits are unknown, one request is sent at a time, and its response reports them. After
 * that, at most a tenth of the remaining quota is in flight, so that even several processes that share an account
 * get only a few 429s. When nothing remains, requests wait for the reset.
 */
export function createRequestQueue(clock: Clock, sleep: Sleep): RequestQueue {
  /** By reset time: the lowest reported quota, which may not include the requests in flight. */
  const windows = new Map<number, { readonly remainingRequests: number; readonly endsAt: Instant }>();
  let pause = { until: 0, limited: false };
  let inFlight = 0;
  let lastTurn = Promise.resolve();
  let changed = Promise.withResolvers<void>();

  /** Returns when the next request may be sent, or `Infinity` if a response must arrive first. */
  function opensAt(now: Instant): Instant {
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
          const now = clock();
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
            return { ok: false, retryAt: opens, limitedToOneDay: opens === pause.until && pause.limited };
          await sleep(opens - now, signal);
        }
      } finally {
        // A request that is aborted in the queue must not let the next one overtake those before it.
        void previousTurn.then(releaseTurn);
      }
    },

    release({ window, pauseMs = 0 }) {
      const now = clock();
      inFlight--;
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
      changed.resolve();
      changed = Promise.withResolvers();
    },
  };
}
