import { join } from "node:path";
import { atMost } from "../budgets.ts";
import { type Figure, spreadOf } from "../figures.ts";
import { PEERS_HOME } from "../install-peers.ts";
import type { Bench, Job } from "../job.ts";
import { spreadIn, takeTurns } from "../rounds.ts";
import type { AdmissionCost, AdmissionTask } from "../servers/admission-process.ts";
import { startChild } from "../servers/child.ts";
import { type EmulatedEngine, fillTables, startEngine } from "../servers/emulator.ts";
import { callsOf, countStoreCalls } from "../servers/store-calls.ts";

const PREFIX = "admission";
const STORES = ["memory", "sqlite", "dynamodb"] as const;
const PEER = "rate-limiter-flexible";

/** Admission without HTTP around it, store by store, and what it costs in calls. */
export const admission: Job = {
  id: "admission",
  async run(bench) {
    const engine = await startEngine();
    try {
      await fillTables(engine.endpoint, PREFIX, 25);
      const rounds = Math.min(bench.rounds, 3);
      const samples = await takeTurns([...STORES, PEER], rounds, async (name, round) => {
        bench.tell(`admission: round ${round + 1} of ${rounds}, ${name}`);
        return name === PEER ? limited(bench, engine.endpoint) : admitted(bench, engine, name);
      });
      const cost = (store: (typeof STORES)[number], what: string, name: keyof AdmissionCost): Figure => ({
        what: `${store}, ${what}`,
        unit: "µs",
        better: "less",
        ours: spreadIn(samples, store, name),
        ...(store === "dynamodb" ? { peers: { [PEER]: spreadIn(samples, PEER, name) } } : {}),
      });
      return {
        title: "Admission alone",
        figures: [
          ...STORES.flatMap((store) => [
            cost(store, "one at a time", "single"),
            cost(store, "processor time", "processor"),
            cost(store, "32 at a time", "many"),
            cost(store, "refused, 32 at a time", "refused"),
          ]),
          ...(await callFigures(bench, engine.endpoint)),
        ],
        notes: [
          "Microseconds of a check with the key's SHA-256, from the presented key to the decision. SQLite without a flush a check: counters survive the process, and the last of them may be lost with the power.",
          `DynamoDB over dynalite on the same machine. ${PEER} keeps two windows and knows neither keys nor bans.`,
          "Calls are counted on the wire, for whole requests.",
        ],
      };
    } finally {
      await engine.stop();
    }
  },
};

async function callFigures(bench: Bench, endpoint: string): Promise<readonly Figure[]> {
  const calls = await countStoreCalls(endpoint, PREFIX);
  const checks = 20;
  const peer = (await callsOf(endpoint, (wire) => limited(bench, wire, checks))) / (checks + WARM_UP);
  const figure = (what: string, count: number, most: number, peers = {}): Figure => {
    const counted: Figure = { what, unit: "calls", better: "less", ours: spreadOf([count]), peers };
    return { ...counted, verdict: atMost(most)(counted) };
  };
  return [
    figure("DynamoDB calls, steady", calls.steady, 1, { [PEER]: spreadOf([Math.round(peer)]) }),
    figure("DynamoDB calls, a window rolled", calls.rolled, 2),
    figure("DynamoDB calls, refused", calls.refused, 2),
    figure("DynamoDB calls, a cancel in all", calls.cancel, 2),
  ];
}

async function admitted(
  { folder, quick }: Bench,
  { environment }: EmulatedEngine,
  store: (typeof STORES)[number],
): Promise<AdmissionCost> {
  const checks = (store === "dynamodb" ? 1_000 : 50_000) / (quick ? 5 : 1);
  const task: AdmissionTask = { store, path: join(folder, "admission.db"), prefix: PREFIX, checks };
  const program = new URL("../servers/admission-process.ts", import.meta.url);
  const child = startChild(program, [JSON.stringify(task)], environment);
  const cost = await child.told<AdmissionCost>();
  await child.end();
  return cost;
}

/** Checks that the peer makes before the clock runs. */
const WARM_UP = 20;

async function limited(
  { quick }: Bench,
  endpoint: string,
  checks = quick ? 100 : 500,
): Promise<AdmissionCost> {
  const child = startChild(join(PEERS_HOME, "dynamodb-limiter.mjs"), [endpoint, `${checks}`]);
  await child.told();
  child.send("go");
  const cost = await child.told<Pick<AdmissionCost, "single" | "processor">>();
  await child.end();
  return { ...cost, many: NaN, refused: NaN };
}
