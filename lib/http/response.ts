import type { Caller } from "../accounts/admission.ts";
import { ERRORS, isStoreUnavailable } from "../errors.ts";
import type { Quota } from "../plans/windows.ts";
import { discardBody } from "./body.ts";
import { deprecationHeaders } from "./deprecation.ts";
import { BASE_PATH, type Operation } from "./operations.ts";
import type { PlainResponse } from "./plain-response.ts";
import { type ErrorReply, errorJson, type Reply, rateLimitHeaders } from "./reply.ts";

/** Everything known about a request once its reply is decided. */
export interface Outcome {
  readonly reply: Reply;
  /** For the rate-limit headers. Missing for responses without them: redirects, 421, documents and health checks. */
  readonly quota?: Quota;
  /** Missing if the request has no valid key. */
  readonly caller?: Caller;
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

/** Creates a response. Every response is created here, so that none lacks a header. */
export function toPlainResponse(
  { reply, quota, operation }: Outcome,
  requestId: string,
  isHead: boolean,
): PlainResponse {
  const status = statusOf(reply);
  const body = reply.error === undefined ? (reply.body ?? null) : errorJson(reply.error);
  const headers: Record<string, string> =
    body === null
      ? { "cache-control": "no-store", "x-request-id": requestId }
      : { "content-type": "application/json", "cache-control": "no-store", "x-request-id": requestId };
  if (quota !== undefined) Object.assign(headers, rateLimitHeaders(quota));
  if (operation?.deprecation !== undefined)
    Object.assign(headers, deprecationHeaders(operation.deprecation, `${BASE_PATH}${operation.path}`));
  if (reply.headers !== undefined) Object.assign(headers, reply.headers);
  if (!isHead) return { status, headers, body };
  if (body !== null) discardBody(body);
  return { status, headers, body: null };
}
