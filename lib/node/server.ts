import { readFileSync } from "node:fs";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
// The global ones can be faked by a test, which would then wait for the connections of its server.
import { clearInterval, clearTimeout, setInterval, setTimeout } from "node:timers";
import { assertOptions, invalidInput } from "../core/errors.ts";
import { assertLimits, MAX_TIMER_MS } from "../core/time.ts";
import { BODY_METHODS } from "../http/body.ts";
import { callHandler } from "../http/call-handler.ts";
import type { ErrorCode } from "../http/errors.ts";
import type { Handler } from "../http/options.ts";
import { Connection, type HeldInput } from "./connection.ts";
import { type NodeHandlerOptions, NodeRequestHead } from "./handler.ts";
import {
  type ConnectionLimits,
  DEFAULT_CONNECTION_LIMITS,
  MAX_HEADER_BYTES,
  MAX_HEADER_FIELDS,
} from "./limits.ts";
import { createServer, listen } from "./listen.ts";
import { callerAddress, countProxies, hasBody, parserErrorCode, validateRequest } from "./request.ts";
import { sendAndClose, sendResponse } from "./response.ts";

/** Options of `startNodeServer`. */
export interface NodeServerOptions extends NodeHandlerOptions {
  readonly handler: Handler;
  /** The address to listen on. @default 127.0.0.1 */
  readonly host?: string;
  /** The port to listen on; 0 chooses a free one. @default 8787 */
  readonly port?: number;
  /** Limits on the resources that one client can occupy. @default DEFAULT_CONNECTION_LIMITS */
  readonly limits?: Partial<ConnectionLimits>;
}

/** A listening server. */
export interface NodeServer {
  /** The address of the server, without a path. */
  readonly url: string;
  /** The connections that were closed at once, for lack of `maxConnections` or file descriptors. */
  readonly refusedConnections: number;
  /**
   * Waits for requests to finish, and closes the rest after `graceMs` (10 s; `Infinity` means never). Rejects with
   * `InvalidInputError` if that is not a time.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Starts a server. Rejects if the address is in use, and with `InvalidInputError` if an option is invalid. */
export async function startNodeServer(options: NodeServerOptions): Promise<NodeServer> {
  assertOptions(options, ["handler", "host", "port", "trustProxy", "limits"]);
  const { handler, host = "127.0.0.1", port = 8787, trustProxy = false } = options;
  const proxies = countProxies(trustProxy);
  const limits = { ...DEFAULT_CONNECTION_LIMITS, ...options.limits };
  assertLimits(limits, "limits.");
  const connections = new Map<Socket, Connection>();
  const heldInput: HeldInput = { bytes: 0, connections: new Set() };
  let closing = false;
  let refusedConnections = 0;
  const onRefused = () => void refusedConnections++;

  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1_000, Math.ceil(limits.headersTimeoutMs / 4)),
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    insecureHTTPParser: false,
    // `validateRequest` checks the field; Node would send a 400 without an Error body.
    requireHostHeader: false,
  });
  // Node silently drops the fields above this count; `validateRequest` rejects a request that reaches it.
  server.maxHeadersCount = MAX_HEADER_FIELDS + 1;
  // A half-closed client can still receive (RFC 9112, section 9.6), but Node would close it. Not in Node's types.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.maxConnections = Math.min(limits.maxConnections, maxDescriptors());
  server.on("drop", onRefused);
  server.on("connection", (socket) => {
    connections.set(socket, new Connection(socket, heldInput));
    socket.once("close", () => connections.delete(socket));
    // After a parser error Node removes its own listener, and a reset would then end the process.
    socket.on("error", () => {});
  });

  /** Handles one request. An error here, such as that of a function around the handler, closes the connection. */
  function onRequest(req: IncomingMessage, res: ServerResponse, expectation?: "continue" | "unknown"): void {
    respond(req, res, expectation).catch(() => req.socket.destroy());
  }

  async function respond(req: IncomingMessage, res: ServerResponse, expectation?: "continue" | "unknown") {
    const connection = connections.get(req.socket);
    if (connection === undefined) return;
    connection.begin(req, res);
    const head = new NodeRequestHead(req);
    const { target } = head;
    const context = { ...callerAddress(req, proxies), target };
    const reject = async (requestError: ErrorCode) => {
      connection.stop();
      const response = await callHandler(handler, head, { ...context, requestError });
      await sendAndClose(response, req.socket);
    };

    const invalid = expectation === "unknown" ? "expectation_failed" : validateRequest(req);
    if (invalid !== undefined) return reject(invalid);
    if (hasBody(req) && BODY_METHODS.has(head.method)) {
      head.body = connection.readBody(req, expectation === "continue");
    } else if (hasBody(req)) {
      if (expectation === "continue") res.writeContinue();
      const failure = await connection.receiveBody(req);
      if (failure === "aborted") return;
      if (failure !== undefined) return reject(failure);
    }

    const response = await callHandler(handler, head, context);
    if (closing && !connection.hasMore()) res.shouldKeepAlive = false;
    if (head.body === undefined || req.complete) return sendResponse(response, res, limits.writeTimeoutMs);
    // The rest of a body that nobody reads must not be taken for a request.
    connection.stop();
    await sendAndClose(response, req.socket);
  }

  async function rejectConnection(socket: Duplex, requestError: ErrorCode): Promise<void> {
    const connection = connections.get(socket as Socket);
    if (connection === undefined || !(await connection.onParserError(requestError))) return;
    const context = { address: (socket as Socket).remoteAddress, requestError };
    await sendAndClose(await callHandler(handler, undefined, context), socket);
  }

  server.on("request", onRequest);
  server.on("checkContinue", (req, res) => onRequest(req, res, "continue"));
  server.on("checkExpectation", (req, res) => onRequest(req, res, "unknown"));
  const onParserError = (socket: Duplex, requestError: ErrorCode) =>
    void rejectConnection(socket, requestError).catch(() => socket.destroy());
  server.on("connect", (_req, socket) => onParserError(socket, "bad_request"));
  server.on("clientError", (error, socket) => onParserError(socket, parserErrorCode(error)));

  const url = await listen(server, port, host);
  server.on("error", onRefused);
  return {
    url,
    get refusedConnections() {
      return refusedConnections;
    },
    async close({ graceMs = 10_000 } = {}) {
      if (!(graceMs >= 0)) throw invalidInput("graceMs", "Use a number of milliseconds, at least 0.");
      closing = true;
      return shutDown(server, connections, graceMs);
    },
  };
}

/** Descriptors that are left for files and outgoing connections, if the process may have twice as many. */
const RESERVED_DESCRIPTORS = 100;

/** The descriptors that connections may use, so that the store can open files. Only Linux states the limit. */
function maxDescriptors(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    const limit = Number(soft ?? Number.POSITIVE_INFINITY);
    return Math.max(limit - RESERVED_DESCRIPTORS, Math.floor(limit / 2));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Without traffic for this long. Closing one in use could lose a request: it gets `Connection: close` instead. */
const IDLE_MS = 250;

export function shutDown(
  server: Server,
  connections: ReadonlyMap<Socket, { isBusy(): boolean }>,
  graceMs: number,
): Promise<void> {
  return new Promise((resolve) => {
    const lastBytesRead = new Map<Socket, number>();
    const interval = setInterval(closeIdle, IDLE_MS);
    const closeAll = () => connections.forEach((_, socket) => void socket.destroy());
    const timer = setTimeout(closeAll, Math.min(graceMs, MAX_TIMER_MS));
    closeIdle();

    const finish = () => {
      clearInterval(interval);
      clearTimeout(timer);
      server.close(() => resolve());
    };
    // The `close` of Node's HTTP server would at once end every connection that is between two requests. Other runtimes
    // have an HTTP server that is not one of `node:net`.
    const isNetServer = (server as object) instanceof NetServer;
    if (isNetServer) NetServer.prototype.close.call(server, finish);
    else server.close(finish);

    function closeIdle(): void {
      for (const [socket, connection] of connections) {
        if (connection.isBusy()) lastBytesRead.delete(socket);
        else if (lastBytesRead.get(socket) === socket.bytesRead) socket.destroy();
        else lastBytesRead.set(socket, socket.bytesRead);
      }
    }
  });
}
