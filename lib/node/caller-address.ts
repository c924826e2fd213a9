import type { IncomingMessage } from "node:http";

/**
 * The address of a caller for `RequestContext`: that of the connection or, behind exactly one trusted proxy, the last
 * entry of `X-Forwarded-For`. That one comes from the proxy; a client can forge those before it.
 */
export function callerAddress(req: IncomingMessage, trustProxy: boolean): { readonly address?: string } {
  const forwarded = trustProxy ? `${req.headers["x-forwarded-for"] ?? ""}`.split(",").at(-1)?.trim() : "";
  const address = forwarded || req.socket.remoteAddress;
  return address === undefined ? {} : { address };
}
