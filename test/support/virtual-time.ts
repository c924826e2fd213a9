import { setImmediate as turn } from "node:timers/promises";

/** A clock that a test moves, and a `wait` that follows it. */
export function createVirtualTime(start: number) {
  let now = start;
  const timers = new Set<{ readonly at: number; readonly end: () => void }>();
  return {
    clock: () => now,

    wait(ms: number, signal?: AbortSignal): Promise<void> {
      return new Promise((resolve) => {
        const end = () => {
          timers.delete(timer);
          signal?.removeEventListener("abort", end);
          resolve();
        };
        const timer = { at: now + ms, end };
        timers.add(timer);
        signal?.addEventListener("abort", end);
        if (signal?.aborted) end();
      });
    },

    /** Moves the clock from timer to timer, and lets the program work after each. */
    async advance(ms: number, settle: () => Promise<unknown> = turn): Promise<void> {
      const end = now + ms;
      for (;;) {
        await settle();
        const next = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        now = Math.max(now, next.at);
        next.end();
      }
      now = end;
    },
  };
}
