import { ERRORS, StoreUnavailableError } from "../errors.ts";
import { deprecationFields } from "./deprecation.ts";
import type { Operation } from "./operations.ts";
import { errorJson, quotaFields, type RateLimitStatus, type Reply } from "./reply.ts";

/** What was decided about a request. */
export interface Outcome {
  readonly answer: Reply;
  /** Absent where this is no response of the API, which says nothing of limits then (decision 12). */
  readonly standing?: RateLimitStatus;
  /** The operation that was meant, if any. */
  readonly operation?: Operation;
  readonly thrown?: unknown;
}

/** How long a client should leave a store alone that did not answer, in seconds. */
const STORE_RETRY_AFTER = "5";

/** What a caller is told of something that was thrown: whether to try again, and no more. */
export function failure(thrown: unknown): Reply {
  if (!(thrown instanceof StoreUnavailableError)) return { error: "internal_error" };
  return { error: "store_unavailable", headers: { "retry-after": STORE_RETRY_AFTER } };
}

/** A class that answers can be made of: `Response`, or one like it that costs less. */
export type ResponseClass = new (
  body: string | ReadableStream<Uint8Array> | null,
  init: { readonly status: number; readonly headers: Record<string, string> },
) => Response;

/** The one place that every response passes: no header can be missing from any of them. */
export function toResponse(
  outcome: Outcome,
  requestId: string,
  head: boolean,
  Answered: ResponseClass = Response,
): Response {
  const { answer, standing, operation } = outcome;
  const status = "error" in answer ? ERRORS[answer.error].status : answer.status;
  const body = "error" in answer ? errorJson(answer.error) : answer.body;
  const headers = {
    ...(body === undefined ? {} : JSON_FIELDS),
    "cache-control": "no-store",
    "x-request-id": requestId,
    ...(standing === undefined ? {} : quotaFields(standing.quota)),
    ...(operation?.deprecation === undefined ? {} : deprecationFields(operation.deprecation)),
    ...("headers" in answer ? answer.headers : {}),
  };
  if (!head) return new Answered(body ?? null, { status, headers });
  if (body instanceof ReadableStream) void body.cancel();
  return new Answered(null, { status, headers });
}

const JSON_FIELDS = { "content-type": "application/json" };
