/**
 * Two processes on one SQLite file: a worker ships orders while the API cancels them. Every order ends in one status, and
 * both processes agree on it.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAccounts, eachOrder } from "store-orders";
import { createHandler } from "store-orders/http";
import { createSqliteStore } from "store-orders/sqlite";
import type { Result } from "./result.ts";

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

/** Cancels an order through the API. */
async function cancel(id: bigint): Promise<Result> {
  const url = `http://localhost/v1/store/orders/${id}`;
  const response = await handler(new Request(url, { method: "DELETE", headers }));
  if (response.status === 204) return { id: `${id}`, status: "cancelled" };
  const { code } = (await response.json()) as { readonly code: string };
  return { id: `${id}`, status: code.replace("order_already_", "") };
}

const worker = fork(join(import.meta.dirname, "worker.ts"), [path]);
worker.once("exit", (code) => {
  if (code !== 0) throw new Error("The worker failed.");
});
await once(worker, "message");
const workerDone = once(worker, "message") as Promise<[readonly Result[]]>;
const apiResults: Result[] = [];
// The worker starts with the oldest order, the API with the newest: they meet in the middle.
for (const id of ids.toReversed()) apiResults.push(await cancel(id));
const [workerResults] = await workerDone;

const statuses = new Map<string, string>();
for await (const page of eachOrder(store.orders)) {
  for (const { record, status } of page) statuses.set(`${record.id}`, status);
}
const count = (status: string) => [...statuses.values()].filter((each) => each === status).length;
const wrong = [...apiResults, ...workerResults].filter(({ id, status }) => statuses.get(id) !== status);
process.stdout.write(`orders: ${statuses.size}, pending: ${count("pending")}\n`);
process.stdout.write(`shipped: ${count("shipped")}, cancelled: ${count("cancelled")}\n`);
process.stdout.write(`wrong results: ${wrong.length}\n`);

await store.close();
rmSync(folder, { recursive: true });
