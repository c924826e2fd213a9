import type { Instant } from "./time.ts";

/** The wait that `Retry-After` asks for (RFC 9110, section 10.2.3), in milliseconds: any length, even `Infinity`. */
export function parseRetryAfter(header: string | null, now: Instant): number | undefined {
  const seconds = parseWholeNumber(header);
  if (seconds !== undefined) return seconds * 1000;
  const instant = parseHttpDate(header, now);
  return instant === undefined ? undefined : Math.max(0, instant - now);
}

export function parseWholeNumber(header: string | null): number | undefined {
  return header !== null && /^\d+$/.test(header) ? Number(header) : undefined;
}

/** The forms of RFC 9110, section 5.6.7, two of them obsolete. Required because `Date.parse` accepts almost anything. */
const DAY_FIRST = /^[A-Z][a-z]{2,8}, (\d\d)([ -])([A-Z][a-z]{2})\2(\d{4}|\d\d) (\d\d:\d\d:\d\d) GMT$/;
const YEAR_LAST = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([\d ]\d) (\d\d:\d\d:\d\d) (\d{4})$/;

export function parseHttpDate(header: string | null, now: Instant): Instant | undefined {
  const plain = (header ?? "").replace(YEAR_LAST, "Day, $2 $1 $4 $3 GMT").replace(/^Day, {2}/, "Day, 0");
  const [, day, , month, year = "", time] = DAY_FIRST.exec(plain) ?? [];
  if (day === undefined) return undefined;
  const thisYear = new Date(now).getUTCFullYear();
  const inCentury = thisYear - (thisYear % 100) + Number(year);
  // A year of two digits is at most 50 years ahead.
  const nearest = inCentury > thisYear + 50 ? inCentury - 100 : inCentury;
  const instant = Date.parse(`${day} ${month} ${year.length === 2 ? nearest : year} ${time} GMT`);
  return Number.isNaN(instant) ? undefined : instant;
}
