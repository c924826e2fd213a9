import type { Sleep } from "../../lib/client/time-limit.ts";
import { NOON } from "../http/fixture.ts";

/** Time that moves only when everybody waits for it, so that hours take no time and no test sleeps. */
export function createVirtualTime() {
  const sleepers = new Set<{ readonly until: number; readonly wake: () => void }>();
  const time = { now: NOON, busy: 0 };

  const sleep: Sleep = (milliseconds, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const wake = () => {
        sleepers.delete(sleeper);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      const sleeper = { until: time.now + milliseconds, wake };
      sleepers.add(sleeper);
      signal.addEventListener("abort", wake);
    });

  /** Sees to it that time stands still while something is under way. */
  async function during<T>(work: Promise<T>): Promise<T> {
    time.busy++;
    return work.finally(() => {
      time.busy--;
    });
  }

  /** Waits for a promise; whenever nothing is under way, the earliest sleeper is woken at its time. */
  async function run<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const seen = promise.finally(() => {
      settled = true;
    });
    seen.catch(() => {});
    for (let idle = 0; !settled; ) {
      await new Promise((resolve) => setImmediate(resolve));
      idle = time.busy > 0 ? 0 : idle + 1;
      if (idle < 5) continue;
      const [next] = [...sleepers].sort((a, b) => a.until - b.until);
      if (next === undefined && idle > 1_000) throw new Error("Nothing would ever happen.");
      if (next === undefined) continue;
      time.now = Math.max(time.now, next.until);
      next.wake();
      idle = 0;
    }
    return promise;
  }

  return { time, clock: () => time.now, sleep, during, run, sleeping: () => sleepers.size };
}
