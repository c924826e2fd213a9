/** The whole API under a path of a Fastify application, next to the application's own routes. */
import type { AddressInfo } from "node:net";
import { fastify } from "fastify";
import { createAccounts, createOrders } from "store-orders";
import { createHandler } from "store-orders/http";
import { createMemoryStore } from "store-orders/memory";
import { toNodeHandler } from "store-orders/node";

const store = createMemoryStore();
const handler = createHandler({ store, basePath: "/shop" });
const serve = toNodeHandler(handler);

const app = fastify();
app.get("/", async () => "the home page");
app.all("/shop/*", {
  // Before Fastify reads a body. After hijack() it leaves the response to the handler.
  onRequest(request, reply) {
    reply.hijack();
    serve(request.raw, reply.raw);
  },
  handler() {},
});

const accounts = createAccounts({ store: store.accounts, environment: "test" });
await accounts.create("acme", { plan: "pro" });
const issued = await accounts.issueKey("acme");
if (!issued.ok) throw new Error(issued.code);
await createOrders({ store: store.orders }).place({ id: 2n ** 63n - 1n, petId: 3n });

await app.listen({ port: 0, host: "127.0.0.1" });
const { port } = app.server.address() as AddressInfo;

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
await app.close();
