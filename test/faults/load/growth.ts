/** Whether memory stays flat while a run goes on. */
import { expect } from "vitest";
import type { Memory } from "./memory.ts";

const MIB = 1024 * 1024;

/** Less than a leak of a hundred bytes with each of a hundred thousand requests would come to. */
const MOST_HEAP = 8 * MIB;

/** The engine keeps pages for its next garbage, up to a size of its own; a kilobyte a request would come to more. */
const MOST_RESIDENT = 96 * MIB;

/** Figures of a run's memory, from its first tenth to its last. Fails where it has grown. */
export function figuresOf(samples: readonly Memory[]): Readonly<Record<string, string>> {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) throw new Error("Nothing was measured.");
  expect(last.heap - first.heap, "growth of the heap").toBeLessThan(MOST_HEAP);
  expect(last.resident - first.resident, "growth of the resident set").toBeLessThan(MOST_RESIDENT);
  return {
    "heap after the first and the last tenth": `${inMiB(first.heap)}, ${inMiB(last.heap)}`,
    "resident set after the first and the last tenth": `${inMiB(first.resident)}, ${inMiB(last.resident)}`,
  };
}

/** For a person to read. */
export function inMiB(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}
