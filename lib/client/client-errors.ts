import { StoreOrdersError } from "../core/errors.ts";
import type { Instant } from "../core/time.ts";
import type { ErrorCode, INPUT_ERRORS } from "../http/errors.ts";

/** An error response that the call has no result for, such as a 401 for an invalid key. */
export class ApiError extends StoreOrdersError {
  override readonly name = "ApiError";
  /** A code of the service, or `unexpected_response` if the response was not sent by the service. */
  readonly code: ErrorCode | keyof typeof INPUT_ERRORS | "unexpected_response";
  readonly status: number;
  /** Identifies the request in the service's logs. */
  readonly requestId: string | undefined;
  readonly retryable: boolean;

  constructor(response: Pick<ApiError, "code" | "status" | "message" | "requestId">) {
    const { code, status, message, requestId } = response;
    super(`${status} ${code}: ${message}`);
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.retryable = isTransient(status);
  }
}

/** True for a status that is not caused by the request: the same request can succeed later. */
export function isTransient(status: number): boolean {
  return status === 425 || status === 429 || (status >= 502 && status <= 504);
}

/** The service requires a longer wait than the call allows. The request was not sent again. */
export class RateLimitedError extends StoreOrdersError {
  override readonly name = "RateLimitedError";
  readonly code = "rate_limited";
  readonly retryable = true;
  /** The earliest instant at which the call can succeed; a day ahead at most, even if the service asks for more. */
  readonly retryAt: Instant;

  constructor(retryAt: Instant, options?: ErrorOptions) {
    super(`The service accepts no requests before ${new Date(retryAt).toISOString()}.`, options);
    this.retryAt = retryAt;
  }
}

/** A time limit of the client was exceeded; `phase` names it. */
export class TimeoutError extends StoreOrdersError {
  override readonly name = "TimeoutError";
  readonly code = "timeout";
  readonly retryable = true;
  readonly phase: "attempt" | "idle" | "total";

  constructor(phase: TimeoutError["phase"], milliseconds: number) {
    super(`${TIMEOUT_MESSAGES[phase]} within ${milliseconds} ms.`);
    this.phase = phase;
  }
}

const TIMEOUT_MESSAGES = {
  attempt: "The service did not respond",
  idle: "The list did not continue",
  total: "The call did not finish",
};

/** The service could not be reached, or the connection failed before the response was complete. */
export class NetworkError extends StoreOrdersError {
  override readonly name = "NetworkError";
  readonly code = "network_error";
  readonly retryable = true;
}

/** The list ended early: the orders read so far are correct, but some are missing. */
export class IncompleteListError extends StoreOrdersError {
  override readonly name = "IncompleteListError";
  readonly code = "list_incomplete";
  readonly retryable = true;
}

/** The response is not a list of orders. */
export class MalformedListError extends StoreOrdersError {
  override readonly name = "MalformedListError";
  readonly code = "list_malformed";
  readonly retryable = false;
}
