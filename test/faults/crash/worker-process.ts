/**
 * A worker on a database, until it is killed: `worker-process.ts ADDRESS`, as JSON. Reports that it is ready, receives
 * its job from the parent, and reports each change that the store has acknowledged.
 */
import { once } from "node:events";
import { createAccounts } from "../../../lib/accounts/accounts.ts";
import { importOrders, splitLines } from "../../../lib/orders/import.ts";
import type { OrderStatus } from "../../../lib/orders/lifecycle.ts";
import { openStore, type StoreAddress } from "../../support/store-address.ts";
import { instantOf } from "./ledger.ts";

/** The job of a worker: ship and fulfil orders, import lines, or create accounts and issue keys. */
export type Job =
  | { readonly ship: readonly bigint[]; readonly fulfil: ReadonlySet<bigint> }
  | { readonly lines: string }
  | { readonly accounts: readonly string[]; readonly keysEach: number };

/** A change that the store has acknowledged to a worker. */
export type Acknowledgement =
  | {
      readonly id: bigint;
      readonly moved: boolean;
      readonly status: OrderStatus;
      readonly complete?: boolean;
    }
  | { readonly upToLine: number }
  | { readonly account: string; readonly key?: string };

const CALLS_AT_ONCE = 4;

const store = await openStore(JSON.parse(process.argv[2] ?? "") as StoreAddress);
const report = (message: Acknowledgement | "ready") => process.send?.(message);
report("ready");
const [job] = (await once(process, "message")) as [Job];
if ("ship" in job) await ship(job.ship, job.fulfil);
else if ("lines" in job) await importLines(job.lines);
else await issueKeys(job.accounts, job.keysEach);
await store.close();
process.disconnect();

async function ship(ids: readonly bigint[], fulfil: ReadonlySet<bigint>): Promise<void> {
  const remaining = ids.values();
  const work = async () => {
    for (const id of remaining) {
      const shipped = await store.orders.apply(id, "ship", instantOf(id));
      if (!shipped.ok && shipped.code === "order_not_found") throw new Error(`There is no order ${id}.`);
      report({ id, moved: shipped.ok, status: shipped.ok ? shipped.order.status : shipped.status });
      if (!shipped.ok || !fulfil.has(id)) continue;
      const fulfilled = await store.orders.apply(id, "fulfil", instantOf(id));
      if (fulfilled.ok) report({ id, moved: false, status: "shipped", complete: true });
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, work));
}

async function importLines(lines: string): Promise<void> {
  const chunks = [Buffer.from(lines)];
  async function* source() {
    yield* chunks;
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
