/** The figures of one candidate in one round, by name. */
export type Figures = Readonly<Record<string, number>>;

export type Samples = Readonly<Record<string, readonly Figures[]>>;

/** Measures the candidates in turns, each round another one first, so that other work affects all of them alike. */
export async function inTurns(
  candidates: readonly string[],
  rounds: number,
  measure: (candidate: string, round: number) => Promise<Figures>,
): Promise<Samples> {
  const samples: Record<string, Figures[]> = Object.fromEntries(candidates.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    const first = round % candidates.length;
    for (const name of [...candidates.slice(first), ...candidates.slice(0, first)]) {
      samples[name]?.push(await measure(name, round));
    }
  }
  return samples;
}

/** The median. NaN if there are no values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
}
