/** The values of a figure over all rounds. */
export interface Distribution {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** A budget, and whether the figure met it. */
export interface Verdict {
  readonly budget: string;
  readonly met: boolean;
}

/** One measured quantity, for every candidate of a job. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly better: "more" | "less";
  readonly ours: Distribution;
  /** The candidates that ours is compared with. */
  readonly peers?: Readonly<Record<string, Distribution>>;
  /** The least work that does the job: the lowest possible cost, or the highest possible yield. */
  readonly baseline?: Distribution;
  /** Reported, but not compared. */
  readonly others?: Readonly<Record<string, Distribution>>;
  readonly verdict?: Verdict;
}

/** The result of a job. */
export interface JobReport {
  readonly title: string;
  readonly figures: readonly Figure[];
  /** What a reader needs to know to interpret the figures. */
  readonly notes: readonly string[];
}

/** Median, minimum and maximum. */
export function distributionOf(values: readonly number[]): Distribution {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const median = ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
  return { median, min: sorted.at(0) ?? NaN, max: sorted.at(-1) ?? NaN };
}

/** The peer with the best median. */
export function bestPeer({ peers = {}, better }: Figure): readonly [string, Distribution] | undefined {
  const sign = better === "more" ? -1 : 1;
  const known = Object.entries(peers).filter(([, { median }]) => !Number.isNaN(median));
  return known.sort(([, a], [, b]) => sign * (a.median - b.median))[0];
}

/** How many times better ours is than another: above 1 is better, in either direction. */
export function timesBetter({ ours, better }: Figure, other: Distribution): number {
  return better === "more" ? ours.median / other.median : other.median / ours.median;
}
