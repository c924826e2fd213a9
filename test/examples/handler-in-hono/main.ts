/** The whole API under a path of a Hono application, next to the application's own routes. */
import { once } from "node:events";
import { serve } from "@hono/node-server";
import { getConnInfo } from "@hono/node-server/conninfo";
import { Hono } from "hono";
import { createAccounts, createOrders } from "store-orders";
import { createHandler } from "store-orders/http";
import { createMemoryStore } from "store-orders/memory";

const store = createMemoryStore();
const handler = createHandler({ store });

const app = new Hono();
app.get("/", (context) => context.text("the home page"));
app.mount("/shop", handler, {
  // Unauthenticated callers are limited by IP address, which only the server knows.
  optionHandler: (context) => ({ address: getConnInfo(context).remote.address ?? "unknown" }),
});

const accounts = createAccounts({ store: store.accounts, environment: "test" });
await accounts.create("acme", { plan: "pro" });
const issued = await accounts.issueKey("acme");
if (!issued.ok) throw new Error(issued.code);
await createOrders({ store: store.orders }).place({ id: 2n ** 63n - 1n, petId: 3n });

const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
await once(server, "listening");
const address = server.address();
const port = typeof address === "object" && address !== null ? address.port : 0;

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
await call("/shop/openapi.json");
server.close();
