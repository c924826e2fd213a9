import type { Account, ApiKey, RejectionCount } from "../accounts/account.ts";
import type { KeyState } from "../accounts/admission.ts";
import { type InvalidInputError, invalidInput } from "../core/errors.ts";
import { type Instant, nextTurn } from "../core/time.ts";
import { MINUTE_MS } from "../plans/windows.ts";

export function keyOfAnother(): InvalidInputError {
  return invalidInput("hash", "Another account has a key with the same hash. Issue a new one.");
}

/** For the stores on SQL. Rows are arrays, which take half the time of objects. */
export const ACCOUNT_COLUMNS = `a.id, a.plan, a.per_minute, a.per_day, a.minute_start, a.minute_count, a.day_start, a.day_count,
  k.id, k.hash, k.created_at, k.expires_at, k.revoked_at, k.successor_id,
  k.rejections_start, k.rejections_count, k.banned_until, k.name, k.used_at`;

export type AccountRow = readonly [
  id: string,
  plan: string,
  perMinute: number | null,
  perDay: number | null,
  minuteStart: Instant,
  minuteCount: number,
  dayStart: Instant,
  dayCount: number,
  // An account without keys has one row, in which the columns of the key are null.
  keyId: string | null,
  hash: string,
  createdAt: Instant,
  expiresAt: Instant | null,
  revokedAt: Instant | null,
  successorId: string | null,
  rejectionsStart: Instant | null,
  rejectionsCount: number | null,
  bannedUntil: Instant | null,
  keyName: string | null,
  usedAt: Instant | null,
];

/** The places of strings in a row. All other columns are numbers. */
const STRINGS = new Set([0, 1, 8, 9, 13, 17]);

export function toAccountRow(row: readonly unknown[]): AccountRow {
  const values = row.map((value, place) => (value === null || STRINGS.has(place) ? value : Number(value)));
  return values as unknown as AccountRow;
}

export interface SavedKey extends KeyState {
  readonly key: ApiKey;
  readonly usedAt: Instant | null;
}

export function readRow(row: AccountRow): SavedKey {
  const [accountId, plan, perMinute, perDay, minuteStart, minuteCount, dayStart, dayCount, ...ofKey] = row;
  const [id, hash, createdAt, expiresAt, revokedAt, successorId, ...ofUse] = ofKey;
  const [start, count, bannedUntil, name, usedAt] = ofUse;
  return {
    accountId,
    plan,
    ...(perMinute === null || perDay === null ? {} : { customLimits: { perMinute, perDay } }),
    usage: { minute: { start: minuteStart, count: minuteCount }, day: { start: dayStart, count: dayCount } },
    key: {
      id: id ?? "",
      hash,
      createdAt,
      ...(name === null ? {} : { name }),
      ...(expiresAt === null ? {} : { expiresAt }),
      ...(revokedAt === null ? {} : { revokedAt }),
      ...(successorId === null ? {} : { successorId }),
    },
    usedAt,
    rejections: readRejections(start, count, bannedUntil),
  };
}

function readRejections(start: Instant | null, count: number | null, bannedUntil: Instant | null) {
  if (start === null || count === null) return undefined;
  // While none has counted, the start is the instant of the first one.
  if (count === 0 && bannedUntil === null)
    return { windowStart: start - (start % MINUTE_MS), count, firstAt: start };
  return { windowStart: start, count, ...(bannedUntil === null ? {} : { bannedUntil }) };
}

/** The columns `rejections_start`, `rejections_count` and `banned_until`. */
export function rejectionValues({ windowStart, count, firstAt, bannedUntil }: Partial<RejectionCount> = {}) {
  return [firstAt ?? windowStart ?? null, count ?? null, bannedUntil ?? null] as const;
}

/** Reads accounts from their joined rows. Those of an account follow each other. */
export function toAccounts(rows: readonly (readonly unknown[])[]): readonly Account[] {
  return [...Map.groupBy(rows.map(toAccountRow), ([id]) => id).values()].map((group) => {
    const first = readRow(group[0] as AccountRow);
    const { accountId: id, key: _key, rejections: _count, usedAt: _used, ...account } = first;
    const keys = group.filter((row) => row[KEY_ID] !== null).map(readRow);
    const rejections = keys.flatMap(({ key, rejections: count }) =>
      count ? [[key.id, count] as const] : [],
    );
    const lastUses = keys.flatMap(({ key, usedAt }) => (usedAt === null ? [] : [[key.id, usedAt] as const]));
    return {
      id,
      ...account,
      ...(lastUses.length === 0 ? {} : { lastUses: Object.fromEntries(lastUses) }),
      keys: keys.map(({ key }) => key),
      rejections: Object.fromEntries(rejections),
    };
  });
}

const KEY_ID = 8;

const ACCOUNTS_PER_READ = 100;

export async function* eachAccount(
  read: (after: string, limit: number) => Promise<readonly Account[]>,
  after = "",
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<Account> {
  let last: string | undefined = after;
  for (let left = limit; last !== undefined && left > 0; ) {
    const count = Math.min(left, ACCOUNTS_PER_READ);
    const page: readonly Account[] = await read(last, count);
    await nextTurn();
    yield* page;
    left -= page.length;
    last = page.length < count ? undefined : page.at(-1)?.id;
  }
}
