/** Keys, plans and limits for the routes of an Express application, whose callers keep the keys that they have. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import { createAccounts, hashKey } from "store-orders/accounts";
import { createGate } from "store-orders/http";
import { createMemoryStore } from "store-orders/memory";

const store = createMemoryStore();
const plans = { trial: { perMinute: 100, perDay: 2 } };
const gate = createGate({ store, plans, keys: { headers: ["x-api-key"] } });

const app = express();
app.use(async (request, response, next) => {
  const access = await gate(request, { address: request.ip });
  response.set(access.ok ? access.headers : access.response.headers);
  if (!access.ok) return void response.status(access.response.status).send(access.response.body);
  response.locals["caller"] = access.caller;
  next();
});
app.get("/reports", (_, response) => void response.json(response.locals["caller"].accountId));

const accounts = createAccounts({ store: store.accounts, environment: "test", plans });
await accounts.create("acme", { plan: "trial" });
await accounts.importKey("acme", { hash: hashKey("sk_live_11c9") });

const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;

for (const key of ["sk_live_11c9", "sk_live_11c9", "sk_live_11c9", "made-up"]) {
  const response = await fetch(`http://127.0.0.1:${port}/reports`, { headers: { "x-api-key": key } });
  const remaining = response.headers.get("x-ratelimit-remaining");
  process.stdout.write(`${response.status} ${await response.text()} remaining: ${remaining}\n`);
}
server.close();
