import { findPostgres } from "../../support/postgres/server.ts";
import { atLeastPeers, atMost } from "../budgets.ts";
import type { Figure, JobReport } from "../figures.ts";
import { FIRST_ID } from "../fixture.ts";
import type { Bench, Job } from "../job.ts";
import { download } from "../load/download.ts";
import { distributionIn, distributionsIn, runInTurns, type Sample } from "../rounds.ts";
import { type PostgresBench, RELAXED, startPostgresBench } from "../servers/postgres.ts";
import { memory, processorTime, resetPeak } from "../servers/process-cost.ts";
import { POSTGRES_PEERS, type Program, start } from "../servers/server-process.ts";
import { expectEqualResponses } from "./equal-responses.ts";
import { loadFigures, runLoadJob } from "./load-job.ts";

const PATH = "/v1/store/orders";
const NOTE =
  "PostgreSQL on the same machine, with `fsync` on. The peers are Fastify with `pg`, a pool of ten and prepared statements, with the key, both windows and the order in the database: one statement for each, or one for all. They wait for the disk at each commit, as is the default; ours, and the one that is not compared, only if an order changes.";

/** The most cancels of a round per second, warm-up included: each order is cancelled once. */
const CANCELS_PER_SECOND = 15_000;
const MAX_ROUNDS = 3;

/** Cancelling an order in PostgreSQL, by the number of connections and of accounts that send requests. */
export const postgresCancel: Job = {
  id: "postgres-cancel",
  run: (bench) =>
    onPostgres(bench, "Durable cancel in PostgreSQL", async (title, limited) => {
      const orders = CANCELS_PER_SECOND * (bench.seconds + (bench.quick ? 0 : 1));
      const figures: Figure[] = [];
      for (const accounts of [1, 100]) {
        const postgres = await startPostgresBench(bench.folder, orders, accounts);
        try {
          const request = {
            method: "DELETE",
            path: `${PATH}/${FIRST_ID + 1}`,
            key: postgres.keys[0] ?? "",
          } as const;
          await expectEqualResponses(postgres.freshPrograms, [
            request,
            request,
            { ...request, path: `${PATH}/1` },
          ]);
          for (const connections of [1, 8, 32]) {
            const name = `${accounts} account${accounts === 1 ? "" : "s"}, ${connections} connection${connections === 1 ? "" : "s"}`;
            const samples = await runLoadJob(limited, {
              name: `${title}, ${name}`,
              programs: postgres.freshPrograms,
              load: {
                method: "DELETE",
                path: `${PATH}/`,
                firstId: FIRST_ID,
                keys: postgres.keys,
                connections,
              },
              expectRejections: false,
            });
            const budget = { 1: 1, 8: undefined, 32: 3 }[connections];
            const measured = loadFigures(
              samples,
              budget === undefined ? {} : { rate: atLeastPeers(budget) },
              {
                connections,
                peers: POSTGRES_PEERS,
              },
            );
            figures.push(...measured.map((figure) => ({ ...figure, name: `${name}: ${figure.name}` })));
          }
        } finally {
          await postgres.remove();
        }
      }
      return { title, figures, notes: [NOTE] };
    }),
};

/** The list of 20 orders from PostgreSQL. */
export const postgresList: Job = {
  id: "postgres-list",
  run: (bench) =>
    onPostgres(bench, "List of 20 from PostgreSQL", async (title, limited) => {
      const postgres = await startPostgresBench(bench.folder, 20);
      try {
        const load = { method: "GET", path: PATH, keys: postgres.keys } as const;
        await expectEqualResponses(postgres.freshPrograms, [{ ...load, key: postgres.keys[0] ?? "" }]);
        const programs = postgres.freshPrograms;
        const samples = await runLoadJob(limited, { name: title, programs, load, expectRejections: false });
        return {
          title,
          figures: loadFigures(samples, { rate: atLeastPeers(2.5) }, { peers: POSTGRES_PEERS }),
          notes: [NOTE],
        };
      } finally {
        await postgres.remove();
      }
    }),
};

type LongList = Sample<"total" | "firstByte" | "memory" | "processor">;

/** The list of a million orders from PostgreSQL. */
export const postgresLongList: Job = {
  id: "postgres-long-list",
  run: (bench) => {
    const orders = bench.quick ? 100_000 : 1_000_000;
    return onPostgres(
      bench,
      `List of ${orders.toLocaleString("en-US")} from PostgreSQL`,
      async (title, limited) => {
        const postgres = await startPostgresBench(bench.folder, orders);
        try {
          const programs = await postgres.freshPrograms();
          const samples = await runInTurns(Object.keys(programs), limited.rounds, async (name, round) => {
            bench.log(`${title}: round ${round + 1} of ${limited.rounds}, ${name}`);
            return runList(programs[name] as Program, postgres);
          });
          const figure = (label: string, unit: string, name: keyof LongList): Figure => ({
            ...{ name: label, unit, better: "less", ours: distributionIn(samples, "ours", name) },
            peers: distributionsIn(samples, POSTGRES_PEERS, name),
            others: distributionsIn(samples, [RELAXED], name),
          });
          const firstByte = figure("first byte", "ms", "firstByte");
          const aboveIdle = figure("memory above idle", "MiB", "memory");
          return {
            title,
            figures: [
              figure("total", "ms", "total"),
              figure("processor time", "ms", "processor"),
              { ...firstByte, verdict: atMost(100)(firstByte) },
              { ...aboveIdle, verdict: atMost(64)(aboveIdle) },
            ],
            notes: [NOTE, "Idle means after a first response. The peers hold the whole list in memory."],
          };
        } finally {
          await postgres.remove();
        }
      },
    );
  },
};

/** Runs a job, with fewer rounds, unless there is no PostgreSQL. */
async function onPostgres(
  bench: Bench,
  title: string,
  run: (title: string, limited: Bench) => Promise<JobReport>,
): Promise<JobReport> {
  if (findPostgres() === undefined) {
    const note = "Skipped: there is no PostgreSQL. Install it with: apt-get install postgresql";
    bench.log(`${title}: ${note}`);
    return { title, figures: [], notes: [note] };
  }
  return run(title, { ...bench, rounds: Math.min(bench.rounds, MAX_ROUNDS) });
}

async function runList(program: Program, { keys: [key = ""] }: PostgresBench): Promise<LongList> {
  const server = await start(program);
  try {
    const headers = { authorization: `Bearer ${key}` };
    await fetch(`${server.url}${PATH}/1`, { method: "DELETE", headers });
    resetPeak(server.pid);
    const idle = memory(server.pid).now;
    const before = processorTime(server.pid);
    const { total, firstByte } = await download(`${server.url}${PATH}`, key);
    return {
      ...{ total, firstByte, memory: memory(server.pid).peak - idle },
      processor: processorTime(server.pid) - before,
    };
  } finally {
    await server.stop();
  }
}
