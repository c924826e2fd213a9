import type { Instant } from "./time.ts";

/** The wait that `Retry-After` asks for (RFC 9110, section 10.2.3), in milliseconds: any length, even `Infinity`. */
export function parseRetryAfter(header: string | null, now: Instant): number | undefined {
  const seconds = parseWholeNumber(header);
  if (seconds !== undefined) return seconds * 1000;
  const instant = parseHttpDate(header);
  return instant === undefined ? undefined : Math.max(0, instant - now);
}

export function parseWholeNumber(header: string | null): number | undefined {
  return header !== null && /^\d+$/.test(header) ? Number(header) : undefined;
}

/** The form of RFC 9110, section 5.6.7, that is not obsolete. Required because `Date.parse` accepts almost anything. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

export function parseHttpDate(header: string | null): Instant | undefined {
  if (header === null || !HTTP_DATE.test(header)) return undefined;
  const instant = Date.parse(header);
  return Number.isNaN(instant) ? undefined : instant;
}
