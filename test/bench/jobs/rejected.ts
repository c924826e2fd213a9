import { join } from "node:path";
import { atLeastPeers } from "../budgets.ts";
import { copyDatabases, createBenchDatabases } from "../fixture.ts";
import type { Job } from "../job.ts";
import { createCandidates } from "../servers/candidates.ts";
import { ours } from "../servers/server-process.ts";
import { expectEqualResponses } from "./equal-responses.ts";
import { loadFigures, runLoadJob } from "./load-job.ts";

const LIST = { method: "GET", path: "/v1/store/orders" } as const;
const NO_BAN = 1_000_000_000;
/** One more than the free plan's limit. */
const OVER_THE_LIMIT = 61;

/** Rejecting a caller who is over the limit. */
export const rejected: Job = {
  id: "rejected",
  async run(bench) {
    const databases = await createBenchDatabases(join(bench.folder, "rejected"), 20);
    const copy = join(bench.folder, "round");
    const compared = () => createCandidates(copyDatabases(databases, copy), { maxRejections: NO_BAN });
    const programs = () => ({ ...compared(), "ours, banned": ours({ database: join(copy, "ours.db") }) });
    const request = { ...LIST, key: databases.freeKey, times: OVER_THE_LIMIT };
    await expectEqualResponses(compared, [request]);
    const load = { ...LIST, keys: [databases.freeKey] };
    const samples = await runLoadJob(bench, {
      name: "rejected",
      programs,
      load,
      expectRejections: true,
    });
    return {
      title: "Rejected (429)",
      figures: loadFigures(samples, { rate: atLeastPeers(1.3) }),
      notes: [
        "`ours` is a key over its limit, with bans out of reach, because the peers have no bans. `ours, banned` is the default, where the 21st rejection in a minute bans the key.",
        "Our counters and bans are in the database, and apply across processes and restarts. Those of the peers are in memory.",
      ],
    };
  },
};
