import { InvalidArgumentError } from "commander";
import ms from "ms";
import { MAX_OVERLAP_MS } from "../accounts/account.ts";
import { ACCOUNT_ID_RULE } from "../accounts/accounts.ts";
import { isAccountId } from "../accounts/api-key.ts";
import type { Instant } from "../clock.ts";
import { InvalidInputError, isInvalidInput } from "../errors.ts";
import { BASE_PATH } from "../http/operations.ts";
import { isDateTime } from "../orders/fields.ts";
import { parseInt64 } from "../orders/int64.ts";
import { DAY_MS } from "../plans/windows.ts";
import type { ListenAddress } from "./listen.ts";
import { PORT_HINT, parsePort } from "./settings.ts";

/** Parsers for command-line arguments. Each throws if the text is invalid, with the accepted format in the message. */

export function readInt64(text: string): bigint {
  return (
    parseInt64(text) ??
    invalid("Use an integer from -9223372036854775808 to 9223372036854775807, in plain digits.")
  );
}

export function readWholeNumber(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : invalid("Use a whole number in plain digits.");
}

export function readPort(text: string): number {
  return parsePort(text) ?? invalid(PORT_HINT);
}

/** Reads `[HOST:]PORT`. An IPv6 address is in brackets. */
export function readAddress(text: string): ListenAddress {
  const [, host = "127.0.0.1", digits = ""] = /^(?:\[?([^[\]]+?)\]?:)?([^:]+)$/.exec(text) ?? [];
  const port = parsePort(digits);
  return port === undefined
    ? invalid("Use a port, or a host and a port, such as 9464, 0.0.0.0:9464 or [::1]:9464.")
    : { host, port };
}

export function readAccountId(text: string): string {
  return isAccountId(text) ? text : invalid(ACCOUNT_ID_RULE);
}

export function readInstant(text: string): Instant {
  const value = isDateTime(text) ? Date.parse(text.toUpperCase()) : Number.NaN;
  return Number.isNaN(value)
    ? invalid("Use an RFC 3339 date-time with an offset, such as 2026-11-20T09:30:00Z.")
    : value;
}

/** Returns whole milliseconds. The unit is required, because a bare `24` is ambiguous. */
export function readDuration(text: string): number {
  const value = /^(?:0|\d+(?:\.\d+)? ?[a-z]+)$/i.test(text) ? ms(text as ms.StringValue) : undefined;
  return value === undefined || Number.isNaN(value)
    ? invalid("Use a duration with a unit, such as 90m, 24h or 7d, or 0.")
    : Math.round(value);
}

/** Returns whole milliseconds, at most `MAX_OVERLAP_MS`. */
export function readOverlap(text: string): number {
  const value = readDuration(text);
  return value <= MAX_OVERLAP_MS ? value : invalid(`Use at most ${MAX_OVERLAP_MS / DAY_MS}d.`);
}

/** Returns a function that reads a whole number of a range. */
export function readNumberBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : invalid(`Use a whole number from ${min} to ${max}.`);
  };
}

/** A URL as it can be written into a header. */
export function readUrl(text: string): string {
  return parseWebUrl(text) !== undefined
    ? text
    : invalid("Use a URL with its scheme, such as https://docs.example.com.");
}

/** Collects the base URLs of the service, which end with the version. */
export function readBaseUrl(text: string, previous: readonly string[] = []): readonly string[] {
  const url = parseWebUrl(text);
  const isPlain = url !== undefined && `${url.username}${url.password}${url.search}${url.hash}` === "";
  if (!isPlain || !url.pathname.endsWith(BASE_PATH))
    invalid(
      `Use a URL with its scheme that ends with ${BASE_PATH}, without a user, a query and a fragment, such as ` +
        `https://orders.example.com${BASE_PATH}.`,
    );
  return [...previous, text];
}

function parseWebUrl(text: string): URL | undefined {
  const url = /^[\x21-\x7e]+$/.test(text) && !/[<>"]/.test(text) ? URL.parse(text) : null;
  return url?.protocol === "https:" || url?.protocol === "http:" ? url : undefined;
}

/** Collects the values of a repeatable option. */
export function collect(text: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, text];
}

/**
 * Runs a validation of the values of flags. An error then names the flag and its value, such as `--ship-date: 'soon' is
 * invalid.`, instead of the field.
 */
export function validateFlags<T>(flags: object, validate: () => T): T {
  try {
    return validate();
  } catch (error) {
    if (!isInvalidInput(error)) throw error;
    const values = new Map<string, unknown>(Object.entries(flags));
    throw new InvalidInputError(
      error.issues.map(({ path, message }) => ({
        path: `--${path.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
        message: values.has(path) ? `'${values.get(path)}' is invalid. ${message}` : message,
      })),
    );
  }
}

/** The error does not repeat the text: a caller may have pasted the API key, which is a secret. */
export function readKeyId(text: string): string {
  if (KEY_ID.test(text)) return text;
  throw new InvalidInputError([
    { path: "KEY_ID", message: "Use a key ID such as demo.3hTbV9xKq0; 'keys list' prints them." },
  ]);
}

const KEY_ID = /^[a-z0-9][a-z0-9-]{0,31}\.[0-9A-Za-z]+$/;

function invalid(hint: string): never {
  throw new InvalidArgumentError(hint);
}
