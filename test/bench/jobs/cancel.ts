import { join } from "node:path";
import { atLeastPeers } from "../budgets.ts";
import { FIRST_ID, makeShop, type Shop } from "../fixture.ts";
import type { Job } from "../job.ts";
import { contendersFor } from "../servers/candidates.ts";
import { agree } from "./same-answers.ts";
import { serve, servedFigures } from "./served.ts";

const PATH = "/v1/store/orders/";
/** Requests that one round can make, warm-up included: each order is cancelled once. */
const ORDERS_A_SECOND = 70_000;

/** Cancelling an order, on disk before the answer. */
export const cancel: Job = {
  id: "cancel",
  async run(bench) {
    const orders = ORDERS_A_SECOND * (bench.seconds + (bench.quick ? 0 : 1));
    const shop = await makeShop(join(bench.folder, "cancel"), orders);
    const programs = (copy: Shop) => contendersFor(copy, { clockStep: 2 });
    const key = shop.keys[0] ?? "";
    const question = { method: "DELETE", path: `${PATH}${FIRST_ID + 1}`, key } as const;
    await agree(join(bench.folder, "asked"), shop, programs, [
      question,
      question,
      { ...question, path: `${PATH}1` },
    ]);
    const load = { method: "DELETE", path: PATH, firstId: FIRST_ID, keys: [key] } as const;
    const samples = await serve(bench, { name: "cancel", shop, programs, load, refusals: false });
    return {
      title: "Durable cancel, 32 connections",
      figures: servedFigures(samples, atLeastPeers(2)),
      notes: [
        "Write-ahead log with `synchronous=FULL` for everyone. Every request cancels another order and is answered with 204.",
        "Floor: bare `node:http` that commits together what one turn of the event loop brought.",
      ],
    };
  },
};
