import type { Caller, Rejection } from "../accounts/admission.ts";
import { isStoreUnavailable } from "../core/errors.ts";
import type { Instant } from "../core/time.ts";
import type { OrderEvent, StoredOrder } from "../orders/lifecycle.ts";
import type { Quota } from "../plans/windows.ts";
import { deprecationHeaders } from "./deprecation.ts";
import { ERRORS, type ErrorBody, type ErrorCode } from "./errors.ts";
import type { Operation } from "./operations.ts";

/** The part of a request that the handler reads. A `Request` is one; a server can pass one that is cheaper to create. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly headers: {
    /** The value of a header; those of one that occurs several times are joined with commas. */
    get(name: string): string | null;
  };
  /** The body of a `POST`, `PUT` or `PATCH`. */
  readonly body?: AsyncIterable<Uint8Array> | null | undefined;
  /** True if somebody else has read of the body. */
  readonly bodyUsed?: boolean;
}

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

/** The result of a request: its reply, and what the response and its event say about the caller and the operation. */
export interface RequestResult {
  readonly reply: Reply;
  /** For the rate-limit headers. Missing for responses without them: redirects, 421, documents and health checks. */
  readonly quota?: Quota;
  /** Missing if the request has no valid key. */
  readonly caller?: Caller;
  readonly operation?: Operation;
  readonly thrown?: unknown;
  /** With a 429: the instant until which the caller has to wait. */
  readonly limitedUntil?: Instant;
  readonly startsBan?: boolean;
  /** Why the request would have been rejected if limits were enforced. */
  readonly wouldReject?: Rejection["code"];
}

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

/** RFC 9110, section 5. */
export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Those that frame a message or concern one connection (RFC 9110, section 7.6.1), and those that the service sets. */
const SERVICE_HEADERS =
  /^(?:content-length|transfer-encoding|connection|proxy-connection|keep-alive|te|trailer|upgrade|date|deprecation|sunset|x-request-id|x-ratelimit-(?:limit|remaining|reset))$/;

const JSON_TYPE = "application/json";

/** A response as plain data. */
export interface PlainResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: ResponseBody | null;
}

/** Creates the response to a request. Every response is created here, so that none lacks a header. */
export function createResponse(
  { reply, quota, operation }: RequestResult,
  requestId: string,
  isHead: boolean,
): PlainResponse {
  const status = statusOf(reply);
  const body = reply.body ?? ERROR_BODIES[reply.error as ErrorCode] ?? null;
  const headers: Record<string, string> =
    body === null
      ? { "cache-control": "no-store", "x-request-id": requestId }
      : { "content-type": JSON_TYPE, "cache-control": "no-store", "x-request-id": requestId };
  if (quota !== undefined) Object.assign(headers, rateLimitHeaders(quota));
  if (operation?.deprecation !== undefined)
    Object.assign(headers, deprecationHeaders(operation.deprecation, operation.path));
  const { link } = headers;
  if (reply.headers !== undefined) Object.assign(headers, reply.headers);
  if (link !== undefined && headers["link"] !== link) headers["link"] += `, ${link}`;
  if (!isHead) return { status, headers, body };
  if (body !== null) void discardBody(body);
  return { status, headers, body: null };
}

export function statusOf(reply: Reply): number {
  return reply.status ?? ERRORS[(reply as ErrorReply).error].status;
}

/** The three rate-limit headers. See lib/README.md#rate-limit-headers. */
export function rateLimitHeaders({ limit, remaining, resetsAt }: Quota): HeaderFields {
  return {
    "x-ratelimit-limit": `${limit}`,
    "x-ratelimit-remaining": `${remaining}`,
    "x-ratelimit-reset": `${Math.ceil(resetsAt / 1000)}`,
  };
}

/** The reply when the store is unavailable: a client waits for five seconds. */
export const STORE_UNAVAILABLE: ErrorReply = { error: "store_unavailable", headers: { "retry-after": "5" } };

/** The reply to a request that threw an error. It reveals nothing but whether to retry. */
export function failureReply(thrown: unknown): ErrorReply {
  return isStoreUnavailable(thrown) ? STORE_UNAVAILABLE : { error: "internal_error" };
}

const ERROR_BODIES = Object.fromEntries(
  Object.entries(ERRORS).map(([code, { status, message }]) => [
    code,
    JSON.stringify({ code: code as ErrorCode, message, status } satisfies ErrorBody),
  ]),
) as Readonly<Record<ErrorCode, string>>;

export function toResponse({ status, headers, body }: PlainResponse): Response {
  // Cloudflare Workers would compress a body with this header again. Other runtimes ignore the option.
  const encoding = Object.hasOwn(headers, "content-encoding") ? { encodeBody: "manual" } : {};
  return new Response(body === null ? null : toWebBody(body), { status, headers, ...encoding });
}

/** Bytes that a `Response` can have: an `Uint8Array<ArrayBuffer>`, which TypeScript before 5.7 cannot write. */
export type Bytes = ReturnType<InstanceType<typeof TextEncoder>["encode"]>;

export type WebBody = string | Bytes | ReadableStream<Uint8Array>;

/** The body of a response. A string is cheaper to send over `node:http` than a `ReadableStream`. */
type ResponseBody = WebBody | TextReader;

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
