import { MAX_TIMER_MS } from "../core/time.ts";
import { TimeoutError } from "./client-errors.ts";

/** A wait before a request is sent. Resolves after the given time, or as soon as the signal aborts; never rejects. */
export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;

/** A signal that aborts with a `TimeoutError` when its time is over, or together with another signal. */
export interface TimeLimit {
  readonly signal: AbortSignal;
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
  const delayMs = Math.min(Math.ceil(milliseconds), MAX_TIMER_MS);
  const timer = milliseconds === Infinity ? undefined : setTimeout(expire, delayMs);
  return {
    signal: limit.signal,
    release() {
      clearTimeout(timer);
      outer?.removeEventListener("abort", follow);
    },
  };
}
