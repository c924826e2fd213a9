/** The whole API below /shop of a Next.js application. Its store lives as long as the process. */
import { hashKey } from "store-orders/accounts";
import { createHandler } from "store-orders/http";
import { createMemoryStore } from "store-orders/memory";
import { createOrders } from "store-orders/orders";

const store = createMemoryStore();
const handler = createHandler({ store, basePath: "/shop" });

const key = { id: "acme.secret", hash: hashKey(process.env.ACME_KEY ?? ""), createdAt: Date.now() };
const seeded = Promise.all([
  store.accounts.create({ id: "acme", plan: "pro", keys: [key] }),
  createOrders({ store: store.orders }).place({ id: 2n ** 63n - 1n, petId: 3n }),
]);

/** Reads the address that the proxy in front wrote. Without a proxy, callers could write it themselves. */
async function route(request) {
  await seeded;
  const address = request.headers.get("x-forwarded-for")?.split(",").at(-1)?.trim();
  return handler(request, address === undefined ? {} : { address });
}

export { route as DELETE, route as GET, route as HEAD, route as OPTIONS };
