import type { Instant } from "../clock.ts";

/** The rate-limit headers of a response. The property of a missing or invalid header is missing. */
export interface RateLimitHeaders {
  readonly window?: RateLimitWindow;
  /** The wait before the next request. It can be any length, even `Infinity`. */
  readonly retryAfterMs?: number;
}

/** The rate-limit window that a response reports. */
export interface RateLimitWindow {
  readonly remainingRequests: number;
  /** When the window ends by the service's clock, in Unix seconds. It identifies the window. */
  readonly resetSeconds: number;
  readonly resetsInMs: number;
}

/** The length of the longest rate-limit window: a day. */
export const LONGEST_WINDOW_MS = 24 * 60 * 60 * 1000;

/** The minute allows for clocks that differ slightly. */
const MAX_RESET_MS = LONGEST_WINDOW_MS + 60_000;

/**
 * Parses `X-RateLimit-Remaining`, `X-RateLimit-Reset` and `Retry-After` (RFC 9110, section 10.2.3). Instants are
 * compared with the response's own `Date`, if present, so a skewed client clock does not matter.
 * See lib/README.md#rate-limit-headers.
 */
export function readRateLimitHeaders(headers: Headers, now: Instant): RateLimitHeaders {
  const serverNow = parseHttpDate(headers.get("date")) ?? now;
  const window = readWindow(headers, serverNow) ?? readWindow(headers, now);
  const retryAfterMs = parseRetryAfter(headers.get("retry-after"), serverNow);
  return {
    ...(window === undefined ? {} : { window }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** Returns `undefined` if a header is missing, or if no current window can end at this reset time. */
function readWindow(headers: Headers, now: Instant): RateLimitWindow | undefined {
  const remainingRequests = parseWholeNumber(headers.get("x-ratelimit-remaining"));
  const resetSeconds = parseWholeNumber(headers.get("x-ratelimit-reset"));
  if (remainingRequests === undefined || resetSeconds === undefined) return undefined;
  const resetsInMs = resetSeconds * 1000 - now;
  return resetsInMs > 0 && resetsInMs <= MAX_RESET_MS
    ? { remainingRequests, resetSeconds, resetsInMs }
    : undefined;
}

function parseRetryAfter(header: string | null, serverNow: Instant): number | undefined {
  const seconds = parseWholeNumber(header);
  if (seconds !== undefined) return seconds * 1000;
  const instant = parseHttpDate(header);
  return instant === undefined ? undefined : Math.max(0, instant - serverNow);
}

function parseWholeNumber(header: string | null): number | undefined {
  return header !== null && /^\d+$/.test(header) ? Number(header) : undefined;
}

/** RFC 9110, section 5.6.7. The pattern is required because `Date.parse` accepts almost anything. */
function parseHttpDate(header: string | null): Instant | undefined {
  if (header === null || !HTTP_DATE.test(header)) return undefined;
  const instant = Date.parse(header);
  return Number.isNaN(instant) ? undefined : instant;
}

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
