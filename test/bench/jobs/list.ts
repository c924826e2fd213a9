import { join } from "node:path";
import { atLeastPeers, atMostBaseline, atMostPeers } from "../budgets.ts";
import { copyDatabases, createBenchDatabases } from "../fixture.ts";
import type { Job } from "../job.ts";
import { createCandidates } from "../servers/candidates.ts";
import { expectEqualResponses } from "./equal-responses.ts";
import { loadFigures, runLoadJob } from "./load-job.ts";

const LIST = { method: "GET", path: "/v1/store/orders" } as const;

/** The list of 20 orders: the cost of the service for a small response. */
export const list: Job = {
  id: "list",
  async run(bench) {
    const databases = await createBenchDatabases(join(bench.folder, "list"), 20);
    const copy = join(bench.folder, "round");
    const programs = () => createCandidates(copyDatabases(databases, copy), { clockStep: 2 });
    await expectEqualResponses(programs, [{ ...LIST, key: databases.keys[0] ?? "" }]);
    const load = { ...LIST, keys: databases.keys };
    const samples = await runLoadJob(bench, {
      name: "list",
      programs,
      load,
      expectRejections: false,
    });
    return {
      title: "List of 20",
      figures: loadFigures(samples, {
        rate: atLeastPeers(1.9),
        processor: atMostBaseline(1.6),
        peak: atMostPeers(1),
      }),
      notes: [
        "Our account has the highest limit, 60,000 requests per minute. Our clock advances by 2 ms at each reading, so the limit is never reached. The limits of the peers are out of reach.",
        "Baseline: bare `node:http` with the same key lookup, windows in a Map, and one query that joins the rows.",
      ],
    };
  },
};
