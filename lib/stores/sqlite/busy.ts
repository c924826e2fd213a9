import { setTimeout as sleep } from "node:timers/promises";
import { isBusy } from "./errors.ts";

/** How long a call waits while another process locks the database. */
export const BUSY_TIMEOUT_MS = 5_000;

/** Runs a task, and retries it while another process locks the database, until the timeout. */
export async function retryWhileBusy<T>(task: () => T): Promise<T> {
  const deadline = performance.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      return task();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      await jitteredDelay();
    }
  }
}

/** Waits for a short random time, so that waiting processes do not retry in lockstep. */
export async function jitteredDelay(): Promise<void> {
  await sleep(1 + Math.random() * 4);
}
