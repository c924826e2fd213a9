/** Seeded random choices and reported figures of a fault suite. */
import { appendFileSync } from "node:fs";
import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";
import { inject } from "vitest";

declare module "vitest" {
  export interface ProvidedContext {
    readonly seed: number;
    readonly figures: string;
  }
}

/** A row of the table at the end of a run. */
export interface Figure {
  readonly suite: string;
  readonly label: string;
  readonly value: string;
}

/** Adds rows to the table at the end of the run. */
export function reportFigures(suite: string, figures: Readonly<Record<string, number | string>>): void {
  for (const [label, figure] of Object.entries(figures)) {
    const value = typeof figure === "number" ? figure.toLocaleString("en-US") : figure;
    appendFileSync(inject("figures"), `${JSON.stringify({ suite, label, value } satisfies Figure)}\n`);
  }
}

/** A random generator that the seed of the run determines. */
export interface SeededRandom {
  /** An integer from `min` to `max`, inclusive. */
  int(min: number, max: number): number;
  pick<T>(items: readonly T[]): T;
  chance(probability: number): boolean;
}

/** The seed of this run, for generators such as fast-check's. */
export const seed: number = inject("seed");

/** Creates a generator. Each `purpose` has its own sequence, independent of the others. */
export function createRandom(purpose: string): SeededRandom {
  let mixed = seed;
  for (const character of purpose) mixed = (Math.imul(mixed, 31) + (character.codePointAt(0) ?? 0)) | 0;
  const generator = xoroshiro128plus(mixed);
  const int = (min: number, max: number) => uniformInt(generator, min, max);
  return {
    int,
    pick: (items) => items[int(0, items.length - 1)] as (typeof items)[number],
    chance: (probability) => int(0, 999_999) < probability * 1_000_000,
  };
}
