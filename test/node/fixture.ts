import { afterEach } from "vitest";
import { type NodeServer, type NodeServerOptions, startNodeServer } from "../../lib/node/server.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createHandlerFixture } from "../http/fixture.ts";

let server: NodeServer | undefined;
afterEach(() => server?.close({ graceMs: 0 }));

/** Serves a fixture until the end of the test. `head` holds the Host and Authorization fields. */
export async function serve(limits: NodeServerOptions["limits"] = {}) {
  const store = createMemoryStore();
  const customLimits = { perMinute: 60_000, perDay: 1_000_000 };
  const shop = await createHandlerFixture({ store, plan: "enterprise", customLimits });
  server = await startNodeServer({ handler: shop.handler, port: 0, limits });
  const head = `Host: x\r\nAuthorization: Bearer ${shop.key}\r\n`;
  return { ...shop, store, server, url: server.url, head };
}
