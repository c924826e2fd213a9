import type { Sleep } from "../../lib/client/time-limit.ts";
import { NOON } from "../http/fixture.ts";

/** Time that advances only when everything is waiting for it, so that hours pass at once and no test sleeps. */
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

  /** Stops time until the work is done. */
  async function during<T>(work: Promise<T>): Promise<T> {
    time.busy++;
    return work.finally(() => {
      time.busy--;
    });
  }

  /** Awaits a promise; whenever the process is idle, time advances to the earliest sleeper. */
  async function run<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const observed = promise.finally(() => {
      settled = true;
    });
    observed.catch(() => {});
    for (let idleTurns = 0; !settled; ) {
      await new Promise((resolve) => setImmediate(resolve));
      idleTurns = time.busy > 0 ? 0 : idleTurns + 1;
      if (idleTurns < 5) continue;
      const [next] = [...sleepers].sort((a, b) => a.until - b.until);
      if (next === undefined && idleTurns > 1_000) throw new Error("Deadlock: no timer is pending.");
      if (next === undefined) continue;
      time.now = Math.max(time.now, next.until);
      next.wake();
      idleTurns = 0;
    }
    return promise;
  }

  return { time, clock: () => time.now, sleep, during, run, pendingTimers: () => sleepers.size };
}
