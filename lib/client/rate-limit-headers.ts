import type { Instant } from "../clock.ts";

/** The rate-limit headers of a response. */
export interface RateLimitHeaders {
  readonly window?: RateLimitWindow;
  /** The wait before the next request. */
  readonly retryAfterMs?: number;
}

/** The rate-limit window that a response reports. */
export interface RateLimitWindow {
  readonly remainingRequests: number;
  /** When the window ends by the service's clock, in Unix seconds. It identifies the window. */
  readonly resetSeconds: number;
  readonly resetsInMs: number;
}

/**
 * Parses `X-RateLimit-Remaining`, `X-RateLimit-Reset` and `Retry-After` (RFC 9110, section 10.2.3). Instants are
 * compared with the response's own `Date`, if present, so a skewed client clock does not matter.
 * See lib/README.md#rate-limit-headers.
 */
export function readRateLimitHeaders(headers: Headers, now: Instant): RateLimitHeaders {
  const serverNow = parseHttpDate(headers.get("date")) ?? now;
  const remainingRequests = parseWholeNumber(headers.get("x-ratelimit-remaining"));
  const resetSeconds = parseWholeNumber(headers.get("x-ratelimit-reset"));
  const retryAfterMs = parseRetryAfter(headers.get("retry-after"), serverNow);
  return {
    ...(remainingRequests === undefined || resetSeconds === undefined
      ? {}
      : { window: { remainingRequests, resetSeconds, resetsInMs: resetSeconds * 1000 - serverNow } }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

function parseRetryAfter(header: string | null, serverNow: Instant): number | undefined {
  const seconds = parseWholeNumber(header);
  if (seconds !== undefined) return seconds * 1000;
  const instant = parseHttpDate(header);
  return instant === undefined ? undefined : Math.max(0, instant - serverNow);
}

function parseWholeNumber(header: string | null): number | undefined {
  return header !== null && /^\d{1,12}$/.test(header) ? Number(header) : undefined;
}

/** The suffix is required because `Date.parse` accepts almost anything. */
function parseHttpDate(header: string | null): Instant | undefined {
  const instant = header?.endsWith(" GMT") === true ? Date.parse(header) : Number.NaN;
  return Number.isNaN(instant) ? undefined : instant;
}
