/**
 * A worker on a database, until it is killed: `worker-process.ts ADDRESS`, as JSON. Reports that it is ready, receives
 * its job from the parent, and reports each change that the store has acknowledged.
 */
import { once } from "node:events";
import { createAccounts } from "../../../lib/accounts/accounts.ts";
import { importOrders, splitLines } from "../../../lib/orders/import.ts";
import { openStore, type StoreAddress } from "../../support/store-address.ts";
import { instantOf } from "./fixture.ts";

/** The job of a worker: ship and fulfil orders, import lines, or create accounts and issue keys. */
export type Job =
  | { readonly ship: readonly bigint[] }
  | { readonly lines: string }
  | { readonly accounts: readonly string[]; readonly keysEach: number };

/** What the store has acknowledged: how many changes of an order, the lines up to one, an account, or a key. */
export type Acknowledgement =
  | { readonly id: bigint; readonly changes: number }
  | { readonly upToLine: number }
  | { readonly account: string; readonly key?: string };

const CALLS_AT_ONCE = 4;

const store = await openStore(JSON.parse(process.argv[2] ?? "") as StoreAddress);
const report = (message: Acknowledgement | "ready") => process.send?.(message);
report("ready");
const [job] = (await once(process, "message")) as [Job];
if ("ship" in job) await ship(job.ship);
else if ("lines" in job) await importLines(job.lines);
else await issueKeys(job.accounts, job.keysEach);
await store.close();
process.disconnect();

async function ship(ids: readonly bigint[]): Promise<void> {
  const remaining = ids.values();
  const work = async () => {
    for (const id of remaining)
      for (const [index, event] of (["ship", "fulfil"] as const).entries()) {
        const result = await store.orders.apply(id, event, instantOf(id));
        if (!result.ok) throw new Error(`${event} ${id}: ${result.code}`);
        report({ id, changes: index + 1 });
      }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, work));
}

async function importLines(lines: string): Promise<void> {
  async function* source() {
    yield Buffer.from(lines);
  }
  for await (const { line, rejected } of importOrders(splitLines(source()), store.orders)) {
    if (rejected > 0) throw new Error(`${rejected} lines were rejected.`);
    report({ upToLine: line });
  }
}

async function issueKeys(ids: readonly string[], keysEach: number): Promise<void> {
  const accounts = createAccounts({ store: store.accounts, environment: "test" });
  for (const account of ids) {
    const created = await accounts.create(account, { plan: "free" });
    if (!created.ok) throw new Error(`${account}: ${created.code}`);
    report({ account });
    for (let issued = 0; issued < keysEach; issued++) {
      const result = await accounts.issueKey(account);
      if (!result.ok) throw new Error(`${account}: ${result.code}`);
      report({ account, key: result.key });
    }
  }
}
