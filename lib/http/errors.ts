/** The codes of Error bodies, with status and message. Only a gateway in front of the service produces 403 and 504. */
export const ERRORS = {
  bad_request: { status: 400, message: "The request is not valid HTTP." },
  missing_api_key: { status: 401, message: "Send your API key as 'Authorization: Bearer <API_KEY>'." },
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
  operation_sunset: { status: 410, message: "This operation has been retired. See the Link header." },
  precondition_failed: { status: 412, message: "A precondition of the request, such as If-Match, is false." },
  request_too_large: { status: 413, message: "The request is larger than the service accepts." },
  uri_too_long: { status: 414, message: "The request's URL is too long." },
  expectation_failed: { status: 417, message: "The Expect header is not '100-continue'." },
  misdirected_request: { status: 421, message: "This host is not served here." },
  too_early: { status: 425, message: "Send the request again, not as early data (0-RTT)." },
  rate_limit_exceeded: { status: 429, message: "Rate limit exceeded. Wait for the time in Retry-After." },
  api_key_banned: {
    status: 429,
    message:
      "The API key is banned because requests went on after a 429. Send none until the time in Retry-After is over, and from then on wait as each 429 says.",
  },
  headers_too_large: { status: 431, message: "The request's header fields are too large." },
  internal_error: { status: 500, message: "Something went wrong on our side." },
  not_implemented: { status: 501, message: "The service does not implement this method." },
  store_unavailable: { status: 503, message: "The store cannot be reached. Try again later." },
  gateway_timeout: { status: 504, message: "The service did not respond in time. Try again later." },
} as const satisfies Record<string, { readonly status: number; readonly message: string }>;

/** The codes of operations with a query or a body, in addition to `request_timeout` and `request_too_large`. */
export const INPUT_ERRORS = {
  invalid_input: { status: 400, message: "The query or the body is invalid. See 'issues'." },
  unsupported_media_type: {
    status: 415,
    message: "Send the body as 'Content-Type: application/json', in UTF-8 and without a Content-Encoding.",
  },
} as const satisfies Record<string, { readonly status: number; readonly message: string }>;

/** A code that an Error body can carry. */
export type ErrorCode = keyof typeof ERRORS;

/** The body of every error response. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status: number;
}
