import type { Caller, Rejection } from "../accounts/admission.ts";
import { isStoreUnavailable } from "../core/errors.ts";
import type { Instant } from "../core/time.ts";
import type { Quota } from "../plans/windows.ts";
import { deprecationHeaders } from "./deprecation.ts";
import { ERRORS, type ErrorCode } from "./errors.ts";
import type { Operation } from "./operations.ts";
import {
  discardBody,
  type ErrorReply,
  type HeaderFields,
  JSON_TYPE,
  type Reply,
  type ResponseBody,
  toWebBody,
} from "./reply.ts";

export interface RequestResult {
  readonly reply: Reply;
  /** For the rate-limit headers. Missing for responses without them: redirects, 421, documents and health checks. */
  readonly quota?: Quota;
  readonly caller?: Caller;
  readonly operation?: Operation;
  readonly thrown?: unknown;
  /** With a 429: the instant until which the caller has to wait. */
  readonly limitedUntil?: Instant;
  readonly startsBan?: boolean;
  readonly wouldReject?: Rejection["code"];
}

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
  const status = reply.status ?? ERRORS[reply.error].status;
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

/** See lib/README.md#rate-limit-headers. */
export function rateLimitHeaders({ limit, remaining, resetsAt }: Quota): HeaderFields {
  return {
    "x-ratelimit-limit": `${limit}`,
    "x-ratelimit-remaining": `${remaining}`,
    "x-ratelimit-reset": `${Math.ceil(resetsAt / 1000)}`,
  };
}

export const STORE_UNAVAILABLE: ErrorReply = { error: "store_unavailable", headers: { "retry-after": "5" } };

/** The reply to a request that threw an error. It reveals nothing but whether to retry. */
export function failureReply(thrown: unknown): ErrorReply {
  return isStoreUnavailable(thrown) ? STORE_UNAVAILABLE : { error: "internal_error" };
}

const ERROR_BODIES = Object.fromEntries(
  Object.entries(ERRORS).map(([code, { status, message }]) => [
    code,
    JSON.stringify({ code, message, status }),
  ]),
) as Readonly<Record<ErrorCode, string>>;

export function toResponse({ status, headers, body }: PlainResponse): Response {
  // Cloudflare Workers would compress a body with this header again. Other runtimes ignore the option.
  const encoding = Object.hasOwn(headers, "content-encoding") ? { encodeBody: "manual" } : {};
  return new Response(body === null ? null : toWebBody(body), { status, headers, ...encoding });
}
