import type { Account, ApiKey, RejectionCount } from "../../accounts/account.ts";
import type { KeyState } from "../../accounts/admission.ts";
import type { Instant } from "../../clock.ts";
import type { PlanAssignment } from "../../plans/plan-limits.ts";
import type { Usage } from "../../plans/windows.ts";

interface AccountRow {
  readonly plan: string;
  readonly per_minute: number | null;
  readonly per_day: number | null;
  readonly minute_start: Instant;
  readonly minute_count: number;
  readonly day_start: Instant;
  readonly day_count: number;
}

interface KeyRow extends RejectionRow {
  readonly hash: string;
  readonly id: string;
  readonly created_at: Instant;
  readonly expires_at: Instant | null;
  readonly revoked_at: Instant | null;
  readonly successor_id: string | null;
}

interface RejectionRow {
  readonly refused_start: Instant | null;
  readonly refused_count: number | null;
  readonly banned_until: Instant | null;
}

/**
 * An account joined with one of its keys. An account without keys has one row, in which every column of the key is
 * null.
 */
export type JoinedRow = AccountRow & (KeyRow | { readonly hash: null });

/** The columns that admission reads, in the order of its SELECT. */
export type KeyStateColumns = readonly [
  plan: string,
  per_minute: number | null,
  per_day: number | null,
  minute_start: Instant,
  minute_count: number,
  day_start: Instant,
  day_count: number,
  id: string,
  created_at: Instant,
  expires_at: Instant | null,
  revoked_at: Instant | null,
  refused_start: Instant | null,
  refused_count: number | null,
  banned_until: Instant | null,
];

/** Reads an account from its joined rows, or returns `undefined` if there are none. */
export function toAccount(id: string, rows: readonly JoinedRow[]): Account | undefined {
  const [row] = rows;
  if (row === undefined) return undefined;
  const keys = rows.filter((joined) => joined.hash !== null);
  const rejections = keys.flatMap((key) => {
    const count = toRejections(key);
    return count === undefined ? [] : [[key.id, count] as const];
  });
  return {
    id,
    ...toPlan(row),
    keys: keys.map(toKey),
    usage: toUsage(row),
    rejections: Object.fromEntries(rejections),
  };
}

/** Reads what admission needs to know about one key. */
export function toKeyState(accountId: string, hash: string, columns: KeyStateColumns): KeyState {
  const [plan, per_minute, per_day, minute_start, minute_count, day_start, day_count, ...ofKey] = columns;
  const [id, created_at, expires_at, revoked_at, refused_start, refused_count, banned_until] = ofKey;
  return {
    accountId,
    ...toPlan({ plan, per_minute, per_day }),
    usage: toUsage({ minute_start, minute_count, day_start, day_count }),
    key: toKey({ id, hash, created_at, expires_at, revoked_at, successor_id: null }),
    rejections: toRejections({ refused_start, refused_count, banned_until }),
  };
}

function toPlan(row: Pick<AccountRow, "plan" | "per_minute" | "per_day">): PlanAssignment<string> {
  const { plan, per_minute: perMinute, per_day: perDay } = row;
  return perMinute === null || perDay === null ? { plan } : { plan, customLimits: { perMinute, perDay } };
}

function toUsage(row: Omit<AccountRow, "plan" | "per_minute" | "per_day">): Usage {
  return {
    minute: { start: row.minute_start, count: row.minute_count },
    day: { start: row.day_start, count: row.day_count },
  };
}

function toKey(row: Omit<KeyRow, keyof RejectionRow>): ApiKey {
  const { id, hash, created_at, expires_at, revoked_at, successor_id } = row;
  return {
    id,
    hash,
    createdAt: created_at,
    ...(expires_at === null ? {} : { expiresAt: expires_at }),
    ...(revoked_at === null ? {} : { revokedAt: revoked_at }),
    ...(successor_id === null ? {} : { successorId: successor_id }),
  };
}

function toRejections({
  refused_start,
  refused_count,
  banned_until,
}: RejectionRow): RejectionCount | undefined {
  if (refused_start === null || refused_count === null) return undefined;
  const ban = banned_until === null ? {} : { bannedUntil: banned_until };
  return { windowStart: refused_start, count: refused_count, ...ban };
}
