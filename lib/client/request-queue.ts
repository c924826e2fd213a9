import type { Clock, Instant } from "../clock.ts";
import type { RateLimitReport } from "./rate-limit-report.ts";
import { abortable, type Sleep } from "./time-limit.ts";

/** How long a call waits for its turn. */
export interface WaitOptions {
  readonly signal: AbortSignal;
  /** A wait that ends later is not begun. */
  readonly deadline: Instant;
  /** Nor is one that takes longer than this many milliseconds. */
  readonly maxWaitMs: number;
}

/** What an answer means for those in line. Empty where none came. */
export interface QueueFeedback extends Pick<RateLimitReport, "window"> {
  /** Nobody goes on for this many milliseconds. */
  readonly pause?: number;
}

/**
 * The one line in which every request of a key waits, first come first served, so that the key never goes on
 * after a 429 and is never banned (specification, "Limits", rule 3).
 */
export interface RequestQueue {
  /** Resolves when the request may be sent; with an instant instead where its turn cannot come before then. */
  acquire(patience: WaitOptions): Promise<Instant | undefined>;
  /** Every request that was let out comes back here exactly once, when its status is known or it has failed. */
  release(answered: QueueFeedback): void;
}

/** Not more requests than this await their answers at a time. */
const MAX_IN_FLIGHT = 8;

/**
 * Makes a line. While nothing is known of the limits a request goes alone, and its answer tells. After that not
 * more go together than a tenth of what is left, so that even several processes that share an account end with
 * at most a few refusals; with nothing left they wait for the reset.
 */
export function createRequestQueue(clock: Clock, sleep: Sleep): RequestQueue {
  /** By reset: the fewest requests left that an answer told of. What is in flight may not be counted in it. */
  const windows = new Map<number, { readonly remaining: number; readonly endsAt: Instant }>();
  let pausedUntil: Instant = 0;
  let inFlight = 0;
  let last = Promise.resolve();
  let change = Promise.withResolvers<void>();

  /** The instant from which on the next one may go; `Infinity` where an answer must come first. */
  function opensAt(now: Instant): Instant {
    let opens = Math.max(pausedUntil, now);
    let left = Infinity;
    for (const [reset, { remaining, endsAt }] of windows) {
      if (endsAt <= now) windows.delete(reset);
      else if (remaining === 0) opens = Math.max(opens, endsAt);
      else left = Math.min(left, remaining);
    }
    if (opens > now) return opens;
    const most = windows.size === 0 ? 1 : Math.min(MAX_IN_FLIGHT, Math.max(1, Math.floor(left / 10)));
    return inFlight < most ? now : Infinity;
  }

  return {
    async acquire({ signal, deadline, maxWaitMs }) {
      const ahead = last;
      const { promise, resolve: releaseTurn } = Promise.withResolvers<void>();
      last = promise;
      try {
        await abortable(ahead, signal);
        for (;;) {
          signal.throwIfAborted();
          const now = clock();
          const opens = opensAt(now);
          if (opens <= now) {
            inFlight++;
            return undefined;
          }
          if (opens === Infinity) {
            await abortable(change.promise, signal);
            continue;
          }
          if (opens > deadline || opens - now > maxWaitMs) return opens;
          await sleep(opens - now, signal);
        }
      } finally {
        // One that leaves the line early does not let the next one past those before it.
        void ahead.then(releaseTurn);
      }
    },

    release({ window, pause = 0 }) {
      const now = clock();
      inFlight--;
      pausedUntil = Math.max(pausedUntil, now + pause);
      if (window === undefined) {
        // It may have been counted all the same.
        for (const [reset, { remaining, endsAt }] of windows)
          windows.set(reset, { remaining: Math.max(0, remaining - 1), endsAt });
      } else {
        const { remaining, reset, resetsIn } = window;
        const known = windows.get(reset)?.remaining ?? Infinity;
        windows.set(reset, { remaining: Math.min(known, remaining), endsAt: now + resetsIn });
      }
      change.resolve();
      change = Promise.withResolvers();
    },
  };
}
