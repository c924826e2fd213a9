/** What a suite under faults chooses by the seed of the run, and the figures that it reports. */
import { appendFileSync } from "node:fs";
import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";
import { inject } from "vitest";

declare module "vitest" {
  export interface ProvidedContext {
    readonly seed: number;
    /** The file that collects the figures. */
    readonly figures: string;
  }
}

/** A line of the table at the end of a run. */
export interface Figure {
  readonly suite: string;
  readonly what: string;
  readonly value: string;
}

/** Puts lines into the table at the end of the run. */
export function tell(suite: string, figures: Readonly<Record<string, number | string>>): void {
  for (const [what, figure] of Object.entries(figures)) {
    const value = typeof figure === "number" ? figure.toLocaleString("en-US") : figure;
    appendFileSync(inject("figures"), `${JSON.stringify({ suite, what, value } satisfies Figure)}\n`);
  }
}

/** Choices that the run's seed decides. */
export interface Choices {
  /** A whole number from `least` to `most`, both included. */
  int(least: number, most: number): number;
  pick<T>(from: readonly T[]): T;
  /** True with a probability from 0 to 1. */
  chance(probability: number): boolean;
}

/** The seed of this run for generators that take one, such as fast-check's. */
export const seed: number = inject("seed");

/** Choices for one purpose: each `purpose` has its own, whatever another one takes. */
export function choices(purpose: string): Choices {
  let mixed = seed;
  for (const character of purpose) mixed = (Math.imul(mixed, 31) + (character.codePointAt(0) ?? 0)) | 0;
  const generator = xoroshiro128plus(mixed);
  const int = (least: number, most: number) => uniformInt(generator, least, most);
  return {
    int,
    pick: (from) => from[int(0, from.length - 1)] as (typeof from)[number],
    chance: (probability) => int(0, 999_999) < probability * 1_000_000,
  };
}
