import type { Figure, Verdict } from "../figures.ts";
import type { Bench } from "../job.ts";
import type { Load } from "../load/load.ts";
import { measureUnderLoad, type ServerLoadSample } from "../load/under-load.ts";
import { distributionIn, distributionsIn, runInTurns, type Samples } from "../rounds.ts";
import { BASELINE } from "../servers/candidates.ts";
import { PEERS, type Program } from "../servers/server-process.ts";

/** Returns the candidates on fresh copies of their databases. Those of earlier calls have ended. */
export type FreshPrograms = () =>
  | Readonly<Record<string, Program>>
  | Promise<Readonly<Record<string, Program>>>;

/** A load that every candidate serves. */
export interface LoadJob {
  readonly name: string;
  readonly programs: FreshPrograms;
  readonly load: Omit<Load, "seconds">;
  /** True if every response must be a rejection, false if none may be. */
  readonly expectRejections: boolean;
}

/** The share of responses that may be of the other kind: a new window admits a few requests. */
const MAX_UNEXPECTED = 0.05;
/** The requests that two windows of the free plan admit: more than that share on a slow machine. */
const MAX_ADMITTED = 120;

/** Loads the candidates in turns, each time in a fresh process on a fresh copy of the databases. */
export async function runLoadJob(bench: Bench, job: LoadJob): Promise<Samples<keyof ServerLoadSample>> {
  const { name, programs, load, expectRejections } = job;
  return runInTurns(Object.keys(await programs()), bench.rounds, async (candidate, round) => {
    bench.log(`${name}: round ${round + 1} of ${bench.rounds}, ${candidate}`);
    const program = (await programs())[candidate];
    if (program === undefined) throw new Error(`There is no candidate ${candidate}.`);
    const sample = await measureUnderLoad(bench, program, load);
    const unexpected = expectRejections ? 1 - sample.rejected : sample.rejected;
    const admittedShare = MAX_ADMITTED / (sample.rate * bench.seconds);
    if (unexpected > (expectRejections ? Math.max(MAX_UNEXPECTED, admittedShare) : 0)) {
      throw new Error(`${candidate}: ${(unexpected * 100).toFixed(2)}% of the responses were unexpected.`);
    }
    return sample;
  });
}

/** Throughput, processor time, latency and memory, compared with the peers and, if it was measured, the baseline. */
export function loadFigures(
  samples: Samples<keyof ServerLoadSample>,
  budgets: Partial<Record<keyof ServerLoadSample, (figure: Figure) => Verdict>>,
  { connections = 32, peers = PEERS }: { connections?: number; peers?: readonly string[] } = {},
): readonly Figure[] {
  const others = [...samples.keys()].filter((name) => ![...peers, "ours", BASELINE].includes(name));
  const figure = (
    label: string,
    unit: string,
    better: "more" | "less",
    name: keyof ServerLoadSample,
  ): Figure => {
    const measured: Figure = {
      name: label,
      unit,
      better,
      ours: distributionIn(samples, "ours", name),
      peers: distributionsIn(samples, peers, name),
      ...(samples.has(BASELINE) ? { baseline: distributionIn(samples, BASELINE, name) } : {}),
      others: distributionsIn(samples, others, name),
    };
    const budget = budgets[name];
    return budget === undefined ? measured : { ...measured, verdict: budget(measured) };
  };
  return [
    figure("requests per second", "/s", "more", "rate"),
    figure("processor time per request", "µs", "less", "processor"),
    figure(
      connections === 1 ? "99th percentile, one at a time" : `99th percentile at ${connections} connections`,
      "ms",
      "less",
      "p99",
    ),
    figure("peak memory", "MiB", "less", "peak"),
  ];
}
