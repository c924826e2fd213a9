import { ERRORS, type ErrorCode } from "../../lib/http/errors.ts";

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
 * The responses that API Gateway produces itself, with the Error body of the API. The only rule of a web ACL of this stack is a
 * rate limit, so a blocked request gets the status of one instead of 403.
 */
export function gatewayResponses({ hasRateLimit = false } = {}) {
  const limited = hasRateLimit && ({ WAF_FILTERED: "rate_limit_exceeded" } as const);
  return Object.entries({ ...ERROR_BY_TYPE, ...limited }).map(([responseType, code]) => {
    const { status, message } = ERRORS[code];
    const isWorthRetrying = status === 429 || status >= 500;
    // WAF evaluates its rate limit over minutes. The throttle refills every second, and an invocation can succeed at once.
    const seconds = responseType === "WAF_FILTERED" ? 60 : 1;
    return {
      responseType,
      statusCode: `${status}`,
      responseTemplates: { "application/json": JSON.stringify({ code, message, status }) },
      // Literals in single quotes, or context variables.
      responseParameters: {
        "gatewayresponse.header.Cache-Control": "'no-store'",
        // The functions use the same identifier.
        "gatewayresponse.header.X-Request-Id": "context.requestId",
        ...(isWorthRetrying && { "gatewayresponse.header.Retry-After": `'${seconds}'` }),
      },
    };
  });
}
