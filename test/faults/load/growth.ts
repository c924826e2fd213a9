/** Whether memory stays flat while a run goes on. */
import { expect } from "vitest";
import type { Memory } from "./memory.ts";

const MIB = 1024 * 1024;

/** Less than a leak of a hundred bytes with each of a hundred thousand requests would come to. */
const MOST_HELD = 8 * MIB;

/**
 * The engine keeps pages for its next garbage, as many as it likes while the machine has some: up to 110 MiB were
 * seen, with nothing held. What is not held and not given back either would still be noticed.
 */
const MOST_RESIDENT = 256 * MIB;

/** Figures of a run's memory, from its first tenth to its last. Fails where it has grown. */
export function figuresOf(samples: readonly Memory[]): Readonly<Record<string, string>> {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) throw new Error("Nothing was measured.");
  expect(last.held - first.held, "growth of what is held").toBeLessThan(MOST_HELD);
  expect(last.resident - first.resident, "growth of the resident set").toBeLessThan(MOST_RESIDENT);
  return {
    "held after the first and the last tenth": `${inMiB(first.held)}, ${inMiB(last.held)}`,
    "resident set after the first and the last tenth": `${inMiB(first.resident)}, ${inMiB(last.resident)}`,
  };
}

/** For a person to read. */
function inMiB(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}
