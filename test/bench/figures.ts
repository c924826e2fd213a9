/** A figure over all rounds. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** What one budget of the design asks for, and whether it was kept. */
export interface Verdict {
  readonly budget: string;
  readonly met: boolean;
}

/** One thing that was measured, for everyone who did the job. */
export interface Figure {
  readonly what: string;
  readonly unit: string;
  readonly better: "more" | "less";
  readonly ours: Spread;
  /** Those that we are compared with. */
  readonly peers?: Readonly<Record<string, Spread>>;
  /** The least that the job can cost, or the most that it can yield. */
  readonly floor?: Spread;
  /** Told, but not compared. */
  readonly besides?: Readonly<Record<string, Spread>>;
  readonly verdict?: Verdict;
}

/** What a job found. */
export interface JobReport {
  readonly title: string;
  readonly figures: readonly Figure[];
  /** What one has to know to read the figures. */
  readonly notes: readonly string[];
}

/** Median, least and most. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const median = ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
  return { median, least: sorted.at(0) ?? NaN, most: sorted.at(-1) ?? NaN };
}

/** The peer that does best, by its median. */
export function bestPeer({ peers = {}, better }: Figure): readonly [string, Spread] | undefined {
  const sign = better === "more" ? -1 : 1;
  const known = Object.entries(peers).filter(([, { median }]) => !Number.isNaN(median));
  return known.sort(([, a], [, b]) => sign * (a.median - b.median))[0];
}

/** How many times better than another we are: above 1 is better than it, whatever the figure's direction. */
export function timesBetter({ ours, better }: Figure, other: Spread): number {
  return better === "more" ? ours.median / other.median : other.median / ours.median;
}
