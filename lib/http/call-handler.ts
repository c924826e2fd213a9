import { logHookError } from "../core/hooks.ts";
import type { Handler } from "./options.ts";
import { IMPLEMENTED_METHODS } from "./path.ts";
import type { RequestContext, RequestHead } from "./request.ts";
import type { PlainResponse } from "./response.ts";

export interface ReceivedHead extends RequestHead {
  names(): Iterable<string>;
}

/** One of `createHandler` gets the head as it is, any other a `Request`. `head` is missing if it cannot be read. */
export async function callHandler(
  handler: Handler,
  head: ReceivedHead | undefined,
  context: RequestContext,
): Promise<PlainResponse | Response> {
  if (handler.respond !== undefined) return handler.respond(head ?? UNKNOWN_HEAD, context);
  try {
    const response = await callForeign(handler, head, context);
    if (typeof response?.status === "number") return response;
    throw new TypeError("It returned no Response.");
  } catch (error) {
    logHookError(error, "the function around the handler");
    throw error;
  }
}

function callForeign(handler: Handler, head: ReceivedHead | undefined, context: RequestContext) {
  const isValid = context.requestError === undefined && head !== undefined;
  // A `Request` cannot have every method and URL that a server accepts.
  if (isValid && !IMPLEMENTED_METHODS.has(head.method))
    return handler(new Request(UNKNOWN_HEAD.url), { ...context, requestError: "not_implemented" });
  return handler(isValid ? toRequest(head) : new Request(UNKNOWN_HEAD.url), context);
}

const UNKNOWN_HEAD: RequestHead = { method: "GET", url: "http://localhost/", headers: { get: () => null } };

/** The request as `fetch` has it. Not made for a handler of ours: the first one loads Node's `fetch`, a fifth of a cold start. */
export function toRequest(head: ReceivedHead): Request {
  const { method, url, body } = head;
  const headers = new Headers();
  for (const name of head.names()) {
    const value = head.headers.get(name);
    // Pseudo-headers of HTTP/2, such as `:path`, are no headers.
    if (value !== null && !name.startsWith(":")) headers.append(name, value);
  }
  if (body == null) return new Request(url, { method, headers });
  return new Request(url, { method, headers, body: ReadableStream.from(body), duplex: "half" });
}
