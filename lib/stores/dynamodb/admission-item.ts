/**
 * The admission item of an account: it alone decides about requests, and is smaller than 1 KB, a write unit.
 *
 * - `id` (partition key), `plan`, and `perMinute` and `perDay` if they are custom
 * - `minute`, `minuteCount`, `day` and `dayCount`: the windows
 * - `keys`: by short hash, one number per active key; see `packEntry`
 * - `ids`: the identifiers of the keys in the order of their short hashes, if they do not follow from the hashes
 * - `tokens`: the tokens of the last writes that counted a request; see admission.ts
 * - `revision`: the token of the last change by an operator
 * - `details`: the version in the details item that belongs to it; see accounts.ts
 */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { type ApiKey, MAX_ACTIVE_KEYS, type RejectionCount } from "../../accounts/account.ts";
import type { KeyState } from "../../accounts/admission.ts";
import { keyIdOf, shortHash } from "../../accounts/api-key.ts";
import type { Instant } from "../../core/time.ts";
import type { PlanAssignment } from "../../plans/plan-limits.ts";
import { MINUTE_MS, type Usage } from "../../plans/windows.ts";
import { type Attributes, type Item, numberOf, numberValues, stringOf } from "./table.ts";

export interface NamedKey extends KeyEntry {
  readonly name: string;
  readonly id: string;
}

export function planAttributes({ plan, customLimits }: PlanAssignment<string>): Attributes {
  return {
    plan: { S: plan },
    ...numberValues({ perMinute: customLimits?.perMinute, perDay: customLimits?.perDay }),
  };
}

export const INITIAL_COUNTERS: Attributes = {
  ...numberValues({ minute: 0, minuteCount: 0, day: 0, dayCount: 0 }),
  tokens: { L: [] },
};

/** Sorted by name. At most 20 are active (`addKey`), so of more than 20, those that expire first have expired. */
export function activeKeys(keys: readonly ApiKey[]): readonly NamedKey[] {
  const byExpiry = keys
    .filter(({ revokedAt }) => revokedAt === undefined)
    .toSorted((a, b) => (b.expiresAt ?? Infinity) - (a.expiresAt ?? Infinity));
  return byExpiry
    .slice(0, MAX_ACTIVE_KEYS)
    .map(({ id, hash, expiresAt }) => ({ name: shortHash(hash), id, expiresAt }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

export function keyEntries(keys: readonly NamedKey[]): Attributes {
  return Object.fromEntries(keys.map((key) => [key.name, { N: packEntry(key) }]));
}

export function idsValue(accountId: string, keys: readonly NamedKey[]): AttributeValue | undefined {
  const ids = keys.map(({ name, id }) => (id === keyIdOf(accountId, name) ? "" : shortId(accountId, id)));
  return ids.every((id) => id === "") ? undefined : { L: ids.map((id) => ({ S: id })) };
}

export function namedKeysOf(item: Item): readonly NamedKey[] {
  const accountId = stringOf(item["id"]);
  return Object.entries(item["keys"]?.M ?? {})
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { N }], index) => ({
      name,
      id: fullId(accountId, name, stringOf(item["ids"]?.L?.[index])),
      ...unpackEntry(`${N}`),
    }));
}

export function keyStateOf(item: Item, hash: string): KeyState | undefined {
  const name = shortHash(hash);
  // Most requests with an unknown key end here, before all entries are read.
  if (item["keys"]?.M?.[name] === undefined) return undefined;
  const found = namedKeysOf(item).find((key) => key.name === name);
  if (found === undefined) return undefined;
  const { id, expiresAt, rejections } = found;
  return {
    accountId: stringOf(item["id"]),
    ...planOf(item),
    usage: usageOf(item),
    key: { id, hash, ...(expiresAt === undefined ? {} : { expiresAt }) },
    rejections,
  };
}

export function rejectionsById(item: Item): Readonly<Record<string, RejectionCount>> {
  const counted = namedKeysOf(item).flatMap(({ id, rejections }) =>
    rejections === undefined ? [] : [[id, rejections] as const],
  );
  return Object.fromEntries(counted);
}

export function planOf(item: Item): PlanAssignment<string> {
  const plan = stringOf(item["plan"]);
  if (item["perMinute"] === undefined || item["perDay"] === undefined) return { plan };
  return { plan, customLimits: { perMinute: numberOf(item["perMinute"]), perDay: numberOf(item["perDay"]) } };
}

export function usageOf(item: Item): Usage {
  return {
    minute: { start: numberOf(item["minute"]), count: numberOf(item["minuteCount"]) },
    day: { start: numberOf(item["day"]), count: numberOf(item["dayCount"]) },
  };
}

function shortId(accountId: string, id: string): string {
  return id.startsWith(`${accountId}.`) ? id.slice(accountId.length) : id;
}

function fullId(accountId: string, name: string, stored: string): string {
  if (stored === "") return keyIdOf(accountId, name);
  return stored.startsWith(".") ? accountId + stored : stored;
}

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
 * While none of them has counted, the count is `FIRST` and the milliseconds of the first one in its minute, and the minute
 * is that of an hour before: an earlier version, also one with a clock behind, takes them for those of an ended minute.
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
const FIRST = 10 ** COUNT_DIGITS - MINUTE_MS;
const HOUR_MINUTES = 60;
/** The highest count that fits. So a ban policy that allows more rejections in a minute than this never bans. */
export const MAX_COUNT = FIRST - 1;
/**
 * Added to the end of a ban, because digits have no sign: the ban can end before the minute of its rejections, if
 * another process opened that minute with a clock that is ahead.
 */
const BAN_BIAS = 10 ** 9;

export function packEntry({ expiresAt = NO_EXPIRY, rejections }: KeyEntry): string {
  const expiry = digits(expiresAt, EXPIRY_DIGITS);
  if (rejections === undefined) return withCount(expiry, 0, 0);
  const { windowStart, count, firstAt, bannedUntil } = rejections;
  const minute = windowStart / MINUTE_MS;
  if (firstAt !== undefined) return withCount(expiry, minute - HOUR_MINUTES, FIRST + firstAt - windowStart);
  // A ban of an earlier version can have a higher one.
  const counted = withCount(expiry, minute, bannedUntil === undefined ? Math.min(count, MAX_COUNT) : count);
  if (bannedUntil === undefined) return counted;
  const ban = bannedUntil - windowStart + BAN_BIAS;
  if (ban < 0 || ban >= 10 ** BAN_DIGITS)
    throw new RangeError("A ban of more than 90 days cannot be stored.");
  return `-${counted}${digits(ban, BAN_DIGITS)}`;
}

export function unpackEntry(number: string): KeyEntry {
  const isBanned = number.startsWith("-");
  const length = EXPIRY_DIGITS + MINUTE_DIGITS + COUNT_DIGITS + (isBanned ? BAN_DIGITS : 0);
  const text = decimal(number.replace("-", "")).padStart(length, "0");
  const [, expiry = 0, minute = 0, count = 0, ban = 0] = (FIELDS.exec(text) ?? []).map(Number);
  const expiring = expiry === NO_EXPIRY ? {} : { expiresAt: expiry };
  const windowStart = minute * MINUTE_MS;
  if (isBanned)
    return { ...expiring, rejections: { windowStart, count, bannedUntil: windowStart + ban - BAN_BIAS } };
  if (count === 0) return expiring;
  if (count <= MAX_COUNT) return { ...expiring, rejections: { windowStart, count } };
  const first = windowStart + HOUR_MINUTES * MINUTE_MS;
  return { ...expiring, rejections: { windowStart: first, count: 0, firstAt: first + count - FIRST } };
}

export function leastUsable(at: Instant): string {
  return withCount(digits(at + 1, EXPIRY_DIGITS), 0, 0);
}

/** The numbers of a key that has been rejected in a minute, at least once and at most `most` times. */
export function rejectedIn(key: KeyEntry, windowStart: Instant, most: number) {
  const numberOf = (count: number) => packEntry({ ...key, rejections: { windowStart, count } });
  return { from: numberOf(1), to: numberOf(most) };
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
