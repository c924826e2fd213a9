import type { Instant } from "../clock.ts";

/** What the headers of an answer say of the limits. */
export interface RateLimitReport {
  readonly window?: {
    /** Requests left. */
    readonly remaining: number;
    /** When the window ends by the service's clock, in Unix seconds: it names the window. */
    readonly reset: number;
    /** Milliseconds until then. */
    readonly resetsIn: number;
  };
  /** Milliseconds to wait before the next request. */
  readonly retryAfter?: number;
}

/**
 * Reads the rate-limit headers (specification, "Limits") and `Retry-After` (RFC 9110, section 10.2.3). An instant
 * is taken against the answer's own `Date` where it has one, so that a client whose clock is wrong waits right.
 */
export function readRateLimit(headers: Headers, now: Instant): RateLimitReport {
  const there = instantOf(headers.get("date")) ?? now;
  const remaining = wholeNumber(headers.get("x-ratelimit-remaining"));
  const reset = wholeNumber(headers.get("x-ratelimit-reset"));
  const retryAfter = readRetryAfter(headers.get("retry-after"), there);
  return {
    ...(remaining === undefined || reset === undefined
      ? {}
      : { window: { remaining, reset, resetsIn: reset * 1000 - there } }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  };
}

function readRetryAfter(header: string | null, there: Instant): number | undefined {
  const seconds = wholeNumber(header);
  if (seconds !== undefined) return seconds * 1000;
  const instant = instantOf(header);
  return instant === undefined ? undefined : Math.max(0, instant - there);
}

function wholeNumber(header: string | null): number | undefined {
  return header !== null && /^\d{1,12}$/.test(header) ? Number(header) : undefined;
}

/** An HTTP date; `Date.parse` alone would take almost anything for one. */
function instantOf(header: string | null): Instant | undefined {
  const instant = header?.endsWith(" GMT") === true ? Date.parse(header) : Number.NaN;
  return Number.isNaN(instant) ? undefined : instant;
}
