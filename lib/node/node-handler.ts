import type { IncomingMessage, ServerResponse } from "node:http";
import type { Handler } from "../http/handler-options.ts";
import { callHandler } from "./call-handler.ts";
import { DEFAULT_CONNECTION_LIMITS } from "./connection-limits.ts";
import { sendResponse } from "./send-response.ts";
import { targetOfRequest, validateRequest } from "./validate-request.ts";

/**
 * Mounts a handler in a server of your own on `node:http`, such as Express:
 *
 * ```ts
 * createServer(toNodeHandler(handler)).listen(8787);
 * ```
 *
 * The caller's address is that of the connection. The connection limits and the graceful shutdown are your server's:
 * `startNodeServer` has its own.
 */
export function toNodeHandler(handler: Handler): (req: IncomingMessage, res: ServerResponse) => void {
  async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const address = req.socket.remoteAddress;
    const malformed = validateRequest(req);
    const response = await callHandler(handler, req, {
      target: targetOfRequest(req),
      ...(address === undefined ? {} : { address }),
      ...(malformed === undefined ? {} : { malformed }),
    });
    await sendResponse(response, res, DEFAULT_CONNECTION_LIMITS.writeTimeoutMs);
  }

  // The handler never rejects. Whatever fails here is a defect and closes the connection.
  return (req, res) => void respond(req, res).catch(() => req.socket.destroy());
}
