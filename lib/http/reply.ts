import { ERRORS, type ErrorBody, type ErrorCode } from "../errors.ts";
import type { OrderEvent, StoredOrder } from "../orders/lifecycle.ts";
import type { Quota } from "../plans/windows.ts";
import type { ResponseBody } from "./body.ts";
import type { StreamEnd } from "./order-stream.ts";
import type { RequestHead } from "./plain-response.ts";

/** Header names and values to add to a response. */
export type HeaderFields = Readonly<Record<string, string>>;

/** An error response without the headers that all responses share. */
export interface ErrorReply {
  readonly error: ErrorCode;
  readonly headers?: HeaderFields;
}

/** A successful response without the headers that all responses share. */
export interface SuccessReply {
  readonly error?: undefined;
  readonly status: 200 | 201 | 202 | 204 | 301 | 302;
  /** JSON, unless the headers have another content type. Missing for a response without a body. */
  readonly body?: ResponseBody;
  readonly headers?: HeaderFields;
  /** Resolves when a streamed body has ended. */
  readonly ended?: Promise<StreamEnd>;
  /** What the operation changed, for `onTransition`. */
  readonly change?: { readonly event: OrderEvent; readonly order: StoredOrder };
}

/** A response without the headers that all responses share. */
export type Reply = ErrorReply | SuccessReply;

/** Serves documents beside the API, without a key and without counting. Returns `undefined` for any other path. */
export type DocumentSource = (path: string, request: RequestHead) => Promise<Reply | undefined>;

/** The three rate-limit headers. See lib/README.md#rate-limit-headers. */
export function rateLimitHeaders({ limit, remaining, resetsAt }: Quota): HeaderFields {
  return {
    "x-ratelimit-limit": `${limit}`,
    "x-ratelimit-remaining": `${remaining}`,
    "x-ratelimit-reset": `${Math.ceil(resetsAt / 1000)}`,
  };
}

const ERROR_BODIES = Object.fromEntries(
  Object.entries(ERRORS).map(([code, { status, message }]) => [
    code,
    JSON.stringify({ code: code as ErrorCode, message, status } satisfies ErrorBody),
  ]),
) as Readonly<Record<ErrorCode, string>>;

/** The Error body of a code, as JSON. */
export function errorJson(code: ErrorCode): string {
  return ERROR_BODIES[code];
}
