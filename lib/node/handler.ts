import type { ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import { settleWithin } from "../core/concurrency.ts";
import { assertOptions } from "../core/errors.ts";
import { splitTarget } from "../core/request-target.ts";
import { BODY_METHODS } from "../http/body.ts";
import { callHandler, type ReceivedHead } from "../http/call-handler.ts";
import type { ErrorCode } from "../http/errors.ts";
import type { Handler } from "../http/options.ts";
import { DEFAULT_CONNECTION_LIMITS } from "./limits.ts";
import {
  callerAddress,
  countProxies,
  hasBody,
  hostOfRequest,
  isReset,
  type NodeRequest,
  receiveBody,
  validateRequest,
} from "./request.ts";
import { LINGER_MS, type NodeResponse, sendResponse } from "./response.ts";

/** Options of `toNodeHandler`. */
export interface NodeHandlerOptions {
  /**
   * True for exactly one proxy, or how many are in a row: the caller's address is the entry of `X-Forwarded-For` that
   * the first of them has added. @default false
   */
  readonly trustProxy?: boolean | number;
}

/**
 * Mounts a handler in a server of your own on `node:http` or `node:http2`, such as Express. The connection limits, the
 * protection from pipelining and the graceful shutdown are your server's. A body that no middleware has read is
 * received completely first; an operation that takes a body fails if one has read it.
 */
export function toNodeHandler(
  handler: Handler,
  options: NodeHandlerOptions = {},
): (req: NodeRequest, res: NodeResponse) => void {
  assertOptions(options, ["trustProxy"]);
  const proxies = countProxies(options.trustProxy ?? false);

  async function respond(req: NodeRequest, res: NodeResponse): Promise<void> {
    if (refused.has(req.socket)) return void res.destroy();
    // Read before the first wait: a framework can change the URL for the time of this call.
    const head = new NodeRequestHead(req);
    // Connect, and all that is like it, keeps there what it has received.
    const { originalUrl = head.target } = req as NodeRequest & { readonly originalUrl?: string };
    const address = callerAddress(req, proxies);
    // It receives the body after the admission, and not more than the operation accepts.
    const isForHandler = hasBody(req) && BODY_METHODS.has(head.method);
    const headError = validateRequest(req);
    // A body that is only too large has a known end, and a request of HTTP/2 a stream of its own.
    const isRefused = headError !== undefined && headError !== "request_too_large" && !("stream" in req);
    if (isRefused) {
      refused.add(req.socket);
      // A client that sends its whole body first could otherwise lose the response when the connection is closed.
      await settleWithin(LINGER_MS, receiveRest(req, Infinity), "The rest of the request").catch(() => {});
    }
    const requestError = headError ?? (isForHandler ? undefined : await receiveRest(req));
    if (requestError === "aborted") return;
    const originalTarget = splitTarget(originalUrl).path;
    const context = { ...address, target: head.target, originalTarget, requestError };
    if (isForHandler) head.body = bodyOf(req);
    const response = await callHandler(handler, head, context);
    // An unread body would block the next request of this connection for ever.
    const isInTheWay = !req.complete && req.listenerCount("readable") > 0;
    if (isInTheWay || isRefused) (res as ServerResponse).shouldKeepAlive = false;
    // The response of HTTP/2 has the same methods.
    await sendResponse(response, res as ServerResponse, DEFAULT_CONNECTION_LIMITS.writeTimeoutMs);
  }

  // A handler of `createHandler` never rejects. Whatever fails here closes the connection.
  return (req, res) => void respond(req, res).catch(() => res.destroy());
}

/** Connections with a request that two servers could parse differently. What follows it may be none. */
const refused = new WeakSet<object>();

/** The body of a request. Reading it fails if the client has not sent it to its end. */
async function* bodyOf(req: NodeRequest): AsyncGenerator<Uint8Array> {
  try {
    // By default, an iterator that ends early destroys the socket, which a middleware can still need.
    yield* req.iterator({ destroyOnReturn: false });
    if (isReset(req)) throw new Error("The client has reset the request.");
  } finally {
    // The next request of the connection is behind the rest, which Node discards only of a body that nobody has begun.
    req.resume();
  }
}

/** Receives the rest of the body, which a middleware may have read in part. */
async function receiveRest(req: NodeRequest, maxBytes?: number): Promise<ErrorCode | "aborted" | undefined> {
  if (isReset(req)) return "aborted";
  if (req.complete || !hasBody(req)) return undefined;
  if (req.destroyed) return "aborted";
  return receiveBody(req, maxBytes);
}

/** The head of a request as it was received, without the cost of a `Request`: one object, which is its own `headers`. */
export class NodeRequestHead implements ReceivedHead {
  readonly #req: NodeRequest;
  readonly #rawHeaders: readonly string[];
  readonly #values: NodeRequest["headers"];
  readonly #url: string;
  readonly method: string;
  /** Path and query as received, without the scheme and the authority that an absolute target has. */
  readonly target: string;
  body: AsyncIterable<Uint8Array> | undefined;

  constructor(req: NodeRequest) {
    this.#req = req;
    this.#rawHeaders = req.rawHeaders;
    this.#values = req.headers;
    this.method = req.method ?? "GET";
    const { url = "/" } = req;
    this.#url = url;
    this.target = url.startsWith("/") ? url : splitTarget(url).path;
  }

  /** In no field of its own: an operation may write its headers as JSON. */
  get headers(): this {
    return this;
  }

  get url(): string {
    const { target } = this;
    const scheme = (this.#req.socket as TLSSocket).encrypted ? "https" : "http";
    const host = hostOfRequest({ headers: this.#values, url: this.#url }) || "localhost";
    return `${scheme}://${host}${target.startsWith("/") ? "" : "/"}${target}`;
  }

  get bodyUsed(): boolean {
    return this.#req.readableDidRead;
  }

  /** The value of a header, which a middleware may have set. Node's is the first of several `Authorization` fields. */
  get(name: string): string | null {
    const wanted = name.toLowerCase();
    const value = Object.hasOwn(this.#values, wanted) ? this.#values[wanted] : undefined;
    if (value === undefined) return null;
    const raw = this.#rawHeaders;
    const fields: string[] = [];
    for (let index = 0; index < raw.length; index += 2)
      if (raw[index]?.length === wanted.length && raw[index]?.toLowerCase() === wanted)
        fields.push(raw[index + 1] ?? "");
    return fields[0] === value ? fields.join(", ") : `${value}`;
  }

  names(): Iterable<string> {
    return Object.keys(this.#values);
  }
}
