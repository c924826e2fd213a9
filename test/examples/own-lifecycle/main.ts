/**
 * A shop with orders of its own: UUIDs, customers, a life cycle. The keys, limits and bans are those of store-orders, in
 * the same database. It needs PostgreSQL: `DATABASE_URL=postgres://… npm start`.
 */
import { createAccounts } from "store-orders";
import { createHandler } from "store-orders/http";
import { createPostgresStore } from "store-orders/postgres";
import { cancelOwnOrder, listOwnOrders, placeOrder } from "./operations.ts";
import { apply, deliverNext, pool } from "./orders.ts";

const store = createPostgresStore({ pool });
const handler = createHandler({
  store,
  operations: [placeOrder, listOwnOrders, cancelOwnOrder],
  openapi: { title: "Pet Shop", contact: { email: "api@shop.example" } },
});

const accounts = createAccounts({ store: store.accounts, environment: "test" });
/** Sends requests with the key of a new account, and prints the responses. */
async function open(account: string) {
  await accounts.create(account, { plan: "free" });
  const issued = await accounts.issueKey(account);
  if (!issued.ok) throw new Error(issued.code);
  const headers = { authorization: `Bearer ${issued.key}`, "content-type": "application/json" };
  return async (method: string, path: string, body?: object) => {
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await handler(new Request(`http://localhost/v1${path}`, init));
    const text = await response.text();
    process.stdout.write(
      `${account}: ${method} ${response.status} ${text.replace(/[0-9a-f-]{36}/g, "<id>")}\n`,
    );
    return text;
  };
}

const acme = await open("acme");
const globex = await open("globex");
const { id } = JSON.parse(await acme("POST", "/orders", { items: ["cat"] }));
const { id: other } = JSON.parse(await acme("POST", "/orders", { items: ["dog", "leash"] }));
await globex("GET", "/orders");
await globex("DELETE", `/orders/${id}`);
await acme("DELETE", "/orders/1001");

await apply("acme", id, "pay");
await apply("acme", other, "pay");
await apply("acme", other, "pack");
await acme("DELETE", `/orders/${id}`);
await acme("DELETE", `/orders/${id}`);
await acme("DELETE", `/orders/${other}`);
await acme("GET", "/orders");

const failed = await deliverNext(() => Promise.reject(new Error("not reachable"))).catch(
  (error) => error.message,
);
process.stdout.write(`the first delivery: ${failed}\n`);
const delivered: string[] = [];
while (
  await deliverNext(async ({ event, refund }) => void delivered.push(refund ? `${event} and refund` : event))
);
process.stdout.write(`delivered: ${delivered.join(", ")}\n`);
const document = JSON.parse(await (await handler(new Request("http://localhost/openapi.json"))).text());
process.stdout.write(`${document.info.title}: ${Object.keys(document.paths).join(", ")}\n`);
await pool.end();
