/** Keys, plans and limits for the routes of a Hono application, whose callers keep the keys that they have. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { getConnInfo } from "@hono/node-server/conninfo";
import { Hono } from "hono";
import { createAccounts, hashKey } from "store-orders/accounts";
import { createGate } from "store-orders/http";
import { createMemoryStore } from "store-orders/memory";

const store = createMemoryStore();
const plans = { trial: { perMinute: 100, perDay: 2 } };
const gate = createGate({ store, plans, keys: { headers: ["x-api-key"] } });

const app = new Hono<{ Variables: { account: string } }>();
app.use(async (context, next) => {
  const access = await gate(context.req.raw, { address: getConnInfo(context).remote.address });
  if (!access.ok) return new Response(access.response.body, access.response);
  context.set("account", access.caller.accountId);
  await next();
  for (const [name, value] of Object.entries(access.headers)) context.header(name, value);
});
app.get("/reports", (context) => context.json(context.get("account")));

const accounts = createAccounts({ store: store.accounts, environment: "test", plans });
await accounts.create("acme", { plan: "trial" });
await accounts.importKey("acme", { hash: hashKey("sk_live_11c9") });

const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
await once(server, "listening");
const { port } = server.address() as AddressInfo;

for (const key of ["sk_live_11c9", "sk_live_11c9", "sk_live_11c9", "made-up"]) {
  const response = await fetch(`http://127.0.0.1:${port}/reports`, { headers: { "x-api-key": key } });
  const remaining = response.headers.get("x-ratelimit-remaining");
  process.stdout.write(`${response.status} ${await response.text()} remaining: ${remaining}\n`);
}
server.close();
