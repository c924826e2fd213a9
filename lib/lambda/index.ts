/**
 * Serves a handler as two functions of AWS Lambda behind a REST API of API Gateway.
 *
 * ```ts
 * const handler = createHandler({ store: createDynamodbStore({ prefix: "shop" }) });
 * export const api = createBufferedFunction({ handler });
 * export const list = createStreamingFunction({ handler });
 * ```
 *
 * Two, since answers without a body break or hang on Lambda's streaming path (design, "The cloud stack"). Route the
 * `GET` of the list to the streaming one, everything else to the other.
 *
 * @module store-orders/lambda
 */
import type { Handler } from "../http/handler.ts";
import { fromEvent, type ProxyEvent } from "./event.ts";
import { type ResponseStream, sendBody, streamingPlatform } from "./stream.ts";

export { PLATFORM_HOST, type ProxyEvent } from "./event.ts";

/** What API Gateway turns into a response. */
export interface ProxyResult {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isBase64Encoded: boolean;
}

/** Makes the function for every answer that is short, or has no body at all. */
export function createBufferedFunction({
  handler,
}: {
  handler: Handler;
}): (event: ProxyEvent) => Promise<ProxyResult> {
  return async (event) => {
    const { request, context } = fromEvent(event);
    // The gateway takes text as it is, and compressed bytes only in base64 that it was told to decode.
    request.headers.delete("accept-encoding");
    const response = await handler(request, context);
    return {
      statusCode: response.status,
      headers: Object.fromEntries(response.headers),
      ...textOrBase64(await response.bytes()),
    };
  };
}

/** Makes the function for the list. Outside Lambda it is made as well, and does nothing until it is called. */
export function createStreamingFunction({
  handler,
  onFirstByte = () => {},
}: {
  handler: Handler;
  /** Called when an answer begins to leave, with its status and the milliseconds that this took. */
  onFirstByte?: (status: number, milliseconds: number) => void;
}): (event: ProxyEvent, stream: ResponseStream) => Promise<void> {
  return streamingPlatform().streamifyResponse(async (event, stream) => {
    const began = performance.now();
    const { request, context } = fromEvent(event);
    const { status, headers, body } = await handler(request, context);
    const metadata = { statusCode: status, headers: Object.fromEntries(headers) };
    const answer = streamingPlatform().HttpResponseStream.from(stream, metadata);
    await sendBody(body, answer, () => onFirstByte(status, performance.now() - began));
  });
}

function textOrBase64(bytes: Uint8Array): Pick<ProxyResult, "body" | "isBase64Encoded"> {
  try {
    return {
      body: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
      isBase64Encoded: false,
    };
  } catch {
    return { body: Buffer.from(bytes).toString("base64"), isBase64Encoded: true };
  }
}
