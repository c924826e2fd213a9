import { ERRORS, type ErrorCode } from "../errors.ts";
import type { Plan } from "../plans/plan-limits.ts";
import type { StreamEnd } from "./order-stream.ts";
import type { Outcome } from "./response.ts";

/** What happened to one request, told once it is over. It never holds a key. */
export interface RequestEvent {
  readonly requestId: string;
  readonly method: string;
  /** Absent where no operation was meant. */
  readonly operation?: string;
  readonly status: number;
  /** From the request's arrival to the end of its answer. */
  readonly durationMs: number;
  readonly account?: string;
  readonly keyId?: string;
  readonly plan?: Plan;
  readonly errorCode?: ErrorCode;
  /** How the answer's body ended. */
  readonly bodyEnd: StreamEnd["status"];
  /** What was thrown, for a 5xx or a body that broke off. Not for the client's eyes. */
  readonly error?: unknown;
}

/** Puts together what is told of a request. */
export function toEvent(
  outcome: Outcome,
  ending: StreamEnd,
  about: { requestId: string; method: string; began: number },
): RequestEvent {
  const { answer, operation, standing, thrown } = outcome;
  const caller = standing?.caller;
  const error = ending.status === "failed" ? ending.error : thrown;
  return {
    requestId: about.requestId,
    method: about.method,
    ...(operation === undefined ? {} : { operation: operation.id }),
    status: "error" in answer ? ERRORS[answer.error].status : answer.status,
    durationMs: performance.now() - about.began,
    ...(caller === undefined ? {} : { account: caller.accountId, keyId: caller.keyId, plan: caller.plan }),
    ...("error" in answer ? { errorCode: answer.error } : {}),
    bodyEnd: ending.status,
    ...(error === undefined ? {} : { error }),
  };
}
