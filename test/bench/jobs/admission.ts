import { join } from "node:path";
import { atMost } from "../budgets.ts";
import { distributionOf, type Figure } from "../figures.ts";
import { PEERS_HOME } from "../install-peers.ts";
import type { Bench, Job } from "../job.ts";
import { distributionIn, runInTurns } from "../rounds.ts";
import type { AdmissionCost, AdmissionTask } from "../servers/admission-process.ts";
import { startChild } from "../servers/child.ts";
import { type EmulatedEngine, fillTables, startEngine } from "../servers/emulator.ts";
import { countCalls, countStoreCalls } from "../servers/store-calls.ts";

const PREFIX = "admission";
const STORES = ["memory", "sqlite", "dynamodb"] as const;
const PEER = "rate-limiter-flexible";

/** Admission without HTTP, store by store, and its DynamoDB calls. */
export const admission: Job = {
  id: "admission",
  async run(bench) {
    const engine = await startEngine();
    try {
      await fillTables(engine.endpoint, PREFIX, 25);
      const rounds = Math.min(bench.rounds, 3);
      const samples = await runInTurns([...STORES, PEER], rounds, async (name, round) => {
        bench.log(`admission: round ${round + 1} of ${rounds}, ${name}`);
        return name === PEER ? runPeer(bench, engine.endpoint) : runOurs(bench, engine, name);
      });
      const cost = (store: (typeof STORES)[number], label: string, name: keyof AdmissionCost): Figure => ({
        name: `${store}, ${label}`,
        unit: "µs",
        better: "less",
        ours: distributionIn(samples, store, name),
        ...(store === "dynamodb" ? { peers: { [PEER]: distributionIn(samples, PEER, name) } } : {}),
      });
      return {
        title: "Admission alone",
        figures: [
          ...STORES.flatMap((store) => [
            cost(store, "one at a time", "single"),
            cost(store, "processor time", "processor"),
            cost(store, "32 concurrent", "concurrent"),
            cost(store, "rejected, 32 concurrent", "rejected"),
          ]),
          ...(await callFigures(bench, engine.endpoint)),
        ],
        notes: [
          "Microseconds per check, from the key in the request, including its SHA-256, to the decision. SQLite does not flush each check: counters survive a crash of the process, and a power failure may lose the most recent ones.",
          `DynamoDB over dynalite on the same machine. ${PEER} keeps two windows and knows neither keys nor bans.`,
          "Calls are counted on the wire, per HTTP request.",
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
  const peer = (await countCalls(endpoint, (wire) => runPeer(bench, wire, checks))) / (checks + WARM_UP);
  const figure = (label: string, count: number, max: number, peers = {}, unit = "calls"): Figure => {
    const counted: Figure = {
      name: label,
      unit,
      better: "less",
      ours: distributionOf([count]),
      peers,
    };
    return { ...counted, verdict: atMost(max)(counted) };
  };
  return [
    figure("DynamoDB calls, steady", calls.steady, 1, { [PEER]: distributionOf([Math.round(peer)]) }),
    figure("DynamoDB write units, steady, 20 keys", calls.units, 1, {}, "units"),
    figure("DynamoDB calls, new window", calls.newWindow, 2),
    figure("DynamoDB calls, rejected", calls.rejected, 2),
    figure("DynamoDB calls, a cancel in total", calls.cancel, 2),
  ];
}

async function runOurs(
  { folder, quick }: Bench,
  { environment }: EmulatedEngine,
  store: (typeof STORES)[number],
): Promise<AdmissionCost> {
  const checks = (store === "dynamodb" ? 1_000 : 50_000) / (quick ? 5 : 1);
  const task: AdmissionTask = { store, path: join(folder, "admission.db"), prefix: PREFIX, checks };
  const program = new URL("../servers/admission-process.ts", import.meta.url);
  const child = startChild(program, [JSON.stringify(task)], environment);
  const cost = await child.nextMessage<AdmissionCost>();
  await child.end();
  return cost;
}

/** Checks of the peer before the measurement. */
const WARM_UP = 20;

async function runPeer(
  { quick }: Bench,
  endpoint: string,
  checks = quick ? 100 : 500,
): Promise<AdmissionCost> {
  const child = startChild(join(PEERS_HOME, "dynamodb-limiter.mjs"), [endpoint, `${checks}`]);
  await child.nextMessage();
  child.send("go");
  const cost = await child.nextMessage<Pick<AdmissionCost, "single" | "processor">>();
  await child.end();
  return { ...cost, concurrent: NaN, rejected: NaN };
}
