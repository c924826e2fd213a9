import { ERRORS, type ErrorCode } from "../../lib/http/errors.ts";

/** A response that API Gateway produces without invoking a function, with the Error body of the API. */
interface GatewayResponse {
  /** The response type, as API Gateway names it. */
  readonly type: string;
  readonly status: number;
  readonly body: string;
  /** By name: a literal in single quotes, or a context variable. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The error of each response type. The two defaults cover all other types. Every path has an integration, so a missing
 * route means a request that API Gateway cannot parse.
 */
const ERROR_BY_TYPE = {
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

/**
 * The responses that API Gateway produces itself. With a web ACL of this stack, whose only rule is a rate limit, a
 * blocked request gets the status of a rate limit instead of 403.
 */
export function gatewayResponses({ hasRateLimit = false } = {}): readonly GatewayResponse[] {
  const byType = {
    ...ERROR_BY_TYPE,
    ...(hasRateLimit && ({ WAF_FILTERED: "rate_limit_exceeded" } as const)),
  };
  return Object.entries(byType).map(([type, code]) => {
    const { status, message } = ERRORS[code];
    const isWorthRetrying = status === 429 || status >= 500;
    // WAF evaluates its rate limit over minutes. The throttle refills every second, and an invocation can succeed at once.
    const seconds = type === "WAF_FILTERED" ? 60 : 1;
    return {
      type,
      status,
      body: JSON.stringify({ code, message, status }),
      headers: {
        "Cache-Control": "'no-store'",
        // The functions use the same identifier.
        "X-Request-Id": "context.requestId",
        ...(isWorthRetrying && { "Retry-After": `'${seconds}'` }),
      },
    };
  });
}
