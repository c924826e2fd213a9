import { onTestFinished, vi } from "vitest";
import { waitForTimer } from "../../lib/core/time.ts";
import { NOON } from "../http/fixture.ts";

/** Time that advances only when everything is waiting for it, so that hours pass at once and no test sleeps. */
export function createVirtualTime() {
  vi.useFakeTimers({ now: NOON, toFake: ["setTimeout", "clearTimeout", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
  let busy = 0;
  const time = {
    get now() {
      return Date.now();
    },
    set now(instant: number) {
      vi.setSystemTime(instant);
    },
  };

  /** Stops time until the work is done. */
  async function during<T>(work: Promise<T>): Promise<T> {
    busy++;
    return work.finally(() => {
      busy--;
    });
  }

  /** Awaits a promise; whenever the process is idle, time advances to the next timer. */
  async function run<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const observed = promise.finally(() => {
      settled = true;
    });
    observed.catch(() => {});
    for (let idleTurns = 0; !settled; ) {
      await new Promise((resolve) => setImmediate(resolve));
      idleTurns = busy > 0 ? 0 : idleTurns + 1;
      if (idleTurns < 5) continue;
      if (vi.getTimerCount() > 0) {
        vi.advanceTimersToNextTimer();
        idleTurns = 0;
      } else if (idleTurns > 1_000) throw new Error("Deadlock: no timer is pending.");
    }
    return promise;
  }

  return { time, clock: () => Date.now(), sleep: waitForTimer, during, run, pendingTimers: vi.getTimerCount };
}
