/**
 * What every part of the library needs to report an error.
 *
 * An outcome that a caller branches on is returned as `{ ok: false, code }` with a literal code. An error that a caller
 * can only retry or abort on is thrown as a `StoreOrdersError`; recognise it with the guards below.
 *
 * Codes that only one part reports are declared there: see `LIFECYCLE` for those of orders, `REASONS` for those of
 * domains, and client-errors.ts for those of the client.
 */

/**
 * The closed set of codes in an Error body, with their status and message. 403 and 504 are produced only by a gateway
 * in front of the service. See lib/README.md#errors.
 */
export const ERRORS = {
  bad_request: { status: 400, message: "The request is not valid HTTP." },
  missing_api_key: {
    status: 401,
    message: "Send your API key as 'Authorization: Bearer <API_KEY>'.",
  },
  invalid_api_key: {
    status: 401,
    message: "The API key is not valid. Check it for typing errors, expiry and revocation.",
  },
  forbidden: { status: 403, message: "Access denied." },
  order_not_found: { status: 404, message: "There is no order with this identifier." },
  pet_not_found: { status: 404, message: "There is no pet with this identifier." },
  route_not_found: { status: 404, message: "There is no operation at this path." },
  method_not_allowed: {
    status: 405,
    message: "This path does not support the method. See the Allow header.",
  },
  not_acceptable: { status: 406, message: "This document is only sent with gzip. See Accept-Encoding." },
  request_timeout: { status: 408, message: "The request did not arrive in time." },
  order_already_shipped: { status: 409, message: "The order has already shipped." },
  order_already_cancelled: { status: 409, message: "The order is already cancelled." },
  operation_sunset: {
    status: 410,
    message: "This operation has been retired. See the Link header.",
  },
  request_too_large: { status: 413, message: "The request is larger than the service accepts." },
  uri_too_long: { status: 414, message: "The request's URL is too long." },
  expectation_failed: { status: 417, message: "The Expect header is not '100-continue'." },
  misdirected_request: { status: 421, message: "This host is not served here." },
  rate_limit_exceeded: {
    status: 429,
    message: "Rate limit exceeded. Wait for the time in Retry-After.",
  },
  api_key_banned: {
    status: 429,
    message: "The API key is temporarily banned. Wait for the time in Retry-After.",
  },
  headers_too_large: { status: 431, message: "The request's header fields are too large." },
  internal_error: { status: 500, message: "Something went wrong on our side." },
  not_implemented: { status: 501, message: "The service does not implement this method." },
  store_unavailable: { status: 503, message: "The store cannot be reached. Try again later." },
  gateway_timeout: { status: 504, message: "The service did not respond in time. Try again later." },
} as const satisfies Record<string, { readonly status: number; readonly message: string }>;

/** A code that an Error body can carry. */
export type ErrorCode = keyof typeof ERRORS;

/** The body of every error response. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  /** The HTTP status code. */
  readonly status: number;
}

/** Why an operation on an account or a key failed, with a message for people. */
export const ACCOUNT_ERRORS = {
  account_exists: "An account with this identifier already exists.",
  account_not_found: "There is no account with this identifier.",
  key_not_found: "There is no key with this identifier.",
  key_not_active: "The key is revoked or expired. Issue a new one instead.",
  key_already_rotated: "The key has already been rotated.",
  too_many_keys: "The account already has 20 active keys. Revoke one first.",
} as const;

/** A code of `ACCOUNT_ERRORS`. */
export type AccountErrorCode = keyof typeof ACCOUNT_ERRORS;

/** A failed operation, as data. `code` says why. */
export interface Failure<Code extends string> {
  readonly ok: false;
  readonly code: Code;
}

/** The base class of everything that this library throws. */
export abstract class StoreOrdersError extends Error {
  /** What happened, for programs. */
  abstract readonly code: string;
  /** True if the same call can succeed later, false if the caller has to change something first. */
  abstract readonly retryable: boolean;
}

/**
 * The store is unreachable, did not respond in time, or cannot be used. A write may have been applied nevertheless.
 * `retryable` is false if its data is of no use to this program, whenever it is called.
 */
export class StoreUnavailableError extends StoreOrdersError {
  override readonly name = "StoreUnavailableError";
  readonly code = "store_unavailable";
  readonly retryable: boolean;

  constructor(message?: string, { retryable = true, ...options }: StoreUnavailableOptions = {}) {
    super(message, options);
    this.retryable = retryable;
  }
}

/** Options of a `StoreUnavailableError`. */
export interface StoreUnavailableOptions {
  readonly cause?: unknown;
  /** @default true */
  readonly retryable?: boolean;
}

/** The database was written by a newer version of store-orders. It has not been changed. */
export class NewerSchemaError extends StoreOrdersError {
  override readonly name = "NewerSchemaError";
  readonly code = "newer_schema";
  readonly retryable = false;
}

/** One problem with an input: the field, and what to write instead. */
export interface Issue {
  /** The field, as a path such as `shipDate` or `domains.redirects[0].from`. Empty for the input as a whole. */
  readonly path: string;
  readonly message: string;
}

/** An input is invalid. Carries every issue, not just the first. */
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

/** An `InvalidInputError` with one issue. */
export function invalidInput(path: string, message: string): InvalidInputError {
  return new InvalidInputError([{ path, message }]);
}

/** True for a `StoreUnavailableError`, also one from another copy of this package. */
export function isStoreUnavailable(error: unknown): error is StoreUnavailableError {
  return hasCode(error, "store_unavailable");
}

/** True for an `InvalidInputError`, also one from another copy of this package. */
export function isInvalidInput(error: unknown): error is InvalidInputError {
  return hasCode(error, "invalid_input");
}

/** True for a `NewerSchemaError`, also one from another copy of this package. */
export function isNewerSchema(error: unknown): error is NewerSchemaError {
  return hasCode(error, "newer_schema");
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** All issues in one line. Most are sentences. */
export function explainIssues(issues: readonly Issue[]): string {
  return issues
    .map(({ path, message }) => (path === "" ? message : `${path}: ${message}`))
    .reduce((text, issue) => (text === "" ? issue : `${text}${/[.!?]$/.test(text) ? "" : ";"} ${issue}`), "");
}

/** An error's message with that of its cause, for people. Never a stack trace. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
