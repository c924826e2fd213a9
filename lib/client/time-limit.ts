import { MAX_TIMER_MS } from "../core/time.ts";
import { TimeoutError } from "./client-errors.ts";

/** A wait before a request is sent. Resolves after the given time, or as soon as the signal aborts; never rejects. */
export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;

/** A wait with the system's timers. */
export const systemSleep: Sleep = (milliseconds, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = startTimer(done, milliseconds);
    signal.addEventListener("abort", done);
  });

function startTimer(callback: () => void, milliseconds: number) {
  return setTimeout(callback, Math.min(Math.ceil(milliseconds), MAX_TIMER_MS));
}

/** A signal that aborts with a `TimeoutError` when its time is over, or together with another signal. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** Stops the timer. Must be called when the operation is done. */
  release(): void;
}

/** Starts a time limit on the system's timers. `Infinity` means no limit. */
export function startTimeLimit(
  phase: TimeoutError["phase"],
  milliseconds: number,
  outer?: AbortSignal,
): TimeLimit {
  const limit = new AbortController();
  const follow = () => limit.abort(outer?.reason);
  if (outer?.aborted === true) follow();
  else outer?.addEventListener("abort", follow);
  const expire = () => limit.abort(new TimeoutError(phase, milliseconds));
  const timer = milliseconds === Infinity ? undefined : startTimer(expire, milliseconds);
  return {
    signal: limit.signal,
    release() {
      clearTimeout(timer);
      outer?.removeEventListener("abort", follow);
    },
  };
}

/** Settles like the promise, but rejects with the signal's reason as soon as it aborts. */
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
