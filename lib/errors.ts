/**
 * Every error and refusal, on one page.
 *
 * What a caller branches on in normal service is returned as data with a literal `code`; what it can only
 * stop at or retry is thrown as a `StoreOrdersError`.
 */

/**
 * The closed set of codes in an Error body, with the status and message that each one is answered with. Three of them
 * (403, 413, 504) only a gateway in front of the service has a use for.
 */
export const ERRORS = {
  bad_request: { status: 400, message: "The request is not valid HTTP." },
  missing_api_key: {
    status: 401,
    message: "Send your API key as 'Authorization: Bearer <API_KEY>'.",
  },
  invalid_api_key: {
    status: 401,
    message: "The API key is not valid. Check for typing errors, expiry and revocation.",
  },
  forbidden: { status: 403, message: "The request is not allowed through." },
  order_not_found: {
    status: 404,
    message: "There is no order with this identifier.",
  },
  pet_not_found: {
    status: 404,
    message: "There is no pet with this identifier.",
  },
  route_not_found: {
    status: 404,
    message: "There is no operation at this path.",
  },
  method_not_allowed: {
    status: 405,
    message: "This path does not support the method; see the Allow header.",
  },
  request_timeout: {
    status: 408,
    message: "The request did not arrive in time.",
  },
  order_already_shipped: {
    status: 409,
    message: "The order has already shipped.",
  },
  order_already_cancelled: {
    status: 409,
    message: "The order is already cancelled.",
  },
  order_not_shipped: { status: 409, message: "The order has not shipped yet." },
  operation_sunset: {
    status: 410,
    message: "This operation has been retired; see the Link header.",
  },
  request_too_large: { status: 413, message: "The request is larger than 10 MB." },
  uri_too_long: { status: 414, message: "The request's address is too long." },
  expectation_failed: {
    status: 417,
    message: "The Expect header asks for something else than '100-continue'.",
  },
  misdirected_request: {
    status: 421,
    message: "This host is not served here.",
  },
  rate_limit_exceeded: {
    status: 429,
    message: "Rate limit exceeded. Wait for the time in Retry-After.",
  },
  api_key_banned: {
    status: 429,
    message: "The API key is banned for a while. Wait for the time in Retry-After.",
  },
  headers_too_large: {
    status: 431,
    message: "The request's header fields are too large.",
  },
  internal_error: { status: 500, message: "Something went wrong on our side." },
  store_unavailable: {
    status: 503,
    message: "The store cannot be reached. Try again later.",
  },
  gateway_timeout: { status: 504, message: "The answer did not come in time. Try again later." },
} as const satisfies Record<string, { readonly status: number; readonly message: string }>;

/** A code that an Error body can carry. */
export type ErrorCode = keyof typeof ERRORS;

/** The body of every error response (specification, "Error"). */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  /** The HTTP status code. */
  readonly status: number;
}

/** Why an operator's change to an account or a key was not made. */
export const ACCOUNT_ERRORS = {
  account_exists: "There is already an account with this identifier.",
  account_not_found: "There is no account with this identifier.",
  key_not_found: "There is no key with this identifier.",
  key_not_active: "The key is revoked or expired; issue a new one instead.",
  too_many_keys: "The account has 20 living keys already; revoke one first.",
} as const;

/** A code of `ACCOUNT_ERRORS`. */
export type AccountErrorCode = keyof typeof ACCOUNT_ERRORS;

/** An operator's change that was not made, as data. */
export interface Refusal {
  readonly refused: AccountErrorCode;
}

/** The base of everything that this library throws. */
export abstract class StoreOrdersError extends Error {
  /** What happened, for a program. */
  abstract readonly code: string;
  /** True where the same call can succeed later with nothing changed. */
  abstract readonly retryable: boolean;
}

/** The store could not be asked, or did not answer in time. Nothing was let through unchecked. */
export class StoreUnavailableError extends StoreOrdersError {
  override readonly name = "StoreUnavailableError";
  readonly code = "store_unavailable";
  readonly retryable = true;
}

/** The database was written by a newer version of store-orders; it has not been touched. */
export class NewerSchemaError extends StoreOrdersError {
  override readonly name = "NewerSchemaError";
  readonly code = "newer_schema";
  readonly retryable = false;
}

/** One thing that is wrong with an input: where it stands, and what to write instead. */
export interface Issue {
  /** The field, as a path such as `shipDate` or `domains.redirects[0].from`; empty for the whole. */
  readonly path: string;
  readonly message: string;
}

/** An input that breaks its rules. Carries every issue, not just the first. */
export class InvalidInputError extends StoreOrdersError {
  override readonly name = "InvalidInputError";
  readonly code = "invalid_input";
  readonly retryable = false;
  readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[]) {
    super(explainIssues(issues));
    this.issues = issues;
  }
}

/** The message of anything that was thrown, with its cause's message; never a stack. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}

/** Says in one line everything that is wrong with an input. */
export function explainIssues(issues: readonly Issue[]): string {
  return issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
}
