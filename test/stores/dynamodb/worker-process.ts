/**
 * One of several processes on the same tables: `worker-process.ts ENDPOINT PREFIX`. The parent sends a task. The process
 * connects, reports that it is ready, and runs the task when the parent sends `go`.
 */
import { once } from "node:events";
import type { OrderEvent } from "../../../lib/orders/lifecycle.ts";
import { createDynamodbStore } from "../../../lib/stores/dynamodb/index.ts";
import { clientFor } from "../../support/dynamodb/emulator.ts";

/** A task. Its result is the outcome of each admission, or the identifiers of the orders whose event succeeded. */
export type Task =
  | {
      readonly admit: {
        readonly accountId: string;
        readonly hash: string;
        readonly at: number;
        readonly calls: number;
      };
    }
  | { readonly apply: { readonly event: OrderEvent; readonly orders: number; readonly at: number } };

const [endpoint = "", prefix = ""] = process.argv.slice(2);
const { orders, accounts } = createDynamodbStore({ prefix, client: clientFor(endpoint) });
const [task] = (await once(process, "message")) as [Task];
await orders.find(-1n);
process.send?.("ready");
await once(process, "message");
process.send?.(await perform(task));
process.disconnect();

async function perform(task: Task): Promise<readonly string[]> {
  if ("admit" in task) {
    const { accountId, hash, at, calls } = task.admit;
    const outcomes: string[] = [];
    // Five at a time: contention within the process as well as between processes.
    const caller = async () => {
      for (let call = 0; call < calls / 5; call++) {
        const policy = { maxRejections: 1_000, durationMs: 1 };
        const admission = await accounts.admit({ accountId, hash }, at, policy);
        outcomes.push(admission.ok ? "admitted" : admission.code);
      }
    };
    await Promise.all(Array.from({ length: 5 }, caller));
    return outcomes;
  }
  const { event, at } = task.apply;
  const succeeded: string[] = [];
  const all = Array.from({ length: task.apply.orders }, (_, id) => BigInt(id));
  // Start at both ends, so that each event succeeds for some orders however the processes are scheduled.
  if (event === "ship") all.reverse();
  for (let from = 0; from < all.length; from += 20) {
    const ids = all.slice(from, from + 20);
    const results = await Promise.all(ids.map((id) => orders.apply(id, event, at)));
    succeeded.push(...ids.filter((_, index) => results[index]?.ok).map(String));
  }
  return succeeded;
}
