import { TimeoutError } from "./client-errors.ts";

/** Waits. Resolves when the time is over or, at once, when the signal aborts; it never rejects. */
export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;

/** Timers hold no more than this many milliseconds; a longer wait would end immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Waits by the machine's own timers. */
export const systemSleep: Sleep = (milliseconds, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(Math.ceil(milliseconds), MAX_TIMER_MS));
    signal.addEventListener("abort", done);
  });

/** A signal that aborts when its time is over, or with another signal. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** Stops the time. Must be called when the work is over. */
  release(): void;
}

/** Starts a limit, counted from now. `Infinity` sets none. */
export function startLimit(
  sleep: Sleep,
  of: TimeoutError["phase"],
  milliseconds: number,
  outer?: AbortSignal,
): TimeLimit {
  const limit = new AbortController();
  const released = new AbortController();
  const follow = () => limit.abort(outer?.reason);
  if (outer?.aborted === true) follow();
  else outer?.addEventListener("abort", follow);
  if (milliseconds !== Infinity) {
    void sleep(milliseconds, released.signal).then(() => {
      if (!released.signal.aborted) limit.abort(new TimeoutError(of, milliseconds));
    });
  }
  return {
    signal: limit.signal,
    release() {
      released.abort();
      outer?.removeEventListener("abort", follow);
    },
  };
}

/** The promise, or a rejection with the signal's reason as soon as it aborts. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort);
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
