/**
 * Serves a handler over `node:http`.
 *
 * ```ts
 * const server = await startNodeServer({ handler, port: 8787 });
 * process.once("SIGTERM", () => server.close());
 * ```
 */
import { createServer, type Server, STATUS_CODES } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { FastResponse, NodeRequest } from "srvx/node";
import type { ErrorCode } from "../errors.ts";
import type { Handler } from "../http/handler.ts";
import type { ResponseClass } from "../http/outcome.ts";
import { sendResponse } from "./send-response.ts";

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
}

/** A server that is listening. */
export interface NodeServer {
  /** Its address, without a path. */
  readonly url: string;
  /** Takes no more connections, lets requests finish for at most `grace` milliseconds (10 s), then cuts off the rest. */
  close(options?: { readonly grace?: number }): Promise<void>;
}

const LONGEST_URL = 8 * 1024;
const LARGEST_HEAD = 16 * 1024;

/** Starts to listen. Rejects where the address cannot be taken. */
export async function startNodeServer(options: NodeServerOptions): Promise<NodeServer> {
  const { handler, host = "127.0.0.1", port = 8787, trustProxy = false } = options;

  const settings = { maxHeaderSize: LARGEST_HEAD, headersTimeout: 10_000, requestTimeout: 30_000 };
  const server = createServer(settings, async (req, res) => {
    const forwarded = trustProxy ? lastOf(req.headers["x-forwarded-for"]) : undefined;
    const malformed = (req.url ?? "").length > LONGEST_URL ? { malformed: "uri_too_long" as const } : {};
    const context = { ...addressOf(forwarded ?? req.socket.remoteAddress), ...malformed };
    await sendResponse(await handler(new NodeRequest({ req, res }), context), res);
  });
  server.on("clientError", (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket) => {
    void refuse(handler, socket, CLIENT_ERRORS[error.code ?? ""] ?? "bad_request");
  });

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    close: ({ grace = 10_000 } = {}) => shutDown(server, grace),
  };
}

/** What Node's parser gives up on, and what it is answered with. */
const CLIENT_ERRORS: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: "headers_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
};

/** Answers a connection whose request Node could not read: the same body and headers as any other error. */
async function refuse(handler: Handler, socket: Duplex, malformed: ErrorCode): Promise<void> {
  if (!socket.writable || ("bytesWritten" in socket && Number(socket.bytesWritten) > 0)) {
    socket.destroy();
    return;
  }
  const address = "remoteAddress" in socket ? `${socket.remoteAddress}` : undefined;
  const response = await handler(new Request("http://localhost/"), { ...addressOf(address), malformed });
  const body = Buffer.from(await response.text());
  const fields = [...response.headers, ["content-length", `${body.length}`], ["connection", "close"]];
  const head = [
    `HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ""}`,
    ...fields.map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

function addressOf(address: string | undefined): { readonly address?: string } {
  return address === undefined ? {} : { address };
}

/** The nearest proxy writes the last entry; what stands before it, a client can have made up. */
function lastOf(forwardedFor: string | readonly string[] | undefined): string | undefined {
  return `${forwardedFor ?? ""}`.split(",").at(-1)?.trim() || undefined;
}

function shutDown(server: Server, grace: number): Promise<void> {
  return new Promise((resolve) => {
    // A connection becomes idle when its last answer has left, which Node does not look for by itself.
    const sweep = setInterval(() => server.closeIdleConnections(), 50);
    const cut = setTimeout(() => server.closeAllConnections(), grace);
    server.close(() => {
      clearInterval(sweep);
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
