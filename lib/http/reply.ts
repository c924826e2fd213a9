/** What an operation or a document returns. */
import type { OrderEvent, StoredOrder } from "../orders/lifecycle.ts";
import { ERRORS, type ErrorCode } from "./errors.ts";
import { HEADER_NAME, HEADER_VALUE, type RequestHead } from "./request.ts";

/** Header names and values to add to a response. */
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

/** The end of a streamed body: complete, cancelled by its consumer, or failed because of a store error. */
export type StreamEnd =
  | { readonly status: "complete" | "cancelled" }
  | { readonly status: "failed"; readonly error: unknown };

/**
 * Reads a reply that code of the embedder has returned, each field once. Throws if it is none, or if no response can be
 * made of it, so that the caller gets a 500 and the event says why.
 */
export function readReply(given: unknown, from: string): Reply {
  const { error, status, body, headers = {}, ended, change } = Object(given) as SuccessReply;
  const fields = Object.entries<unknown>(Object(headers)).map(([name, value]) => {
    return [name.toLowerCase(), typeof value === "number" ? `${value}` : value];
  });
  const reply = { error, status, body, headers: Object.fromEntries(fields) } as Reply;
  const problem = findReplyProblem(reply);
  if (problem !== undefined) throw new TypeError(`${from} returned what is no reply. ${problem}`);
  if (reply.error !== undefined) return reply;
  const end = ended && Promise.resolve(ended).then(readStreamEnd);
  // A server sends a `TextReader` as ASCII, which only the service's own are known to be.
  const encoded = body !== undefined && { body: toWebBody(body) };
  return { ...reply, ...encoded, ...(end && { ended: end }), ...(change && { change }) };
}

function findReplyProblem({ error, status, body, headers = {} }: Reply): string | undefined {
  if (error === undefined) {
    if (!STATUSES.has(status))
      return `The status ${status} cannot be sent. Use one of: ${[...STATUSES].join(", ")}.`;
    if (body !== undefined && status === 204)
      return "A response with status 204 has no body. Leave it out, or use 200.";
    if (body !== undefined && !isBody(body))
      return "A body is a string, a Uint8Array or a ReadableStream. Convert any other value with JSON.stringify().";
  } else if (status !== undefined || body !== undefined) {
    if (!/^[45]\d\d$/.test(`${status}`) || typeof body !== "string")
      return "An error has a code of ERRORS alone, or a status from 400 to 599 and a text as its body.";
  } else if (!Object.hasOwn(ERRORS, error))
    return `There is no error code '${error}'. Return a code of ERRORS.`;
  const wrong = Object.entries(headers).find(
    ([name, value]) => typeof value !== "string" || !HEADER_NAME.test(name) || !HEADER_VALUE.test(value),
  );
  if (wrong !== undefined)
    return `The header ${JSON.stringify(wrong[0])} cannot be sent. Encode its name and value as ASCII.`;
  const own = Object.keys(headers).find((name) => SERVICE_HEADERS.test(name));
  if (own !== undefined) return `The header ${JSON.stringify(own)} is set by the service. Leave it out.`;
  const isEmpty = (typeof body === "string" || body instanceof Uint8Array) && body.length === 0;
  return isEmpty && /^application\/json/i.test(headers["content-type"] ?? JSON_TYPE)
    ? "An empty body is not JSON. Leave it out, or set the header content-type."
    : undefined;
}

function isBody(body: unknown): boolean {
  if (typeof body === "string" || body instanceof Uint8Array) return true;
  const { getReader, read } = Object(body);
  return typeof getReader === "function" || typeof read === "function";
}

function readStreamEnd(end: unknown): StreamEnd {
  const { status, error } = Object(end);
  if (status === "complete" || status === "cancelled") return { status };
  return { status: "failed", error: error ?? new TypeError("'ended' resolved without a status.") };
}

const STATUSES: ReadonlySet<number> = new Set([200, 201, 202, 204, 301, 302]);

/** Those that frame a message or concern one connection (RFC 9110, section 7.6.1), and those that the service sets. */
const SERVICE_HEADERS =
  /^(?:content-length|transfer-encoding|connection|proxy-connection|keep-alive|te|trailer|upgrade|date|deprecation|sunset|x-request-id|x-ratelimit-(?:limit|remaining|reset))$/;

export const JSON_TYPE = "application/json";

/** Bytes that a `Response` can have: an `Uint8Array<ArrayBuffer>`, which TypeScript before 5.7 cannot write. */
export type Bytes = ReturnType<InstanceType<typeof TextEncoder>["encode"]>;

export type WebBody = string | Bytes | ReadableStream<Uint8Array>;

/** The body of a response. A string is cheaper to send over `node:http` than a `ReadableStream`. */
export type ResponseBody = WebBody | TextReader;

/** A long ASCII string that is produced on demand, in parts. It is read like a `ReadableStream` by its reader. */
export interface TextReader {
  read(): Promise<TextPart>;
  /** Ends the string early. */
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
