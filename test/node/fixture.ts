import { createServer, type RequestListener } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import type { Handler } from "../../lib/http/options.ts";
import { type NodeServerOptions, startNodeServer } from "../../lib/node/server.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createHandlerFixture } from "../http/fixture.ts";
import { listenOn } from "../support/free-port.ts";

/** Serves a fixture until the end of the test. `head` holds the Host and Authorization fields. */
export async function serve(
  options: Parameters<typeof createHandlerFixture>[0] &
    Pick<NodeServerOptions, "trustProxy" | "limits"> & { wrap?: (handler: Handler) => Handler } = {},
) {
  const { trustProxy = false, limits = {}, wrap = (handler) => handler, ...rest } = options;
  const shop = await createHandlerFixture(rest);
  const server = await startNodeServer({ handler: wrap(shop.handler), port: 0, trustProxy, limits });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const { hostname, port } = new URL(server.url);
  /** Sends the bytes unchanged and returns everything that comes back. */
  const raw = async (bytes: string) => {
    const socket = connect(Number(port), hostname);
    socket.write(bytes);
    return text(socket);
  };
  const headers = { authorization: `Bearer ${shop.key}` };
  const head = `Host: x\r\nAuthorization: Bearer ${shop.key}\r\n`;
  return { ...shop, server, url: server.url, raw, headers, head, port: Number(port), hostname };
}

/** Serves a fixture whose key has no limits that a test could reach. */
export async function serveUnlimited(limits: NodeServerOptions["limits"] = {}) {
  const store = createMemoryStore();
  const customLimits = { perMinute: 60_000, perDay: 1_000_000 };
  return { ...(await serve({ store, plan: "enterprise", customLimits, limits })), store };
}

/** Serves a listener of `node:http` until the end of the test. Returns its URL. */
export async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  onTestFinished(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${await listenOn(server)}`;
}
