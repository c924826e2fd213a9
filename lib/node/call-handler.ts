import type { IncomingMessage } from "node:http";
import type { Handler, RequestContext } from "../http/handler-options.ts";
import type { PlainResponse, RequestHead } from "../http/plain-response.ts";
import { isImplementedMethod } from "../http/router.ts";
import { NodeRequestHead, toRequest } from "./request-head.ts";

/** A response to send over `node:http`: `PlainResponse` with headers that can have several values. */
export interface NodeResponse extends Omit<PlainResponse, "headers"> {
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
}

/**
 * Calls a handler. One that `createHandler` returned gets the head of the request as it is and responds with plain
 * data. Any other function gets a `Request`. `req` is missing if it cannot be parsed; `context.requestError` is the
 * error then.
 */
export async function callHandler(
  handler: Handler,
  req: IncomingMessage | undefined,
  context: RequestContext,
): Promise<NodeResponse> {
  if (handler.respond !== undefined)
    return handler.respond(req === undefined ? UNKNOWN_HEAD : new NodeRequestHead(req), context);
  const isValid = context.requestError === undefined && req !== undefined;
  // A `Request` cannot have every method and URL that Node accepts.
  if (isValid && !isImplementedMethod(req.method ?? ""))
    return fromResponse(await handler(unknownRequest(), { ...context, requestError: "not_implemented" }));
  return fromResponse(await handler(isValid ? toRequest(req) : unknownRequest(), context));
}

const UNKNOWN_URL = "http://localhost/";
const UNKNOWN_HEAD: RequestHead = { method: "GET", url: UNKNOWN_URL, headers: { get: () => null } };
// Created only for a handler that needs one: the first `Request` loads Node's `fetch`.
const unknownRequest = () => new Request(UNKNOWN_URL);

function fromResponse({ status, headers, body }: Response): NodeResponse {
  const cookies = headers.getSetCookie();
  return {
    status,
    headers: { ...Object.fromEntries(headers), ...(cookies.length > 0 ? { "set-cookie": cookies } : {}) },
    body: body as ReadableStream<Uint8Array> | null,
  };
}
