import { setTimeout as sleep } from "node:timers/promises";
import type { SeededRandom } from "./run.ts";

/** Causes a fault, and ends it after the pause. */
export type InjectedFault = (pause: () => Promise<void>) => Promise<unknown>;

/**
 * Injects faults until it is stopped, each equally often. The service recovers after each. Returns the number of
 * injections of each fault.
 */
export async function injectFaults(
  faults: Readonly<Record<string, InjectedFault>>,
  random: SeededRandom,
  { recovered, stopped }: { recovered: () => Promise<unknown>; stopped: () => boolean },
): Promise<Record<string, number>> {
  const names = Object.keys(faults);
  const counts = Object.fromEntries(names.map((name) => [name, 0]));
  let remaining: readonly string[] = [];
  while (!stopped()) {
    if (remaining.length === 0) remaining = names;
    const name = random.pick(remaining);
    remaining = remaining.filter((other) => other !== name);
    await faults[name]?.(() => sleep(random.int(1, 150)));
    counts[name] = (counts[name] ?? 0) + 1;
    await recovered();
    await sleep(random.int(1, 150));
  }
  return counts;
}
