import type { RejectionCount } from "../../accounts/account.ts";
import type { Instant } from "../../clock.ts";
import { MINUTE_MS } from "../../plans/windows.ts";

/** What admission needs to know about one active key. */
export interface KeyEntry {
  readonly expiresAt?: Instant | undefined;
  readonly rejections?: RejectionCount | undefined;
}

/*
 * An entry is one number, so that 20 of them fit into an item of one write unit, and one comparison in a condition
 * shows whether the key is usable. Its decimal digits are, from the left:
 *
 *     expiry (13)  minute of the rejections (8)  their count (5)
 *
 * A key with a ban has a negative number, so that it never compares as usable. Ten more digits follow: the end of the
 * ban, relative to the start of the minute of the rejections.
 */
const EXPIRY_DIGITS = 13;
const MINUTE_DIGITS = 8;
const COUNT_DIGITS = 5;
const BAN_DIGITS = 10;

const FIELDS = /^(\d{13})(\d{8})(\d{5})(\d{10})?$/;

const NO_EXPIRY = 10 ** EXPIRY_DIGITS - 1;
/** The highest count that fits. So a ban policy that allows more rejections in a minute than this never bans. */
export const MAX_COUNT = 10 ** COUNT_DIGITS - 1;
/**
 * Added to the end of a ban, because digits have no sign: the ban can end before the minute of its rejections, if
 * another process opened that minute with a clock that is ahead.
 */
const BAN_BIAS = 10 ** 9;

/** Converts an entry to its number. */
export function packKey({ expiresAt = NO_EXPIRY, rejections }: KeyEntry): string {
  const expiry = digits(expiresAt, EXPIRY_DIGITS);
  if (rejections === undefined) return withCount(expiry, 0, 0);
  const { windowStart, count, bannedUntil } = rejections;
  const counted = withCount(expiry, windowStart / MINUTE_MS, count);
  if (bannedUntil === undefined) return counted;
  return `-${counted}${digits(bannedUntil - windowStart + BAN_BIAS, BAN_DIGITS)}`;
}

/** Reads the number of an entry. */
export function unpackKey(number: string): KeyEntry {
  const isBanned = number.startsWith("-");
  const length = EXPIRY_DIGITS + MINUTE_DIGITS + COUNT_DIGITS + (isBanned ? BAN_DIGITS : 0);
  const text = decimal(number.replace("-", "")).padStart(length, "0");
  const [, expiry = 0, minute = 0, count = 0, ban = 0] = (FIELDS.exec(text) ?? []).map(Number);
  const windowStart = minute * MINUTE_MS;
  const rejections = {
    windowStart,
    count,
    ...(isBanned ? { bannedUntil: windowStart + ban - BAN_BIAS } : {}),
  };
  return {
    ...(expiry === NO_EXPIRY ? {} : { expiresAt: expiry }),
    ...(count === 0 && !isBanned ? {} : { rejections }),
  };
}

/** The least number of a key that is usable at an instant. */
export function leastUsable(at: Instant): string {
  return withCount(digits(at + 1, EXPIRY_DIGITS), 0, 0);
}

/** The numbers of a key that has been rejected in a minute, at least once and at most `most` times. */
export function rejectedIn({ expiresAt = NO_EXPIRY }: KeyEntry, minute: Instant, most: number) {
  const expiry = digits(expiresAt, EXPIRY_DIGITS);
  const index = minute / MINUTE_MS;
  return { from: withCount(expiry, index, 1), to: withCount(expiry, index, most) };
}

function withCount(expiry: string, minute: number, count: number): string {
  const counted = digits(minute, MINUTE_DIGITS) + digits(count, COUNT_DIGITS);
  return (expiry + counted).replace(/^0+(?=\d)/, "");
}

/** A whole number in exactly so many digits. A number that does not fit becomes the nearest one that does. */
function digits(value: number, length: number): string {
  const fitting = Math.min(Math.max(0, Math.trunc(value)), 10 ** length - 1);
  return String(fitting).padStart(length, "0");
}

/** Emulators may return a number in scientific notation. */
function decimal(number: string): string {
  const [mantissa = "", exponent] = number.toLowerCase().split("e");
  if (exponent === undefined) return mantissa;
  const [whole = "", fraction = ""] = mantissa.split(".");
  return (whole + fraction).padEnd(whole.length + Number(exponent), "0");
}
