import type { OrderEvent, StoredOrder } from "../orders/lifecycle.ts";
import { ERRORS, type ErrorCode } from "./errors.ts";
import { HEADER_NAME, HEADER_VALUE, type RequestHead } from "./request.ts";

export type HeaderFields = Readonly<Record<string, string>>;

/** A response without the headers that all responses share. */
export type Reply = ErrorReply | OwnErrorReply | SuccessReply;

/** An error response. Its body is the Error body of the code. */
export interface ErrorReply {
  readonly error: ErrorCode;
  readonly status?: undefined;
  readonly body?: undefined;
  readonly headers?: HeaderFields;
}

/** An error response with a code of its operation's own. Its body is the Error body, as JSON. */
interface OwnErrorReply {
  readonly error: string;
  readonly status: number;
  readonly body: string;
  readonly headers?: HeaderFields;
}

export interface SuccessReply {
  readonly error?: undefined;
  readonly status: 200 | 201 | 202 | 204 | 301 | 302;
  /** JSON, unless the headers have another content type. Missing for a response without a body. */
  readonly body?: ResponseBody;
  readonly headers?: HeaderFields;
  readonly ended?: Promise<StreamEnd>;
  /** The change that the operation made, for `onTransition`. */
  readonly change?: { readonly event: OrderEvent; readonly order: StoredOrder };
}

/** Serves documents beside the API, without a key and without counting. Returns `undefined` for any other path. */
export type DocumentSource = (
  path: string,
  request: RequestHead,
  /** Path and query as received: what a relative `Location` is resolved against. */
  originalTarget?: string,
) => Reply | undefined | Promise<Reply | undefined>;

export type StreamEnd =
  | { readonly status: "complete" | "cancelled" }
  | { readonly status: "failed"; readonly error: unknown };

/** Prepares a reply of the embedder. Throws if no response can be made of it, or for a header that the service sets. */
export function readReply({ headers = {}, ...reply }: Reply, from: string): Reply {
  const problem = findReplyProblem(reply);
  if (problem !== undefined) throw new TypeError(`${from} returned ${problem}.`);
  const fields = Object.entries(headers).map(([name, value]) => {
    if (SERVICE_HEADERS.test(name))
      throw new TypeError(`${from} returned the header ${JSON.stringify(name)}, which the service sets.`);
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value))
      throw new TypeError(`${from} returned the header ${JSON.stringify(name)}, which cannot be sent.`);
    return [name.toLowerCase(), value];
  });
  // A server sends a `TextReader` as ASCII, which only the service's own are known to be.
  const encoded = reply.body !== undefined && { body: toWebBody(reply.body) };
  return { ...reply, ...encoded, headers: Object.fromEntries(fields) } as Reply;
}

/** Callers can be untyped, and what is sent would differ by runtime. */
function findReplyProblem({ error, status, body }: Reply): string | undefined {
  if (status === undefined)
    return Object.hasOwn(ERRORS, `${error}`) ? undefined : "neither a status nor an error of the service";
  if (!Number.isInteger(status) || status < 200 || status > 599) return "a status that no response can have";
  if (body === undefined) return undefined;
  if ([204, 205, 304].includes(status)) return `a body with the status ${status}, which has none`;
  const { getReader, read } = Object(body);
  const isSendable =
    typeof body === "string" || body instanceof Uint8Array || (getReader ?? read) !== undefined;
  return isSendable ? undefined : "a body that cannot be sent. JSON.stringify() makes a string of an object";
}

/** Headers that frame a message or concern one connection (RFC 9110, section 7.6.1), and headers that the service sets. */
const SERVICE_HEADERS =
  /^(?:content-length|transfer-encoding|connection|proxy-connection|keep-alive|te|trailer|upgrade|date|deprecation|sunset|x-request-id|x-ratelimit-(?:limit|remaining|reset))$/i;

export const JSON_TYPE = "application/json";

/** Bytes that a `Response` can have: an `Uint8Array<ArrayBuffer>`, which TypeScript before 5.7 cannot write. */
export type Bytes = ReturnType<InstanceType<typeof TextEncoder>["encode"]>;

export type WebBody = string | Bytes | ReadableStream<Uint8Array>;

/** The body of a response. A string is cheaper to send over `node:http` than a `ReadableStream`. */
export type ResponseBody = WebBody | TextReader;

/** A long ASCII string that is produced on demand, in parts. It is read like a `ReadableStream` by its reader. */
export interface TextReader {
  read(): Promise<TextPart>;
  cancel(): Promise<void>;
}

/** The result of `read`: strings in their order. They are not joined, because that would copy them. */
type TextPart =
  | { readonly done: false; readonly value: readonly string[] }
  | { readonly done: true; readonly value?: undefined };

/** True for a `TextReader`. A stream has a `getReader`, and in some implementations a `read` of another kind, too. */
export function isTextReader(body: ResponseBody): body is TextReader {
  return (
    typeof body === "object" && "read" in body && (body as Partial<ReadableStream>).getReader === undefined
  );
}

/** Ends a body that nobody will read. If that fails, nobody is affected. */
export async function discardBody(body: ResponseBody | ReadableStreamDefaultReader): Promise<void> {
  try {
    if (typeof body === "object" && "cancel" in body) await body.cancel();
  } catch {}
}

export function toWebBody(body: ResponseBody): WebBody {
  if (!isTextReader(body)) return body;
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await body.read();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value.join("")));
      },
      cancel: () => body.cancel(),
    },
    // No part is produced before it is read.
    { highWaterMark: 0 },
  );
}
