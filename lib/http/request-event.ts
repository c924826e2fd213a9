import { accountIdOf, redactKeys } from "../accounts/api-key.ts";
import { errorMessage } from "../core/errors.ts";
import { escapeControls } from "../core/text.ts";
import type { ErrorCode } from "./errors.ts";
import { decodeUnreserved, targetOf } from "./path.ts";
import type { StreamEnd } from "./reply.ts";
import { presentedKey, type RequestContext, type RequestHead } from "./request.ts";
import type { RequestResult } from "./response.ts";

/** A finished request, for logs and metrics. It never contains a key. */
export interface RequestEvent {
  readonly requestId: string;
  readonly method: string;
  /** The requested path, without its query and keys, and cut after 512 characters. Missing if it was never parsed. */
  readonly path?: string;
  readonly operation?: string;
  readonly status: number;
  /** From the arrival of the request to the end of the response body. */
  readonly durationMs: number;
  /** The identifier of the account. Missing if the request has no valid key. */
  readonly accountId?: string;
  readonly keyId?: string;
  readonly plan?: string;
  /** The account that a key names which is well-formed and not valid, or not looked up. Anyone can write such a key. */
  readonly claimedAccountId?: string;
  /** A code of `ERRORS`, or one of an operation of your own. */
  readonly errorCode?: ErrorCode | (string & {});
  /** With a 429: the value of `X-RateLimit-Limit`. */
  readonly limit?: number;
  /** With a 429: when the caller is admitted again at the earliest, as RFC 3339 has it. */
  readonly limitedUntil?: string;
  readonly startsBan?: true;
  /** Why the request would have been rejected, if `enforce` were not off. */
  readonly wouldReject?: "rate_limit_exceeded" | "api_key_banned";
  /** The end of the response body; see `StreamEnd`. That of a `HEAD` request is complete: there is no body. */
  readonly bodyEnd: StreamEnd["status"];
  /** The error behind a 5xx or an incomplete body. Do not show it to clients. */
  readonly error?: unknown;
  /** The request's own `traceparent`, if it has the form of W3C Trace Context. */
  readonly traceparent?: string;
}

/** The part of a request that identifies its caller. A log contains it only if its operator wants that. */
export interface ClientInfo {
  readonly address?: string;
}

interface Received {
  readonly request: RequestHead;
  readonly context: RequestContext;
  readonly requestId: string;
  readonly startedAt: number;
  readonly keyHeaders: readonly string[] | undefined;
}

const MAX_PATH_CHARS = 512;

/** How often a path is decoded in search of a key. An escape whose percent sign alone is escaped counts as one. */
const MAX_DECODINGS = 8;

/** https://www.w3.org/TR/trace-context/#versioning-of-traceparent. A later version can have more, which is not logged. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2})(?:$|(?<!^00.{53})-)/;

export function toEvent(
  { reply, operation, caller, thrown, quota, limitedUntil, startsBan, wouldReject }: RequestResult,
  status: number,
  end: StreamEnd,
  { request, context, requestId, startedAt, keyHeaders }: Received,
): RequestEvent {
  const { headers } = request;
  const path = loggedPath(request, context);
  const [, traceparent] = TRACEPARENT.exec(headers.get("traceparent") ?? "") ?? [];
  const error = end.status === "failed" ? end.error : thrown;
  // Also without the scheme, which the caller may have left out.
  const presented = presentedKey(headers, keyHeaders) ?? headers.get("authorization") ?? "";
  const claimed = caller ? undefined : accountIdOf(presented.slice(presented.lastIndexOf(" ") + 1));
  return {
    requestId,
    method: request.method,
    ...(path === undefined ? {} : { path }),
    ...(operation === undefined ? {} : { operation: operation.id }),
    status,
    durationMs: performance.now() - startedAt,
    ...(caller === undefined ? {} : { accountId: caller.accountId, keyId: caller.keyId, plan: caller.plan }),
    ...(claimed === undefined ? {} : { claimedAccountId: claimed }),
    ...(reply.error === undefined ? {} : { errorCode: reply.error }),
    ...(quota && limitedUntil && { limit: quota.limit, limitedUntil: new Date(limitedUntil).toISOString() }),
    ...(startsBan === true && { startsBan }),
    ...(wouldReject !== undefined && { wouldReject }),
    bodyEnd: end.status,
    ...(error === undefined ? {} : { error }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

function loggedPath(request: RequestHead, { target, requestError }: RequestContext): string | undefined {
  if (target === undefined && requestError !== undefined) return undefined;
  const path = (target ?? targetOf(request.url)).replace(/[?#].*/s, "");
  // The rest, of which nothing is logged, costs nothing.
  const start = path.slice(0, 3 * MAX_PATH_CHARS);
  // Decoded first, so that an escape does not hide a key, not even one that is escaped again.
  const decoded = decodeUnreserved(start);
  let plain = decoded;
  for (let round = 0; round < MAX_DECODINGS && plain.includes("%"); round++)
    plain = decodeUnreserved(plain.replaceAll(/%(?:25)+/g, "%"));
  const safe = [redactKeys(plain)].find((text) => text !== plain) ?? redactKeys(decoded);
  return safe.length > MAX_PATH_CHARS || path.length > 3 * MAX_PATH_CHARS
    ? `${safe.slice(0, MAX_PATH_CHARS)}…`
    : safe;
}

export interface AccessFields extends Omit<RequestEvent, "error"> {
  readonly at: string;
  readonly error?: string;
}

/** Serialises the fields of a line, without keys. A caller may have sent controls, of which JSON escapes the first 32. */
export function toLogLine(fields: object): string {
  return escapeControls(redactKeys(JSON.stringify(fields)));
}

/** The log fields of one request. An error is logged by its message and those of its causes, without stack or keys. */
export function accessFields({ error, durationMs, ...event }: RequestEvent, at: Date): AccessFields {
  return {
    at: at.toISOString(),
    ...event,
    durationMs: Math.round(durationMs * 10) / 10,
    ...(error === undefined ? {} : { error: describeError(error) }),
  };
}

function describeError(error: unknown): string {
  const message = redactKeys(errorMessage(error));
  return error instanceof Error ? `${error.name}: ${message}` : message;
}
