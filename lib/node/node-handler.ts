import type { IncomingMessage, ServerResponse } from "node:http";
import type { ErrorCode } from "../errors.ts";
import type { Handler } from "../http/handler-options.ts";
import { callHandler } from "./call-handler.ts";
import { callerAddress } from "./caller-address.ts";
import { DEFAULT_CONNECTION_LIMITS } from "./connection-limits.ts";
import { discardBody, hasBody } from "./request-body.ts";
import { sendResponse } from "./send-response.ts";
import { targetOfRequest, validateRequest } from "./validate-request.ts";

/** Options of `toNodeHandler`. */
export interface NodeHandlerOptions {
  /**
   * Trusts exactly one proxy: reads the caller's address from the last entry of `X-Forwarded-For`, with or without a
   * port. @default false: the address of the connection
   */
  readonly trustProxy?: boolean;
}

/**
 * Mounts a handler in a server of your own on `node:http`, such as Express:
 *
 * ```ts
 * createServer(toNodeHandler(handler)).listen(8787);
 * ```
 *
 * The connection limits, the protection from pipelining and the graceful shutdown are your server's: `startNodeServer`
 * has its own. A body that no middleware has read is read to its end first, so that an incomplete request has no
 * effect.
 */
export function toNodeHandler(
  handler: Handler,
  { trustProxy = false }: NodeHandlerOptions = {},
): (req: IncomingMessage, res: ServerResponse) => void {
  async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const requestError = validateRequest(req) ?? (await receiveRest(req));
    if (requestError === "aborted") return;
    const response = await callHandler(handler, req, {
      target: targetOfRequest(req),
      ...callerAddress(req, trustProxy),
      ...(requestError === undefined ? {} : { requestError }),
    });
    await sendResponse(response, res, DEFAULT_CONNECTION_LIMITS.writeTimeoutMs);
  }

  // The handler never rejects. Whatever fails here is a defect and closes the connection.
  return (req, res) => void respond(req, res).catch(() => req.socket.destroy());
}

/** Receives what a middleware has left of the body. */
async function receiveRest(req: IncomingMessage): Promise<ErrorCode | "aborted" | undefined> {
  if (req.complete || !hasBody(req)) return undefined;
  if (req.destroyed) return "aborted";
  const body = await discardBody(req);
  if (body === "complete") return undefined;
  return body === "aborted" ? "aborted" : body.error;
}
