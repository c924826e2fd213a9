import { ERRORS, isStoreUnavailable } from "../errors.ts";
import type { Access } from "./access.ts";
import { deprecationHeaders } from "./deprecation.ts";
import { BASE_PATH, type Operation } from "./operations.ts";
import { type ErrorReply, errorJson, type Reply, rateLimitHeaders } from "./reply.ts";

/** Everything known about a request once its reply is decided. */
export interface Outcome {
  readonly reply: Reply;
  /** Missing for responses without rate-limit headers: redirects, 421 and documents. */
  readonly access?: Access;
  /** The operation at the requested path, if any. */
  readonly operation?: Operation;
  readonly thrown?: unknown;
}

/** `Retry-After` when the store is unavailable. */
const STORE_RETRY_AFTER_SECONDS = "5";

/** The reply to a request that threw an error. It reveals nothing but whether to retry. */
export function failureReply(thrown: unknown): ErrorReply {
  if (!isStoreUnavailable(thrown)) return { error: "internal_error" };
  return { error: "store_unavailable", headers: { "retry-after": STORE_RETRY_AFTER_SECONDS } };
}

/** The status code of a reply. */
export function statusOf(reply: Reply): number {
  return reply.error === undefined ? reply.status : ERRORS[reply.error].status;
}

/** A class to create responses with: `Response`, or a cheaper one with the same interface. */
export type ResponseClass = new (
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null,
  init: {
    readonly status: number;
    readonly headers: Record<string, string>;
    /** Of Cloudflare Workers: the body is already encoded as the headers say. */
    readonly encodeBody?: "manual";
  },
) => Response;

/** Creates a response. Every response is created here, so that none lacks a header. */
export function toResponse(
  { reply, access, operation }: Outcome,
  requestId: string,
  isHead: boolean,
  ResponseImpl: ResponseClass = Response,
  addHeaders?: (headers: Record<string, string>) => void,
): Response {
  const status = statusOf(reply);
  const body = reply.error === undefined ? reply.body : errorJson(reply.error);
  const headers: Record<string, string> = {
    ...(body === undefined ? {} : JSON_HEADERS),
    "cache-control": "no-store",
    "x-request-id": requestId,
    ...(access === undefined ? {} : rateLimitHeaders(access.quota)),
    ...(operation?.deprecation === undefined
      ? {}
      : deprecationHeaders(operation.deprecation, `${BASE_PATH}${operation.path}`)),
    ...reply.headers,
  };
  addHeaders?.(headers);
  if (!isHead) {
    // Cloudflare Workers would compress a body with this header again. Other runtimes ignore the option.
    const encoding = "content-encoding" in headers ? ({ encodeBody: "manual" } as const) : {};
    return new ResponseImpl(body ?? null, { status, headers, ...encoding });
  }
  if (body instanceof ReadableStream) void body.cancel();
  return new ResponseImpl(null, { status, headers });
}

const JSON_HEADERS = { "content-type": "application/json" };
