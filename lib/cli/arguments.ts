import { InvalidArgumentError } from "commander";
import ms from "ms";
import { ACCOUNT_ID } from "../accounts/api-key.ts";
import type { Instant } from "../clock.ts";
import { InvalidInputError } from "../errors.ts";
import { parseInt64 } from "../orders/int64.ts";
import { isDateTime } from "../orders/order.ts";
import { PORT_RANGE, parsePort } from "./settings.ts";

/** Readers of what stands on the command line. Each refuses what it cannot read and says what to write. */

export function int64(text: string): bigint {
  return (
    parseInt64(text) ??
    refuse("Write a whole number from -9223372036854775808 to 9223372036854775807, in plain digits.")
  );
}

export function wholeNumber(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : refuse("Write a whole number in plain digits.");
}

export function port(text: string): number {
  return parsePort(text) ?? refuse(PORT_RANGE);
}

export function accountId(text: string): string {
  return ACCOUNT_ID.test(text)
    ? text
    : refuse("Use 1 to 32 lower-case letters, digits and hyphens, and no hyphen at the start.");
}

export function instant(text: string): Instant {
  const value = isDateTime(text) ? Date.parse(text.toUpperCase()) : Number.NaN;
  return Number.isNaN(value)
    ? refuse("Write an RFC 3339 date-time with an offset, such as 2026-11-20T09:30:00Z.")
    : value;
}

/** Milliseconds. A number needs its unit: `24` would be taken for hours by one reader and for less by another. */
export function duration(text: string): number {
  const value = /^(?:0|\d+(?:\.\d+)? ?[a-z]+)$/i.test(text) ? ms(text as ms.StringValue) : undefined;
  return value === undefined || Number.isNaN(value)
    ? refuse("Write a length of time with its unit, such as 90m, 24h or 7d, or 0.")
    : value;
}

export function webAddress(text: string, before: readonly string[] = []): readonly string[] {
  const url = URL.parse(text);
  if (url?.protocol !== "https:" && url?.protocol !== "http:") {
    refuse("Write an address with its scheme, such as https://orders.example.com/v1.");
  }
  return [...before, text];
}

/** A key's identifier. What is no identifier is not repeated: it may be the key itself, which is a secret. */
export function keyId(text: string): string {
  if (KEY_ID.test(text)) return text;
  throw new InvalidInputError([
    { path: "KEY_ID", message: "Give a key's identifier, such as demo.3hTbV9xKq0, as `keys list` shows it." },
  ]);
}

const KEY_ID = /^[a-z0-9][a-z0-9-]{0,31}\.[0-9A-Za-z]+$/;

function refuse(mend: string): never {
  throw new InvalidArgumentError(mend);
}
