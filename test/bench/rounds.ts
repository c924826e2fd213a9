import { type Distribution, distributionOf } from "./figures.ts";

/** The figures of one candidate in one round, by name. */
export type Sample<Name extends string> = Readonly<Record<Name, number>>;

/** The figures of all rounds, by candidate. */
export type Samples<Name extends string> = ReadonlyMap<string, readonly Sample<Name>[]>;

/**
 * Runs the candidates in turns, so that other work on the machine affects all of them alike. Each round begins with
 * another candidate.
 */
export async function runInTurns<Candidate extends string, Name extends string>(
  candidates: readonly Candidate[],
  rounds: number,
  run: (candidate: Candidate, round: number) => Promise<Sample<Name>>,
): Promise<Samples<Name>> {
  const samples = new Map<string, Sample<Name>[]>(candidates.map((candidate) => [candidate, []]));
  for (let round = 0; round < rounds; round++) {
    const first = round % candidates.length;
    for (const candidate of [...candidates.slice(first), ...candidates.slice(0, first)]) {
      samples.get(candidate)?.push(await run(candidate, round));
    }
  }
  return samples;
}

/** One figure of one candidate over all rounds. */
export function distributionIn<Name extends string>(
  samples: Samples<Name>,
  candidate: string,
  name: Name,
): Distribution {
  return distributionOf((samples.get(candidate) ?? []).map((sample) => sample[name]));
}

/** One figure of several candidates. */
export function distributionsIn<Name extends string>(
  samples: Samples<Name>,
  candidates: readonly string[],
  name: Name,
): Readonly<Record<string, Distribution>> {
  return Object.fromEntries(
    candidates.map((candidate) => [candidate, distributionIn(samples, candidate, name)]),
  );
}
