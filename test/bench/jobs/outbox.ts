import { join } from "node:path";
import { findPostgres } from "../../support/postgres/server.ts";
import { atLeastPeers } from "../budgets.ts";
import type { Figure } from "../figures.ts";
import { copyDatabases, createBenchDatabases, FIRST_ID } from "../fixture.ts";
import type { Bench, Job } from "../job.ts";
import { startPostgresBench } from "../servers/postgres.ts";
import { type OurOptions, ours } from "../servers/server-process.ts";
import { type FreshPrograms, loadFigures, runLoadJob } from "./load-job.ts";

const TITLE = "Durable cancel with an outbox, 32 connections";
const WITHOUT = "no outbox";
/** The most cancels of a round per second, warm-up included: each order is cancelled once. */
const CANCELS_PER_SECOND = { sqlite: 70_000, postgres: 15_000 };

/** What it costs to mark each cancel for delivery. */
export const outbox: Job = {
  id: "outbox",
  async run(bench) {
    const figures = [...(await runOnSqlite(bench)), ...(await runOnPostgres(bench))];
    return { title: TITLE, figures, notes: ["Our server with the outbox on, compared with itself."] };
  },
};

async function runOnSqlite(bench: Bench): Promise<readonly Figure[]> {
  const databases = await createBenchDatabases(join(bench.folder, "filled"), ordersOf(bench, "sqlite"));
  const programs = () => bothOf({ database: copyDatabases(databases, join(bench.folder, "round")).ours });
  return runCancels(bench, "SQLite", programs, databases.keys);
}

async function runOnPostgres(bench: Bench): Promise<readonly Figure[]> {
  if (findPostgres() === undefined) {
    bench.log(`${TITLE}: no PostgreSQL. Install it with: apt-get install postgresql`);
    return [];
  }
  const postgres = await startPostgresBench(bench.folder, ordersOf(bench, "postgres"));
  try {
    const programs = async () => bothOf({ postgres: await postgres.freshDatabase() });
    return await runCancels(bench, "PostgreSQL", programs, postgres.keys);
  } finally {
    await postgres.remove();
  }
}

function ordersOf({ seconds, quick }: Bench, store: keyof typeof CANCELS_PER_SECOND): number {
  return CANCELS_PER_SECOND[store] * (seconds + (quick ? 0 : 1));
}

function bothOf(options: OurOptions) {
  const common = { ...options, clockStep: 2 };
  return { ours: ours({ ...common, outbox: true }), [WITHOUT]: ours(common) };
}

async function runCancels(
  bench: Bench,
  name: string,
  programs: FreshPrograms,
  keys: readonly string[],
): Promise<readonly Figure[]> {
  const load = {
    method: "DELETE",
    path: "/v1/store/orders/",
    firstId: FIRST_ID,
    keys,
    connections: 32,
  } as const;
  const samples = await runLoadJob(bench, {
    name: `${TITLE}, ${name}`,
    programs,
    load,
    expectRejections: false,
  });
  const figures = loadFigures(samples, { rate: atLeastPeers(0.85) }, { peers: [WITHOUT] });
  return figures.map((figure) => ({ ...figure, name: `${name}: ${figure.name}` }));
}
