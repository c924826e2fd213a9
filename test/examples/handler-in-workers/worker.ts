/** The service as a Cloudflare Worker, without Node compatibility. Its store lives as long as the isolate. */
import { hashKey } from "store-orders/accounts";
import { createHandler } from "store-orders/http";
import { createMemoryStore } from "store-orders/memory";
import { createOrders } from "store-orders/orders";

interface Env {
  /** The key of the account `acme`, from a secret. */
  readonly ACME_KEY: string;
}

const store = createMemoryStore();
const handler = createHandler({ store });
let seeded: Promise<unknown> | undefined;

async function seed({ ACME_KEY }: Env): Promise<void> {
  const key = { id: "acme.secret", hash: hashKey(ACME_KEY), createdAt: Date.now() };
  await store.accounts.create({ id: "acme", plan: "pro", keys: [key] });
  await createOrders({ store: store.orders }).place({ id: 2n ** 63n - 1n, petId: 3n });
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    seeded ??= seed(env);
    await seeded;
    return handler(request, { address: request.headers.get("cf-connecting-ip") ?? "unknown" });
  },
};
