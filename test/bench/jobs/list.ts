import { join } from "node:path";
import { atLeastPeers } from "../budgets.ts";
import { makeShop, type Shop } from "../fixture.ts";
import type { Job } from "../job.ts";
import { contendersFor } from "../servers/candidates.ts";
import { agree } from "./same-answers.ts";
import { serve, servedFigures } from "./served.ts";

const LIST = { method: "GET", path: "/v1/store/orders" } as const;

/** The list of 20 orders: what the service costs around a small answer. */
export const list: Job = {
  id: "list",
  async run(bench) {
    const shop = await makeShop(join(bench.folder, "list"), 20);
    const programs = (copy: Shop) => contendersFor(copy, { clockStep: 2 });
    await agree(join(bench.folder, "asked"), shop, programs, [{ ...LIST, key: shop.keys[0] ?? "" }]);
    const load = { ...LIST, keys: shop.keys };
    const samples = await serve(bench, { name: "list", shop, programs, load, refusals: false });
    return {
      title: "List of 20",
      figures: servedFigures(samples, atLeastPeers(1.5)),
      notes: [
        "Our account may make 60,000 requests a minute, the most there is; our clock goes on by 2 ms at each look, so that this never bites. The peers' limits are set out of reach.",
        "Floor: bare `node:http` with the same look-up of the key, windows in a Map, and one query that joins the rows.",
      ],
    };
  },
};
