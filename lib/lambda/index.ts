/**
 * Serves a handler as two functions of AWS Lambda behind a REST API of API Gateway. There are two because responses
 * without a body fail on Lambda's streaming path. Route the `GET` of the list to the streaming function and everything
 * else to the buffered one. See lib/http/README.md.
 *
 * @module store-orders/lambda
 */
import { callHandler } from "../http/call-handler.ts";
import type { Handler } from "../http/options.ts";
import { parsePath } from "../http/path.ts";
import { toWebBody, type WebBody } from "../http/reply.ts";
import type { RequestContext } from "../http/request.ts";
import type { PlainResponse } from "../http/response.ts";
import { fromEvent, type ProxyEvent } from "./event.ts";
import { type ResponseStream, sendBody, streamingPlatform } from "./stream.ts";

export { PLATFORM_HOST, type ProxyEvent } from "./event.ts";
export type { ResponseStream } from "./stream.ts";

/** The result that API Gateway converts to a response. */
export interface ProxyResult {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[]>>;
  readonly body: string;
  readonly isBase64Encoded: boolean;
}

/** Creates the function for responses that are short or have no body. */
export function createBufferedFunction({ handler }: { handler: Handler }) {
  return async (event: ProxyEvent): Promise<ProxyResult> => {
    const { request, context } = readEvent(event);
    const location = findPlainPath(event, context);
    if (location !== undefined) {
      const { requestId = crypto.randomUUID() } = context;
      const headers = { location, "cache-control": "no-store", "x-request-id": requestId };
      return { statusCode: 308, headers, body: "", isBase64Encoded: false };
    }
    // The gateway forwards text unchanged, but compressed bytes only with binary media types configured.
    request.fields.delete("accept-encoding");
    const { body, ...head } = toMetadata(await callHandler(handler, request, context));
    return { ...head, ...(await textOrBase64(body)) };
  };
}

/** Creates the function for the list. Outside Lambda it can be created but not invoked by a gateway. */
export function createStreamingFunction({
  handler,
  onFirstByte = () => {},
}: {
  handler: Handler;
  /** Called before the first byte of a response is sent, with its status and the milliseconds since the request. */
  onFirstByte?: (status: number, durationMs: number) => void;
}): (event: ProxyEvent, stream: ResponseStream) => Promise<void> {
  return streamingPlatform().streamifyResponse(async (event, stream) => {
    const startedAt = performance.now();
    // A client that resets its connection is an error of the stream, which would end the process: also after the last byte.
    stream.on("error", () => {});
    const { request, context } = readEvent(event);
    const { body, ...metadata } = toMetadata(await callHandler(handler, request, context));
    const response = streamingPlatform().HttpResponseStream.from(stream, metadata);
    await sendBody(body, response, () => onFirstByte(metadata.statusCode, performance.now() - startedAt));
  });
}

function toMetadata({ status: statusCode, headers, body }: PlainResponse | Response) {
  // `Headers` have several values for cookies only. The gateway merges these with the others.
  const cookies = Symbol.iterator in headers ? headers.getSetCookie() : [];
  return {
    statusCode,
    headers: Symbol.iterator in headers ? Object.fromEntries(headers) : headers,
    ...(cookies.length > 1 && { multiValueHeaders: { "set-cookie": cookies } }),
    body: body && toWebBody(body),
  };
}

function readEvent(event: ProxyEvent): ReturnType<typeof fromEvent> {
  const result = fromEvent(event);
  if (result.problem !== undefined) process.stderr.write(`${result.problem}\n`);
  return result;
}

/**
 * Where a GET with percent-encoded unreserved characters leads. The gateway compares paths as they are, so it sends
 * such a list here, where it must not be collected.
 */
function findPlainPath(event: ProxyEvent, { target = "", requestError }: RequestContext): string | undefined {
  if (requestError !== undefined || event.httpMethod !== "GET") return undefined;
  const path = parsePath(target);
  // A header cannot contain any other character, and no route does.
  if (path === undefined || path === event.path || !/^[\x21-\x7e]*$/.test(path)) return undefined;
  return `./${"../".repeat(path.split("/").length - 2)}${path.slice(1)}${target.slice(event.path.length)}`;
}

async function textOrBase64(body: WebBody | null): Promise<Pick<ProxyResult, "body" | "isBase64Encoded">> {
  if (typeof body === "string" || body === null)
    return { body: body?.toWellFormed() ?? "", isBase64Encoded: false };
  const chunks: Uint8Array[] = [];
  for await (const chunk of body instanceof Uint8Array ? [body] : body) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const text = bytes.toString();
  // What is not UTF-8 is replaced.
  const isText = Buffer.from(text).equals(bytes);
  return { body: isText ? text : bytes.toString("base64"), isBase64Encoded: !isText };
}
