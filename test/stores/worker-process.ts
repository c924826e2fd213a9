/**
 * One of several processes on a database: `worker-process.ts ADDRESS`, as JSON. It opens the store, reports that it is
 * ready, performs each task that the parent sends, and reports its result.
 */
import { once } from "node:events";
import type { OrderEvent } from "../../lib/orders/lifecycle.ts";
import { openStore, type StoreAddress } from "../support/store-address.ts";

/** A task. Its result is a list of outcomes: of each admission, or of the event by order. */
export type Task =
  | {
      readonly admit: { readonly accountId: string; readonly hash: string };
      readonly at: number;
      readonly calls: number;
    }
  | { readonly apply: OrderEvent; readonly at: number; readonly orders: number };

const CALLS_AT_ONCE = 5;

const store = await openStore(JSON.parse(process.argv[2] ?? "") as StoreAddress);
await store.orders.find(-1n);
process.send?.("ready");
const [task] = (await once(process, "message")) as [Task];
process.send?.(await ("admit" in task ? admitAll(task) : applyAll(task)));
await store.close();
process.disconnect();

async function admitAll({ admit, at, calls }: Extract<Task, { admit: unknown }>): Promise<readonly string[]> {
  const policy = { maxRejections: 10_000, durationMs: 1 };
  return inLanes(Array.from({ length: calls }), async () => {
    const admission = await store.accounts.admit(admit, at, policy);
    return admission.ok ? "admitted" : admission.code;
  });
}

async function applyAll({
  apply,
  at,
  orders,
}: Extract<Task, { apply: unknown }>): Promise<readonly string[]> {
  const ids = Array.from({ length: orders }, (_, id) => BigInt(id));
  // Start at both ends, so that each event succeeds for some orders however the processes are scheduled.
  const outcomes = await inLanes(apply === "ship" ? ids.toReversed() : ids, async (id) => {
    const result = await store.orders.apply(id, apply, at);
    return result.ok ? "succeeded" : result.code;
  });
  return apply === "ship" ? outcomes.toReversed() : outcomes;
}

async function inLanes<T>(items: readonly T[], work: (item: T) => Promise<string>): Promise<string[]> {
  const outcomes: string[] = [];
  const remaining = items.entries();
  const lane = async () => {
    for (const [index, item] of remaining) outcomes[index] = await work(item);
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, lane));
  return outcomes;
}
