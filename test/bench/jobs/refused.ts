import { join } from "node:path";
import { atLeastPeers } from "../budgets.ts";
import { makeShop, type Shop } from "../fixture.ts";
import type { Job } from "../job.ts";
import { contendersFor } from "../servers/candidates.ts";
import { ours } from "../servers/server-process.ts";
import { agree } from "./same-answers.ts";
import { serve, servedFigures } from "./served.ts";

const LIST = { method: "GET", path: "/v1/store/orders" } as const;
const NO_BAN = 1_000_000_000;
/** One more than the free plan's limit. */
const OVER_THE_LIMIT = 61;

/** Refusing a caller who is over the limit. */
export const refused: Job = {
  id: "refused",
  async run(bench) {
    const shop = await makeShop(join(bench.folder, "refused"), 20);
    const compared = (copy: Shop) => contendersFor(copy, { refusals: NO_BAN });
    const programs = (copy: Shop) => ({ ...compared(copy), "ours, banned": ours({ database: copy.ours }) });
    const question = { ...LIST, key: shop.freeKey, times: OVER_THE_LIMIT };
    await agree(join(bench.folder, "asked"), shop, compared, [question]);
    const load = { ...LIST, keys: [shop.freeKey] };
    const samples = await serve(bench, { name: "refused", shop, programs, load, refusals: true });
    return {
      title: "Refused (429)",
      figures: servedFigures(samples, atLeastPeers(1)),
      notes: [
        "`ours` is a key that is over its limit, with bans out of reach: that is what the peers do, and so what they are compared with. `ours, banned` is what a flood meets in service, where the 21st refusal of a minute bans the key.",
        "Our counts and bans are in the database and hold across processes and restarts; the peers' are in memory.",
      ],
    };
  },
};
