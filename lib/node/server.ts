/**
 * Serves a handler over `node:http`.
 *
 * ```ts
 * const server = await startNodeServer({ handler, port: 8787 });
 * process.once("SIGTERM", () => server.close());
 * ```
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { availableParallelism } from "node:os";
import type { Duplex } from "node:stream";
import { type ErrorCode, invalidInput } from "../errors.ts";
import type { Handler } from "../http/handler-options.ts";
import { createBusyPoll } from "./busy-poll.ts";
import { callHandler } from "./call-handler.ts";
import { callerAddress } from "./caller-address.ts";
import { type Connection, trackConnection } from "./connection.ts";
import {
  type ConnectionLimits,
  MAX_HEADER_BYTES,
  MAX_HEADER_FIELDS,
  resolveLimits,
} from "./connection-limits.ts";
import { limitHeapGrowth } from "./limit-heap-growth.ts";
import { listen } from "./listen.ts";
import { createServer } from "./node-http.ts";
import { optimizeEarly } from "./optimize-early.ts";
import { type ParserError, parserErrorCode } from "./parser-error.ts";
import { hasBody } from "./request-body.ts";
import { sendAndClose } from "./send-and-close.ts";
import { sendResponse } from "./send-response.ts";
import { shutDown } from "./shut-down.ts";
import { targetOfRequest, validateRequest } from "./validate-request.ts";

/** Options of `startNodeServer`. */
export interface NodeServerOptions {
  /** The service, from `createHandler`. */
  readonly handler: Handler;
  /** The address to listen on. @default 127.0.0.1 */
  readonly host?: string;
  /** The port to listen on; 0 chooses a free one. @default 8787 */
  readonly port?: number;
  /**
   * Trusts exactly one proxy: reads the caller's address from the last entry of `X-Forwarded-For`, with or without a
   * port. @default false
   */
  readonly trustProxy?: boolean;
  /** Limits on what one client can occupy. @default DEFAULT_CONNECTION_LIMITS */
  readonly limits?: Partial<ConnectionLimits>;
  /**
   * Calls `limitHeapGrowth`, which keeps the memory of the whole process small under load. With false, the flags of V8
   * are left alone. @default true
   */
  readonly limitHeapGrowth?: boolean;
  /** Calls `optimizeEarly` after 50 requests, so that the process is fast after a few thousand. @default true */
  readonly optimizeEarly?: boolean;
  /**
   * Keeps the event loop awake for at most 0.2 ms after a response, while one client sends one request after another,
   * which gets more responses a second. @default true; false with one processor, which the client needs
   */
  readonly busyPoll?: boolean;
}

/**
 * Before, the compiler would delay the first requests: a first list of a million orders by an eighth. A function that
 * has been called a few hundred times keeps the number that V8 had then.
 */
const REQUESTS_BEFORE_OPTIMIZING = 50;

/** A listening server. */
export interface NodeServer {
  /** The address of the server, without a path. */
  readonly url: string;
  /**
   * Accepts no more connections, waits for requests to finish, and closes the rest after `graceMs` (10 s), for which
   * `Infinity` means never. Rejects with `InvalidInputError` if that is no time.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Starts a server. Rejects if the address is in use, and with `InvalidInputError` if an option is invalid. */
export async function startNodeServer(options: NodeServerOptions): Promise<NodeServer> {
  const { handler, host = "127.0.0.1", port = 8787, trustProxy = false } = options;
  const limits = resolveLimits(options.limits);
  const connections = new Map<Socket, Connection>();
  const holding = new Set<Socket>();
  const busyPoll = (options.busyPoll ?? availableParallelism() > 1) ? createBusyPoll() : undefined;
  let closing = false;
  let requests = 0;

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
  server.maxConnections = limits.maxConnections;
  server.on("connection", (socket) => {
    connections.set(socket, trackConnection(socket, holding));
    socket.once("close", () => connections.delete(socket));
    // After a parser error Node removes its own listener, and a reset would then end the process.
    socket.on("error", () => {});
  });

  /** Handles one request. An error here is a defect and closes the connection. */
  function onRequest(req: IncomingMessage, res: ServerResponse, expectation?: "continue" | "unknown"): void {
    if (++requests === REQUESTS_BEFORE_OPTIMIZING && (options.optimizeEarly ?? true)) optimizeEarly(process);
    busyPoll?.begin(req.socket);
    respond(req, res, expectation)
      .catch(() => req.socket.destroy())
      .finally(busyPoll?.end);
  }

  /** Waits for the body of a request, then sends the response. */
  async function respond(req: IncomingMessage, res: ServerResponse, expectation?: "continue" | "unknown") {
    const connection = connections.get(req.socket);
    if (connection === undefined) return;
    connection.begin(req, res);
    const context = { ...callerAddress(req, trustProxy), target: targetOfRequest(req) };
    const reject = async (requestError: ErrorCode) => {
      connection.stop();
      const response = await callHandler(handler, req, { ...context, requestError });
      await sendAndClose(response, req.socket, limits.lingerTimeoutMs);
    };

    const invalid = expectation === "unknown" ? "expectation_failed" : validateRequest(req);
    if (invalid !== undefined) return reject(invalid);
    if (hasBody(req)) {
      if (expectation === "continue") res.writeContinue();
      const body = await connection.receiveBody(req);
      if (body === "aborted") return;
      if (body !== "complete") return reject(body.error);
    }

    const response = await callHandler(handler, req, context);
    if (closing && !connection.hasMore()) res.shouldKeepAlive = false;
    await sendResponse(response, res, limits.writeTimeoutMs);
  }

  /** Closes a connection after a parser error, with the same body and headers as any other error. */
  async function rejectConnection(socket: Duplex, requestError: ErrorCode): Promise<void> {
    const connection = connections.get(socket as Socket);
    if (connection === undefined || !(await connection.onParserError(requestError))) return;
    const context = { ...addressOf((socket as Socket).remoteAddress), requestError };
    await sendAndClose(await callHandler(handler, undefined, context), socket, limits.lingerTimeoutMs);
  }

  server.on("request", onRequest);
  server.on("checkContinue", (req, res) => onRequest(req, res, "continue"));
  server.on("checkExpectation", (req, res) => onRequest(req, res, "unknown"));
  server.on("connect", (_req, socket) => void rejectConnection(socket, "bad_request"));
  server.on("clientError", (error: ParserError, socket) => {
    const lineBytes = connections.get(socket as Socket)?.requestLineBytes(error.rawPacket ?? Buffer.alloc(0));
    void rejectConnection(socket, parserErrorCode(error, lineBytes ?? 0));
  });

  const url = await listen(server, port, host);
  if (options.limitHeapGrowth ?? true) limitHeapGrowth(process);
  return {
    url,
    async close({ graceMs = 10_000 } = {}) {
      if (!(graceMs >= 0)) throw invalidInput("graceMs", "Use a number of milliseconds, at least 0.");
      closing = true;
      return shutDown({ server, connections, graceMs });
    },
  };
}

function addressOf(address: string | undefined): { readonly address?: string } {
  return address === undefined ? {} : { address };
}
