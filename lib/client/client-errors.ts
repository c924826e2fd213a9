import type { Instant } from "../clock.ts";
import { type ErrorCode, StoreOrdersError } from "../errors.ts";

/** What the service said of a request that it did not do. */
export interface ApiErrorFacts {
  readonly status: number;
  /** A code of the service; `unexpected_answer` where the answer has none, as from a proxy before it. */
  readonly code: ErrorCode | "unexpected_answer";
  readonly message: string;
  /** Names the request; give it when you ask for help. */
  readonly requestId?: string | undefined;
}

/** The service refused a request for a reason that the call has no outcome for, such as a wrong key. */
export class ApiError extends StoreOrdersError {
  override readonly name = "ApiError";
  readonly code: ApiErrorFacts["code"];
  readonly status: number;
  readonly requestId: string | undefined;
  readonly retryable: boolean;

  constructor({ code, status, message, requestId }: ApiErrorFacts) {
    super(`${status} ${code}: ${message}`);
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.retryable = TRANSIENT.has(status);
  }
}

/** Statuses that say nothing of the request itself: it can succeed when it is sent again, later. */
const TRANSIENT: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** The service asks for a longer wait than the call may take. Nothing was sent that it would have refused. */
export class RateLimitedError extends StoreOrdersError {
  override readonly name = "RateLimitedError";
  readonly code = "rate_limited";
  readonly retryable = true;
  /** From this instant on the call can succeed. */
  readonly retryAt: Instant;

  constructor(retryAt: Instant, options?: ErrorOptions) {
    super(`The limit is used up until ${new Date(retryAt).toISOString()}.`, options);
    this.retryAt = retryAt;
  }
}

/** The time ran out: of one attempt, of the wait for more of a list, or of the call in all. */
export class TimeoutError extends StoreOrdersError {
  override readonly name = "TimedOutError";
  readonly code = "timed_out";
  readonly retryable = true;
  readonly phase: "attempt" | "idle" | "total";

  constructor(phase: TimeoutError["phase"], milliseconds: number) {
    super(`${TIMED_OUT[phase]} within ${milliseconds} ms.`);
    this.phase = phase;
  }
}

const TIMED_OUT = {
  attempt: "There was no answer",
  idle: "The list did not go on",
  total: "The call was not done",
};

/** The service could not be reached, or the connection broke before there was an answer. */
export class NetworkError extends StoreOrdersError {
  override readonly name = "NetworkError";
  readonly code = "network_failed";
  readonly retryable = true;
}

/** The list broke off before its end: what was read of it is right, but it is not all. */
export class IncompleteListError extends StoreOrdersError {
  override readonly name = "TornListError";
  readonly code = "list_torn";
  readonly retryable = true;
}

/** What came is not a list of orders. */
export class MalformedListError extends StoreOrdersError {
  override readonly name = "MalformedListError";
  readonly code = "list_malformed";
  readonly retryable = false;
}
