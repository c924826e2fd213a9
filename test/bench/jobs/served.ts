import { join } from "node:path";
import type { Figure, Verdict } from "../figures.ts";
import { copyOf, type Shop } from "../fixture.ts";
import type { Bench } from "../job.ts";
import type { Load } from "../load/load.ts";
import { type UnderLoad, underLoad } from "../load/under-load.ts";
import { type Samples, spreadIn, spreadsIn, takeTurns } from "../rounds.ts";
import { CEILING } from "../servers/candidates.ts";
import { PEERS, type Program } from "../servers/server-process.ts";

/** A kind of request that every contender serves. */
export interface Served {
  readonly name: string;
  readonly shop: Shop;
  readonly programs: (shop: Shop) => Readonly<Record<string, Program>>;
  readonly load: Omit<Load, "seconds">;
  /** True where every answer is to be a refusal, false where none may be one. */
  readonly refusals: boolean;
}

/** Of how many answers some may be of the other kind: a window that opens lets a few through. */
const STRAYS = 0.05;

/** Loads the contenders in turns, each time in a fresh process over a fresh copy of the shop. */
export async function serve(bench: Bench, served: Served): Promise<Samples<keyof UnderLoad>> {
  const { name, shop, programs, load, refusals } = served;
  return takeTurns(Object.keys(programs(shop)), bench.rounds, async (contender, round) => {
    bench.tell(`${name}: round ${round + 1} of ${bench.rounds}, ${contender}`);
    const program = programs(copyOf(shop, join(bench.folder, "round")))[contender];
    if (program === undefined) throw new Error(`Nobody is called ${contender}.`);
    const sample = await underLoad(bench, program, load);
    const strays = refusals ? 1 - sample.refused : sample.refused;
    if (strays > (refusals ? STRAYS : 0)) {
      throw new Error(
        `${contender}: ${(strays * 100).toFixed(2)}% of the answers were not what was asked for.`,
      );
    }
    return sample;
  });
}

/** Requests a second and processor time, against the peers and the ceiling. */
export function servedFigures(
  samples: Samples<keyof UnderLoad>,
  judge: (rate: Figure) => Verdict,
): readonly Figure[] {
  const others = [...samples.keys()].filter((name) => name.startsWith("ours,"));
  const figure = (what: string, unit: string, better: "more" | "less", name: keyof UnderLoad): Figure => ({
    what,
    unit,
    better,
    ours: spreadIn(samples, "ours", name),
    peers: spreadsIn(samples, PEERS, name),
    floor: spreadIn(samples, CEILING, name),
    besides: spreadsIn(samples, others, name),
  });
  const rate = figure("requests a second", "/s", "more", "rate");
  return [
    { ...rate, verdict: judge(rate) },
    figure("processor time of a request", "µs", "less", "processor"),
    figure("99th percentile at 32 connections", "ms", "less", "p99"),
    figure("peak memory", "MiB", "less", "peak"),
  ];
}
