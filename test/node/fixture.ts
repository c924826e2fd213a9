import { onTestFinished } from "vitest";
import { type NodeServerOptions, startNodeServer } from "../../lib/node/server.ts";
import type { StoredOrder } from "../../lib/orders/lifecycle.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createHandlerFixture } from "../http/fixture.ts";

/** Serves a fixture until the end of the test. `head` holds the Host and Authorization fields. */
export async function serve(limits: NodeServerOptions["limits"] = {}) {
  const store = createMemoryStore();
  const customLimits = { perMinute: 60_000, perDay: 1_000_000 };
  const shop = await createHandlerFixture({ store, plan: "enterprise", customLimits });
  const server = await startNodeServer({ handler: shop.handler, port: 0, limits });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const head = `Host: x\r\nAuthorization: Bearer ${shop.key}\r\n`;
  return { ...shop, store, server, url: server.url, head };
}

/** Pending orders with identifiers from 10. */
export function manyOrders(count: number): readonly StoredOrder[] {
  return Array.from({ length: count }, (_, id) => ({
    record: { id: BigInt(id) + 10n, petId: 1n, quantity: 1 },
    status: "pending",
  }));
}
