import { join } from "node:path";
import { atLeastPeers } from "../budgets.ts";
import { type BenchDatabases, createBenchDatabases, FIRST_ID } from "../fixture.ts";
import type { Job } from "../job.ts";
import { createCandidates } from "../servers/candidates.ts";
import { expectEqualResponses } from "./equal-responses.ts";
import { loadFigures, runLoadJob } from "./load-job.ts";

const PATH = "/v1/store/orders/";
/** The most requests of a round per second, warm-up included: each order is cancelled once. */
const ORDERS_PER_SECOND = 70_000;

/** Cancelling an order, durable before the response. */
export const cancel: Job = {
  id: "cancel",
  async run(bench) {
    const orders = ORDERS_PER_SECOND * (bench.seconds + (bench.quick ? 0 : 1));
    const databases = await createBenchDatabases(join(bench.folder, "cancel"), orders);
    const programs = (copy: BenchDatabases) => createCandidates(copy, { clockStep: 2 });
    const key = databases.keys[0] ?? "";
    const request = { method: "DELETE", path: `${PATH}${FIRST_ID + 1}`, key } as const;
    await expectEqualResponses(join(bench.folder, "compared"), databases, programs, [
      request,
      request,
      { ...request, path: `${PATH}1` },
    ]);
    const load = { method: "DELETE", path: PATH, firstId: FIRST_ID, keys: [key] } as const;
    const samples = await runLoadJob(bench, {
      name: "cancel",
      databases,
      programs,
      load,
      expectRejections: false,
    });
    return {
      title: "Durable cancel, 32 connections",
      figures: loadFigures(samples, atLeastPeers(2)),
      notes: [
        "Write-ahead log with `synchronous=FULL` for every candidate. Every request cancels another order and gets 204.",
        "Baseline: bare `node:http` that commits all requests of one turn of the event loop together.",
      ],
    };
  },
};
