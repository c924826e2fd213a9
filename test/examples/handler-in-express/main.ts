/** The whole API under a path of an Express application, next to the application's own routes. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import { createAccounts, createOrders } from "store-orders";
import { createHandler } from "store-orders/http";
import { createMemoryStore } from "store-orders/memory";
import { toNodeHandler } from "store-orders/node";

const store = createMemoryStore();
const handler = createHandler({ store });

const app = express();
app.get("/", (_, response) => void response.send("the home page"));
// Express removes /shop from the path, so the handler needs no basePath. Mount it before any body parser.
app.use("/shop", toNodeHandler(handler));

const accounts = createAccounts({ store: store.accounts, environment: "test" });
await accounts.create("acme", { plan: "pro" });
const issued = await accounts.issueKey("acme");
if (!issued.ok) throw new Error(issued.code);
await createOrders({ store: store.orders }).place({ id: 2n ** 63n - 1n, petId: 3n });

const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;

async function call(path: string, init: RequestInit = {}): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
  const limit = response.headers.get("x-ratelimit-limit") ?? "-";
  process.stdout.write(`${response.status} ${(await response.text()).slice(0, 60)} limit: ${limit}\n`);
}

const headers = { authorization: `Bearer ${issued.key}` };
await call("/");
await call("/shop/v1/store/orders", { headers });
await call("/shop/v1/store/orders/9223372036854775807", { method: "DELETE", headers });
await call("/shop/v1/store/orders");
await call("/shop/readyz");
server.close();
