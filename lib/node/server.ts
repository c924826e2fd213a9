/**
 * Serves a handler over `node:http`.
 *
 * ```ts
 * const server = await startNodeServer({ handler, port: 8787 });
 * process.once("SIGTERM", () => server.close());
 * ```
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { FastResponse, NodeRequest } from "srvx/node";
import type { ErrorCode } from "../errors.ts";
import type { Handler } from "../http/handler.ts";
import type { ResponseClass } from "../http/response.ts";
import { type Connection, trackConnection } from "./connection.ts";
import { type ConnectionLimits, limitsWith, MAX_HEADER_BYTES } from "./connection-limits.ts";
import { hasBody } from "./request-body.ts";
import { sendAndClose } from "./send-and-close.ts";
import { sendResponse } from "./send-response.ts";
import { shutDown } from "./shut-down.ts";
import { validateRequest } from "./validate-request.ts";

/** Give it to `createHandler` for answers that go to the socket without the detour over a full `Response`. */
export const NodeResponse: ResponseClass = FastResponse;

/** How a handler is served. */
export interface NodeServerOptions {
  readonly handler: Handler;
  /** @default 127.0.0.1 */
  readonly host?: string;
  /** 0 takes any free port. @default 8787 */
  readonly port?: number;
  /** Takes the caller's address from the last entry of `X-Forwarded-For`. @default false */
  readonly trustProxy?: boolean;
  /** What one client may take of the server. @default DEFAULT_CONNECTION_LIMITS */
  readonly limits?: Partial<ConnectionLimits>;
}

/** A server that is listening. */
export interface NodeServer {
  /** Its address, without a path. */
  readonly url: string;
  /** Takes no more connections, lets requests finish for `grace` milliseconds (10 s), then cuts off the rest. */
  close(options?: { readonly grace?: number }): Promise<void>;
}

/** Starts to listen. Rejects where the address cannot be taken, and with `InvalidInputError` for a limit that is none. */
export async function startNodeServer(options: NodeServerOptions): Promise<NodeServer> {
  const { handler, host = "127.0.0.1", port = 8787, trustProxy = false } = options;
  const limits = limitsWith(options.limits);
  const connections = new Map<Socket, Connection>();
  let closing = false;

  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1_000, Math.ceil(limits.headersTimeoutMs / 4)),
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    insecureHTTPParser: false,
    // Node would refuse it without a body; what it lets pass is looked at here.
    requireHostHeader: false,
  });
  server.maxHeadersCount = 0;
  // A client that says no more still reads (RFC 9112, section 9.6); Node would cut off its answer. Not in Node's types.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.maxConnections = limits.maxConnections;
  server.on("connection", (socket) => {
    connections.set(socket, trackConnection(socket));
    socket.once("close", () => connections.delete(socket));
    // Node takes its own listener away from a connection that it gives up, on which a reset would end the process.
    socket.on("error", () => {});
  });

  /** Answers one request in its turn, once it is there. What fails here is a defect, and costs the connection. */
  function onRequest(req: IncomingMessage, res: ServerResponse, expectation?: "continue" | "unknown"): void {
    answer(req, res, expectation).catch(() => req.socket.destroy());
  }

  async function answer(req: IncomingMessage, res: ServerResponse, expectation?: "continue" | "unknown") {
    const conversation = connections.get(req.socket);
    if (conversation === undefined || !(await conversation.waitForTurn(res))) return;
    const request = new NodeRequest({ req, res });
    const context = contextOf(req);
    const reject = async (malformed: ErrorCode) => {
      req.resume();
      await sendAndClose(
        await handler(request, { ...context, malformed }),
        req.socket,
        limits.lingerTimeoutMs,
      );
    };

    const fault = expectation === "unknown" ? "expectation_failed" : validateRequest(req, request);
    if (fault !== undefined) return reject(fault);
    if (expectation === "continue" && hasBody(req)) res.writeContinue();
    const arrival = await conversation.receiveBody(req);
    if (arrival === "left") return;
    if (arrival !== "whole") return reject(arrival.fault);

    const response = await handler(request, context);
    if (closing && conversation.isLast(res)) res.shouldKeepAlive = false;
    await sendResponse(response, res, limits.writeTimeoutMs);
  }

  function contextOf(req: IncomingMessage) {
    const forwarded = trustProxy ? lastOf(req.headers["x-forwarded-for"]) : undefined;
    return addressOf(forwarded ?? req.socket.remoteAddress);
  }

  /** Answers a connection of which no request can be made: the same body and headers as any other error. */
  async function rejectConnection(socket: Duplex, malformed: ErrorCode): Promise<void> {
    const conversation = connections.get(socket as Socket);
    if (conversation === undefined || !(await conversation.onParserError(malformed))) return;
    const context = { ...addressOf((socket as Socket).remoteAddress), malformed };
    await sendAndClose(
      await handler(new Request("http://localhost/"), context),
      socket,
      limits.lingerTimeoutMs,
    );
  }

  server.on("request", onRequest);
  server.on("checkContinue", (req, res) => onRequest(req, res, "continue"));
  server.on("checkExpectation", (req, res) => onRequest(req, res, "unknown"));
  server.on("connect", (_req, socket) => void rejectConnection(socket, "bad_request"));
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    void rejectConnection(socket, CLIENT_ERRORS[error.code ?? ""] ?? "bad_request");
  });

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    close({ grace = 10_000 } = {}) {
      closing = true;
      return shutDown({ server, connections, grace });
    },
  };
}

/** What Node's parser gives up on, and what it is answered with. */
const CLIENT_ERRORS: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: "headers_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
};

function addressOf(address: string | undefined): { readonly address?: string } {
  return address === undefined ? {} : { address };
}

/** The nearest proxy writes the last entry; what stands before it, a client can have made up. */
function lastOf(forwardedFor: string | readonly string[] | undefined): string | undefined {
  return `${forwardedFor ?? ""}`.split(",").at(-1)?.trim() || undefined;
}
