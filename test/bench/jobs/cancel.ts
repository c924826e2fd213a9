import { join } from "node:path";
import { atLeastPeers, atMostPeers } from "../budgets.ts";
import type { JobReport } from "../figures.ts";
import { copyDatabases, createBenchDatabases, FIRST_ID } from "../fixture.ts";
import type { Bench, Job } from "../job.ts";
import { createCandidates } from "../servers/candidates.ts";
import { expectEqualResponses } from "./equal-responses.ts";
import { loadFigures, runLoadJob } from "./load-job.ts";

const PATH = "/v1/store/orders/";

/** Cancelling an order, durable before the response. */
export const cancel: Job = {
  id: "cancel",
  run: (bench) =>
    runCancels(bench, {
      title: "Durable cancel, 32 connections",
      connections: 32,
      ordersPerSecond: 70_000,
      budgets: { rate: atLeastPeers(3.5), peak: atMostPeers(1.1) },
      note: "Baseline: bare `node:http` that commits all requests of one turn of the event loop together.",
    }),
};

/** The same, with one request at a time: nothing can be committed together. */
export const singleCancel: Job = {
  id: "single-cancel",
  run: (bench) =>
    runCancels(bench, {
      title: "Durable cancel, one connection",
      connections: 1,
      ordersPerSecond: 25_000,
      budgets: { rate: atLeastPeers(0.5) },
      note: "The peers count in memory, ours in the same transaction. Baseline: bare `node:http` with one transaction per request.",
    }),
};

interface CancelJob {
  readonly title: string;
  readonly connections: number;
  /** The most requests of a round per second, warm-up included: each order is cancelled once. */
  readonly ordersPerSecond: number;
  readonly budgets: Parameters<typeof loadFigures>[1];
  readonly note: string;
}

async function runCancels(
  bench: Bench,
  { title, connections, ordersPerSecond, budgets, note }: CancelJob,
): Promise<JobReport> {
  const orders = ordersPerSecond * (bench.seconds + (bench.quick ? 0 : 1));
  const databases = await createBenchDatabases(join(bench.folder, "cancel"), orders);
  const options = { clockStep: 2 } as const;
  const programs = () => createCandidates(copyDatabases(databases, join(bench.folder, "round")), options);
  const key = databases.keys[0] ?? "";
  const request = { method: "DELETE", path: `${PATH}${FIRST_ID + 1}`, key } as const;
  await expectEqualResponses(programs, [request, request, { ...request, path: `${PATH}1` }]);
  const load = { method: "DELETE", path: PATH, firstId: FIRST_ID, keys: [key], connections } as const;
  const samples = await runLoadJob(bench, {
    name: title,
    programs,
    load,
    expectRejections: false,
  });
  return {
    title,
    figures: loadFigures(samples, budgets, { connections }),
    notes: [
      "Write-ahead log with `synchronous=FULL` for every candidate. Every request cancels another order and gets 204.",
      note,
    ],
  };
}
