/** Checks that memory does not grow during a run. */
import { expect } from "vitest";
import type { Memory } from "./memory.ts";

const MIB = 1024 * 1024;

/** Less than a leak of 100 bytes in each of 100,000 requests. */
const MAX_HELD_MIB = 8;

/**
 * V8 keeps free pages for reuse as long as the machine has memory: up to 110 MiB were observed without a leak. A
 * larger leak outside the heap is still noticed.
 */
const MAX_RESIDENT = 256 * MIB;

/** Figures of a run's memory, from its first tenth to its last. Fails if it has grown. */
export function memoryFigures(
  samples: readonly Memory[],
  maxHeldMiB = MAX_HELD_MIB,
): Readonly<Record<string, string>> {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) throw new Error("Nothing was measured.");
  expect(last.held - first.held, "growth of held memory").toBeLessThan(maxHeldMiB * MIB);
  expect(last.resident - first.resident, "growth of the resident set").toBeLessThan(MAX_RESIDENT);
  return {
    "held after the first and the last tenth": `${inMiB(first.held)}, ${inMiB(last.held)}`,
    "resident set after the first and the last tenth": `${inMiB(first.resident)}, ${inMiB(last.resident)}`,
  };
}

function inMiB(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}
