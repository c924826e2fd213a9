import { redactKeys } from "../accounts/api-key.ts";
import type { ErrorCode } from "../errors.ts";
import type { RequestContext } from "./handler-options.ts";
import type { StreamEnd } from "./order-stream.ts";
import type { RequestHead } from "./plain-response.ts";
import { type Outcome, statusOf } from "./response.ts";
import { decodeUnreserved, targetOf } from "./target.ts";

/** A finished request, for logs and metrics. It never contains a key. */
export interface RequestEvent {
  readonly requestId: string;
  readonly method: string;
  /** The requested path, without its query and keys, and cut after 512 characters. Missing if it was never parsed. */
  readonly path?: string;
  /** Missing if no operation has this method and path. */
  readonly operation?: string;
  readonly status: number;
  /** From the arrival of the request to the end of the response body. */
  readonly durationMs: number;
  /** The identifier of the account. Missing if the request has no valid key. */
  readonly accountId?: string;
  readonly keyId?: string;
  readonly plan?: string;
  readonly errorCode?: ErrorCode;
  /** How the response body ended. That of a `HEAD` request is complete: there is none. */
  readonly bodyEnd: StreamEnd["status"];
  /** The error behind a 5xx or an incomplete body. Do not show it to clients. */
  readonly error?: unknown;
  /** The request's own `traceparent`, if it has the form of W3C Trace Context. */
  readonly traceparent?: string;
}

/** What a log may contain only if its operator wants it. */
export interface RequestSource {
  /** The IP address of the caller, if the runtime knows it. */
  readonly address?: string;
}

/** A request as it was received. */
interface Received {
  readonly request: RequestHead;
  readonly context: RequestContext;
  readonly requestId: string;
  readonly startedAt: number;
}

const MAX_PATH_CHARS = 512;

/** https://www.w3.org/TR/trace-context/#traceparent-header, version 00. */
const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Creates the event of a request. */
export function toEvent(
  { reply, operation, caller, thrown }: Outcome,
  end: StreamEnd,
  { request, context, requestId, startedAt }: Received,
): RequestEvent {
  const path = loggedPath(request, context);
  const traceparent = request.headers.get("traceparent") ?? "";
  const error = end.status === "failed" ? end.error : thrown;
  return {
    requestId,
    method: request.method,
    ...(path === undefined ? {} : { path }),
    ...(operation === undefined ? {} : { operation: operation.id }),
    status: statusOf(reply),
    durationMs: performance.now() - startedAt,
    ...(caller === undefined ? {} : { accountId: caller.accountId, keyId: caller.keyId, plan: caller.plan }),
    ...(reply.error === undefined ? {} : { errorCode: reply.error }),
    bodyEnd: end.status,
    ...(error === undefined ? {} : { error }),
    ...(TRACEPARENT.test(traceparent) ? { traceparent } : {}),
  };
}

/** A request that the server could not parse has no target. */
function loggedPath(request: RequestHead, { target, requestError }: RequestContext): string | undefined {
  if (target === undefined && requestError !== undefined) return undefined;
  const [path = ""] = (target ?? targetOf(request.url)).split(/[?#]/, 1);
  // Decoded first, so that an encoded underscore does not hide a key.
  const safe = redactKeys(path.includes("%") ? decodeUnreserved(path) : path);
  return safe.length > MAX_PATH_CHARS ? `${safe.slice(0, MAX_PATH_CHARS)}…` : safe;
}
