/**
 * Two processes on one SQLite file: a worker ships orders while the API cancels them. Every order ends in one state,
 * and both were told the same one.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAccounts } from "store-orders";
import { createHandler } from "store-orders/http";
import { createSqliteStore } from "store-orders/sqlite";
import type { Told } from "./told.ts";

const ORDERS = 400;
const folder = mkdtempSync(join(tmpdir(), "shipping-worker-"));
const path = join(folder, "orders.db");
const store = createSqliteStore({ path });
const handler = createHandler({ store });

const ids = Array.from({ length: ORDERS }, (_, index) => BigInt(index + 1));
await store.orders.place(ids.map((id) => ({ record: { id }, status: "pending" })));
const accounts = createAccounts({ store: store.accounts, environment: "test" });
await accounts.create("acme", { plan: "business" });
const issued = await accounts.issueKey("acme");
if (!issued.ok) throw new Error(issued.code);
const headers = { authorization: `Bearer ${issued.key}` };

/** Cancels as a client of the API does. */
async function cancel(id: bigint): Promise<Told> {
  const url = `http://localhost/v1/store/orders/${id}`;
  const response = await handler(new Request(url, { method: "DELETE", headers }));
  if (response.status === 204) return { id: `${id}`, status: "cancelled" };
  const { code } = (await response.json()) as { readonly code: string };
  return { id: `${id}`, status: code.replace("order_already_", "") };
}

const worker = fork(join(import.meta.dirname, "worker.ts"), [path]);
worker.once("exit", (code) => {
  if (code !== 0) throw new Error("The worker has died.");
});
await once(worker, "message");
const reported = once(worker, "message") as Promise<[readonly Told[]]>;
const byApi: Told[] = [];
// The worker begins with the oldest order, the clients with the newest: they meet in the middle.
for (const id of ids.toReversed()) byApi.push(await cancel(id));
const [byWorker] = await reported;

const states = new Map<string, string>();
for await (const page of store.orders.scan()) {
  for (const { record, status } of page) states.set(`${record.id}`, status);
}
const count = (status: string) => [...states.values()].filter((each) => each === status).length;
const misled = [...byApi, ...byWorker].filter(({ id, status }) => states.get(id) !== status);
process.stdout.write(`orders: ${states.size}, pending: ${count("pending")}\n`);
process.stdout.write(`shipped: ${count("shipped")}, cancelled: ${count("cancelled")}\n`);
process.stdout.write(`told something else than what is: ${misled.length}\n`);

await store.close();
rmSync(folder, { recursive: true });
