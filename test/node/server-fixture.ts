import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import type { Handler } from "../../lib/http/options.ts";
import { type NodeServerOptions, startNodeServer } from "../../lib/node/server.ts";
import { createHandlerFixture } from "../http/fixture.ts";

/** Serves a fixture until the end of the test. */
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
  return { ...shop, server, url: server.url, raw, headers, port: Number(port), hostname };
}
