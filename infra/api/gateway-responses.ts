import { ERRORS, type ErrorCode } from "../../lib/errors.ts";

/** What the gateway answers by itself, without asking a function, in the shape of an Error body. */
export interface GatewayResponse {
  /** The gateway's own name of the case. */
  readonly type: string;
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * By case, the error that it is answered with. The two defaults stand for whatever is not named; every path has a
 * function behind it, so a missing route can only mean a request that the gateway cannot read.
 */
const CASES = {
  DEFAULT_4XX: "bad_request",
  DEFAULT_5XX: "internal_error",
  ACCESS_DENIED: "forbidden",
  WAF_FILTERED: "forbidden",
  MISSING_AUTHENTICATION_TOKEN: "route_not_found",
  RESOURCE_NOT_FOUND: "route_not_found",
  REQUEST_TOO_LARGE: "request_too_large",
  THROTTLED: "rate_limit_exceeded",
  QUOTA_EXCEEDED: "rate_limit_exceeded",
  INTEGRATION_FAILURE: "gateway_timeout",
  INTEGRATION_TIMEOUT: "gateway_timeout",
} as const satisfies Record<string, ErrorCode>;

/** How long a client should wait after the stage's own throttle, in seconds: it refills every second. */
const THROTTLE_RETRY_AFTER = 1;

/** Every answer that the gateway gives by itself. */
export function gatewayResponses(): readonly GatewayResponse[] {
  return Object.entries(CASES).map(([type, code]) => {
    const { status, message } = ERRORS[code];
    return {
      type,
      status,
      body: JSON.stringify({ code, message, status }),
      headers: code === "rate_limit_exceeded" ? { "Retry-After": `${THROTTLE_RETRY_AFTER}` } : {},
    };
  });
}
