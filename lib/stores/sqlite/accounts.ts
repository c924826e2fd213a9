import type { AccountSettings, ApiKey, RejectionCount } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import { type Admission, type BanPolicy, decideAdmission } from "../../accounts/admission.ts";
import type { ParsedKey } from "../../accounts/api-key.ts";
import type { Instant } from "../../clock.ts";
import type { Plan, PlanAssignment } from "../../plans/plan-limits.ts";
import type { Usage } from "../../plans/windows.ts";
import type { Connection } from "./connection.ts";

/** Accounts in the tables `accounts` and `api_keys`. */
export function sqliteAccounts({ db, read, write }: Connection): AccountStore {
  const insertAccount = db.prepare("INSERT INTO accounts (id, plan) VALUES (?, ?) ON CONFLICT DO NOTHING");
  const updateTerms = db.prepare("UPDATE accounts SET plan = ?, per_minute = ?, per_day = ? WHERE id = ?");
  // One statement, so that an account is seen as it was at one moment, whatever other processes write meanwhile.
  const selectAccount = db.prepare(
    `SELECT a.plan, a.per_minute, a.per_day, a.minute_start, a.minute_count, a.day_start, a.day_count, k.*
     FROM accounts a LEFT JOIN api_keys k ON k.account = a.id WHERE a.id = ? ORDER BY k.position`,
  );
  const selectIds = db.prepare("SELECT id FROM accounts ORDER BY id");
  const deleteOthers = db.prepare(
    "DELETE FROM api_keys WHERE account = ? AND hash NOT IN (SELECT value FROM json_each(?))",
  );
  const upsertKey = db.prepare(
    `INSERT INTO api_keys (hash, id, account, position, created_at, expires_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (hash) DO UPDATE SET position = excluded.position, expires_at = excluded.expires_at,
       revoked_at = excluded.revoked_at`,
  );
  // Read at every request: named columns in an array take half the time of an object with all of them.
  const selectCaller = db.prepare(
    `SELECT a.plan, a.per_minute, a.per_day, a.minute_start, a.minute_count, a.day_start, a.day_count, k.id,
            k.created_at, k.expires_at, k.revoked_at, k.refused_start, k.refused_count, k.banned_until
     FROM api_keys k JOIN accounts a ON a.id = k.account WHERE k.hash = ? AND k.account = ?`,
  );
  selectCaller.setReturnArrays(true);
  const updateUsage = db.prepare(
    "UPDATE accounts SET minute_start = ?, minute_count = ?, day_start = ?, day_count = ? WHERE id = ?",
  );
  const updatePenalty = db.prepare(
    "UPDATE api_keys SET refused_start = ?, refused_count = ?, banned_until = ? WHERE account = ? AND id = ?",
  );

  function find(id: string) {
    // An account without keys is one row, with none in it.
    const rows = selectAccount.all(id) as unknown as (AccountRow & (KeyRow | { hash: null }))[];
    const [row] = rows;
    if (row === undefined) return undefined;
    const keys = rows.filter((joined) => joined.hash !== null);
    const rejections = keys.flatMap((key) => {
      const penalty = toPenalty(key);
      return penalty === undefined ? [] : [[key.id, penalty] as const];
    });
    return {
      id,
      terms: toTerms(row),
      keys: keys.map(toKey),
      usage: toUsage(row),
      rejections: Object.fromEntries(rejections),
    };
  }

  function save({ id, terms, keys }: AccountSettings): void {
    updateTerms.run(
      terms.plan,
      terms.customLimits?.perMinute ?? null,
      terms.customLimits?.perDay ?? null,
      id,
    );
    deleteOthers.run(id, JSON.stringify(keys.map(({ hash }) => hash)));
    for (const [position, key] of keys.entries()) {
      const { hash, createdAt, expiresAt = null, revokedAt = null } = key;
      upsertKey.run(hash, key.id, id, position, createdAt, expiresAt, revokedAt);
    }
  }

  function admit(
    { accountId, hash }: ParsedKey,
    at: Instant,
    policy?: BanPolicy,
    refusals?: number,
  ): Admission {
    const found = selectCaller.get(hash, accountId) as unknown as CallerColumns | undefined;
    if (found === undefined) return decideAdmission(undefined, at);
    const [plan, per_minute, per_day, minute_start, minute_count, day_start, day_count, ...ofKey] = found;
    const [id, created_at, expires_at, revoked_at, refused_start, refused_count, banned_until] = ofKey;
    const caller = {
      accountId,
      terms: toTerms({ plan, per_minute, per_day }),
      usage: toUsage({ minute_start, minute_count, day_start, day_count }),
      key: toKey({ id, hash, created_at, expires_at, revoked_at }),
      rejections: toPenalty({ refused_start, refused_count, banned_until }),
    };
    const decided = decideAdmission(caller, at, policy, refusals);
    if (decided.outcome === "admitted") {
      const { minute, day } = decided.write;
      updateUsage.run(minute.start, minute.count, day.start, day.count, accountId);
    }
    if (decided.outcome === "refused" && decided.write !== undefined) {
      const { windowStart: start, count: refused, bannedUntil } = decided.write;
      updatePenalty.run(start, refused, bannedUntil ?? null, accountId, id);
    }
    return decided;
  }

  return {
    create: (settings) =>
      write("flushed", () => {
        if (insertAccount.run(settings.id, settings.terms.plan).changes === 0) return false;
        save(settings);
        return true;
      }),

    find: (id) => read(() => find(id)),

    async *list() {
      const rows = await read(() => selectIds.all() as unknown as { id: string }[]);
      for (const { id } of rows) {
        const account = await read(() => find(id));
        if (account !== undefined) yield account;
      }
    },

    update: (id, decide) =>
      write("flushed", () => {
        const account = find(id);
        if (account === undefined) return { refused: "account_not_found" };
        const decided = decide(account);
        if (!("refused" in decided)) save(decided);
        return decided;
      }),

    async unban(accountId, keyId) {
      await write("flushed", () => updatePenalty.run(null, null, null, accountId, keyId));
    },

    // Counters and bans outlive the process; only a loss of power may take back the last of them.
    admit: (key, at, policy, refusals) => write("cached", () => admit(key, at, policy, refusals)),
  };
}

interface AccountRow {
  readonly plan: Plan;
  readonly per_minute: number | null;
  readonly per_day: number | null;
  readonly minute_start: Instant;
  readonly minute_count: number;
  readonly day_start: Instant;
  readonly day_count: number;
}

interface KeyRow extends PenaltyRow {
  readonly hash: string;
  readonly id: string;
  readonly created_at: Instant;
  readonly expires_at: Instant | null;
  readonly revoked_at: Instant | null;
}

interface PenaltyRow {
  readonly refused_start: Instant | null;
  readonly refused_count: number | null;
  readonly banned_until: Instant | null;
}

type CallerColumns = [
  ...[plan: Plan, per_minute: number | null, per_day: number | null],
  ...[minute_start: Instant, minute_count: number, day_start: Instant, day_count: number],
  ...[id: string, created_at: Instant, expires_at: Instant | null, revoked_at: Instant | null],
  ...[refused_start: Instant | null, refused_count: number | null, banned_until: Instant | null],
];

function toTerms(row: Pick<AccountRow, "plan" | "per_minute" | "per_day">): PlanAssignment {
  const { plan, per_minute, per_day } = row;
  return per_minute === null || per_day === null
    ? { plan }
    : { plan, customLimits: { perMinute: per_minute, perDay: per_day } };
}

function toUsage(row: Omit<AccountRow, "plan" | "per_minute" | "per_day">): Usage {
  return {
    minute: { start: row.minute_start, count: row.minute_count },
    day: { start: row.day_start, count: row.day_count },
  };
}

function toKey({ id, hash, created_at, expires_at, revoked_at }: Omit<KeyRow, keyof PenaltyRow>): ApiKey {
  return {
    id,
    hash,
    createdAt: created_at,
    ...(expires_at === null ? {} : { expiresAt: expires_at }),
    ...(revoked_at === null ? {} : { revokedAt: revoked_at }),
  };
}

function toPenalty({ refused_start, refused_count, banned_until }: PenaltyRow): RejectionCount | undefined {
  if (refused_start === null || refused_count === null) return undefined;
  const ban = banned_until === null ? {} : { bannedUntil: banned_until };
  return { windowStart: refused_start, count: refused_count, ...ban };
}
