import { setImmediate as turn } from "node:timers/promises";
import { getHeapSpaceStatistics } from "node:v8";

/** The size of the young generation in MiB. */
export function youngMiB(): number {
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
  return (space?.space_size ?? 0) / 2 ** 20;
}

/**
 * Allocates as a loaded server does: most objects of a turn survive until the next one, so V8 wants the young generation
 * to grow. Returns its largest size in MiB.
 */
export async function load(): Promise<number> {
  let largest = 0;
  const live: object[] = [];
  for (let round = 0; round < 60; round++) {
    for (let index = 0; index < 20_000; index++) live[index] = { index, text: `order ${index}` };
    largest = Math.max(largest, youngMiB());
    await turn();
  }
  return largest;
}
