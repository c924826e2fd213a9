/** The service with two operations of its own: one places an order, the other reads it. */
import { createAccounts } from "store-orders";
import { createHandler, OPERATIONS } from "store-orders/http";
import { createMemoryStore } from "store-orders/memory";
import { startNodeServer } from "store-orders/node";
import { placeOrder, readOrder } from "./operations.ts";

const store = createMemoryStore();
const accounts = createAccounts({ store: store.accounts, environment: "test" });
await accounts.create("acme", { plan: "pro" });
const issued = await accounts.issueKey("acme");
if (!issued.ok) throw new Error(issued.code);

const handler = createHandler({ store, operations: [...OPERATIONS, placeOrder, readOrder] });
const server = await startNodeServer({ handler, port: 0 });
const url = `${server.url}/v1/store/orders`;
const headers = { authorization: `Bearer ${issued.key}`, "content-type": "application/json" };

async function show(response: Response): Promise<void> {
  const text = (await response.text()).slice(0, 150);
  process.stdout.write(`${response.status} ${response.headers.get("location") ?? "-"} ${text}\n`);
}

const order = '{ "id": 9223372036854775807, "petId": 3, "quantity": 2 }';
const placed = await fetch(url, { method: "POST", headers, body: order });
await show(placed);
await show(await fetch(url, { method: "POST", headers, body: order }));
await show(await fetch(new URL(placed.headers.get("location") ?? "", url), { headers }));
await show(await fetch(url, { method: "POST", headers, body: order.replace('"petId": 3', '"petId": 4') }));
await show(await fetch(url, { method: "POST", headers, body: '{ "id": 8, "quantity": -1 }' }));
await show(await fetch(url, { method: "POST", headers, body: '{ "id": 8, "complete": true }' }));
await show(await fetch(url, { method: "POST", headers: { ...headers, authorization: "" }, body: order }));
await show(await fetch(url, { headers }));
await server.close();
