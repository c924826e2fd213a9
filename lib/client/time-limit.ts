import { MAX_TIMER_MS } from "../core/time.ts";
import { TimeoutError } from "./client-errors.ts";

/** A wait before a request is sent. Resolves after the given time, or as soon as the signal aborts; never rejects. */
export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;

/** Its signal aborts with a `TimeoutError` when the time is over, or together with another signal. `Infinity` is no limit. */
export function startTimeLimit(
  phase: TimeoutError["phase"],
  milliseconds: number,
  outer?: AbortSignal,
): { readonly signal: AbortSignal; release(): void } {
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
