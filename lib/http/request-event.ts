import type { ErrorCode } from "../errors.ts";
import type { Plan } from "../plans/plan-limits.ts";
import type { StreamEnd } from "./order-stream.ts";
import { type Outcome, statusOf } from "./response.ts";

/** A finished request, for logs and metrics. It never contains a key. */
export interface RequestEvent {
  readonly requestId: string;
  readonly method: string;
  /** Missing if no operation has this method and path. */
  readonly operation?: string;
  readonly status: number;
  /** From the arrival of the request to the end of the response body. */
  readonly durationMs: number;
  /** The identifier of the account. Missing if the request has no valid key. */
  readonly account?: string;
  readonly keyId?: string;
  readonly plan?: Plan;
  readonly errorCode?: ErrorCode;
  /** How the response body ended. */
  readonly bodyEnd: StreamEnd["status"];
  /** The error behind a 5xx or an incomplete body. Do not show it to clients. */
  readonly error?: unknown;
}

/** Creates the event of a request. */
export function toEvent(
  { reply, operation, access, thrown }: Outcome,
  end: StreamEnd,
  { requestId, method, startedAt }: { requestId: string; method: string; startedAt: number },
): RequestEvent {
  const caller = access?.caller;
  const error = end.status === "failed" ? end.error : thrown;
  return {
    requestId,
    method,
    ...(operation === undefined ? {} : { operation: operation.id }),
    status: statusOf(reply),
    durationMs: performance.now() - startedAt,
    ...(caller === undefined ? {} : { account: caller.accountId, keyId: caller.keyId, plan: caller.plan }),
    ...(reply.error === undefined ? {} : { errorCode: reply.error }),
    bodyEnd: end.status,
    ...(error === undefined ? {} : { error }),
  };
}
