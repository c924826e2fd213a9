import { type Spread, spreadOf } from "./figures.ts";

/** What one round of one contender gave, by the name of each figure. */
export type Sample<Name extends string> = Readonly<Record<Name, number>>;

/** What all rounds gave, by contender. */
export type Samples<Name extends string> = ReadonlyMap<string, readonly Sample<Name>[]>;

/**
 * Lets contenders take turns, so that what the machine does besides falls on all alike. Each round begins with
 * another one.
 */
export async function takeTurns<Contender extends string, Name extends string>(
  contenders: readonly Contender[],
  rounds: number,
  run: (contender: Contender, round: number) => Promise<Sample<Name>>,
): Promise<Samples<Name>> {
  const samples = new Map<string, Sample<Name>[]>(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < rounds; round++) {
    const first = round % contenders.length;
    for (const contender of [...contenders.slice(first), ...contenders.slice(0, first)]) {
      samples.get(contender)?.push(await run(contender, round));
    }
  }
  return samples;
}

/** One figure of one contender over all rounds. */
export function spreadIn<Name extends string>(samples: Samples<Name>, contender: string, name: Name): Spread {
  return spreadOf((samples.get(contender) ?? []).map((sample) => sample[name]));
}

/** One figure of several contenders. */
export function spreadsIn<Name extends string>(
  samples: Samples<Name>,
  contenders: readonly string[],
  name: Name,
): Readonly<Record<string, Spread>> {
  return Object.fromEntries(contenders.map((contender) => [contender, spreadIn(samples, contender, name)]));
}
