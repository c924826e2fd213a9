import type { DatabaseSync } from "node:sqlite";
import type {
  Account,
  AccountResult,
  AccountSettings,
  ApiKey,
  RejectionCount,
} from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import {
  type Admission,
  type AdmissionPolicy,
  type BanPolicy,
  decideAdmission,
  decideRejections,
  type KeyState,
} from "../../accounts/admission.ts";
import type { Environment, ParsedKey } from "../../accounts/api-key.ts";
import type { Instant } from "../../core/time.ts";
import type { PlanAssignment } from "../../plans/plan-limits.ts";
import type { Usage } from "../../plans/windows.ts";
import { type OrderQueries, performInTransaction } from "./orders.ts";
import type { Database } from "./transaction.ts";

/** The queries of the tables `accounts`, `api_keys` and `settings`, each to be called in a read or a write. */
export type AccountQueries = ReturnType<typeof accountQueries>;

/** The account store over the tables `accounts`, `api_keys` and `settings`. */
export function sqliteAccounts({
  read,
  write,
}: Database<{ readonly accounts: AccountQueries; readonly orders: OrderQueries }>): AccountStore {
  return {
    recordEnvironment: (environment) =>
      write("durable", ({ accounts }) => accounts.recordEnvironment(environment)),
    create: (settings) => write("durable", ({ accounts }) => accounts.create(settings)),
    find: (id) => read(({ accounts }) => accounts.find(id)),

    async *list(after = "", limit = Number.POSITIVE_INFINITY) {
      let last: string | undefined = after;
      for (let left = limit; last !== undefined && left > 0; ) {
        const [from, count]: [string, number] = [last, Math.min(left, ACCOUNTS_PER_READ)];
        const page: readonly Account[] = await read(({ accounts }) => accounts.page(from, count));
        yield* page;
        left -= page.length;
        last = page.length < count ? undefined : page.at(-1)?.id;
      }
    },

    update: (id, updater) => write("durable", ({ accounts }) => accounts.update(id, updater)),
    resetUsage: (id) => write("durable", ({ accounts }) => accounts.resetUsage(id)),
    unban: (accountId, keyId) => write("durable", ({ accounts }) => accounts.unban(accountId, keyId)),

    // Counters and bans survive the process. Only a power failure can lose the most recent ones.
    admit: (key, at, policy, operation) =>
      write(operation?.type === "apply" ? "durable" : "relaxed", ({ accounts, orders }) => {
        const admission = accounts.admit(key, at, policy);
        if (!admission.ok || operation === undefined) return admission;
        const outcome = performInTransaction(operation, at, orders, { read });
        return outcome === undefined ? admission : { ...admission, outcome };
      }),

    // Needs no token: a call that failed has changed nothing.
    recordRejections: (key, count, at, policy) =>
      write("relaxed", ({ accounts }) => accounts.recordRejections(key, count, at, policy)),
  };
}

/** Accounts of one read of the list. */
const ACCOUNTS_PER_READ = 100;

/** Prepares the queries. */
export function accountQueries(db: DatabaseSync) {
  const insertEnvironment = db.prepare(
    "INSERT INTO settings (name, value) VALUES ('environment', ?) ON CONFLICT DO NOTHING",
  );
  const selectEnvironment = db.prepare("SELECT value FROM settings WHERE name = 'environment'");
  const insertAccount = db.prepare("INSERT INTO accounts (id, plan) VALUES (?, ?) ON CONFLICT DO NOTHING");
  const updatePlan = db.prepare("UPDATE accounts SET plan = ?, per_minute = ?, per_day = ? WHERE id = ?");
  // One statement, so that the account and its keys are from the same moment while other processes write.
  const selectAccount = db.prepare(
    `SELECT ${COLUMNS} FROM accounts a LEFT JOIN api_keys k ON k.account = a.id WHERE a.id = ? ORDER BY k.position`,
  );
  const selectPage = db.prepare(
    `SELECT ${COLUMNS} FROM (SELECT * FROM accounts WHERE id > ? ORDER BY id LIMIT ?) a
     LEFT JOIN api_keys k ON k.account = a.id ORDER BY a.id, k.position`,
  );
  const deleteOtherKeys = db.prepare(
    "DELETE FROM api_keys WHERE account = ? AND hash NOT IN (SELECT value FROM json_each(?))",
  );
  const upsertKey = db.prepare(
    `INSERT INTO api_keys (hash, id, account, position, created_at, expires_at, revoked_at, successor_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (hash) DO UPDATE SET position = excluded.position, expires_at = excluded.expires_at,
       revoked_at = excluded.revoked_at, successor_id = excluded.successor_id`,
  );
  const selectKey = db.prepare(
    `SELECT ${COLUMNS} FROM api_keys k JOIN accounts a ON a.id = k.account WHERE k.hash = ? AND k.account = ?`,
  );
  const updateUsage = db.prepare(
    "UPDATE accounts SET minute_start = ?, minute_count = ?, day_start = ?, day_count = ? WHERE id = ?",
  );
  const resetCounts = db.prepare("UPDATE accounts SET minute_count = 0, day_count = 0 WHERE id = ?");
  const updateRejections = db.prepare(
    "UPDATE api_keys SET rejections_start = ?, rejections_count = ?, banned_until = ? WHERE account = ? AND id = ?",
  );
  for (const statement of [selectAccount, selectPage, selectKey]) statement.setReturnArrays(true);

  const find = (id: string) => toAccounts(selectAccount.all(id) as unknown as Row[])[0];

  function findKeyState({ accountId, hash }: ParsedKey): KeyState | undefined {
    const row = selectKey.get(hash, accountId) as unknown as Row | undefined;
    return row && { accountId, ...readRow(row) };
  }

  function saveSettings({ id, plan, customLimits, keys }: AccountSettings): void {
    updatePlan.run(plan, customLimits?.perMinute ?? null, customLimits?.perDay ?? null, id);
    deleteOtherKeys.run(id, JSON.stringify(keys.map(({ hash }) => hash)));
    for (const [position, key] of keys.entries()) {
      const { hash, createdAt, expiresAt = null, revokedAt = null, successorId = null } = key;
      upsertKey.run(hash, key.id, id, position, createdAt, expiresAt, revokedAt, successorId);
    }
  }

  function saveRejections({ accountId, key }: KeyState, rejections: RejectionCount): void {
    const { windowStart, count, bannedUntil = null } = rejections;
    updateRejections.run(windowStart, count, bannedUntil, accountId, key.id);
  }

  /** Runs several statements in a savepoint: a value that SQLite cannot store is found between two of them. */
  function allOrNothing<T>(task: () => T): T {
    db.exec("SAVEPOINT part");
    try {
      const value = task();
      db.exec("RELEASE part");
      return value;
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already ended the transaction.
      if (db.isTransaction) db.exec("ROLLBACK TO part; RELEASE part");
      throw error;
    }
  }

  return {
    find,
    page: (after: string, limit: number) => toAccounts(selectPage.all(after, limit) as unknown as Row[]),

    recordEnvironment(environment: Environment): Environment {
      insertEnvironment.run(environment);
      return (selectEnvironment.get() as { readonly value: Environment }).value;
    },

    create: (settings: AccountSettings) =>
      allOrNothing((): AccountResult => {
        const isNew = insertAccount.run(settings.id, settings.plan).changes === 1;
        if (!isNew) return { ok: false, code: "account_exists" };
        saveSettings(settings);
        return { ok: true, account: settings };
      }),

    update(id: string, updater: (account: AccountSettings) => AccountResult): AccountResult {
      const account = find(id);
      if (account === undefined) return { ok: false, code: "account_not_found" };
      const result = updater(account);
      if (result.ok) allOrNothing(() => saveSettings(result.account));
      return result;
    },

    resetUsage(id: string): AccountResult {
      const account = find(id);
      if (account === undefined) return { ok: false, code: "account_not_found" };
      resetCounts.run(id);
      return { ok: true, account };
    },

    unban: (accountId: string, keyId: string) =>
      void updateRejections.run(null, null, null, accountId, keyId),

    admit(key: ParsedKey, at: Instant, policy?: AdmissionPolicy): Admission {
      const state = findKeyState(key);
      const { admission, save } = decideAdmission(state, at, policy);
      if (state !== undefined && save.usage !== undefined) {
        const { minute, day } = save.usage;
        updateUsage.run(minute.start, minute.count, day.start, day.count, state.accountId);
      }
      if (state !== undefined && save.rejections !== undefined) saveRejections(state, save.rejections);
      return admission;
    },

    recordRejections(key: ParsedKey, count: number, at: Instant, policy?: BanPolicy): void {
      const state = findKeyState(key);
      const rejections = decideRejections(state, count, at, policy);
      if (state !== undefined && rejections !== undefined) saveRejections(state, rejections);
    },
  };
}

/** The columns of an account joined with one of its keys, as arrays: they take half the time of objects. */
const COLUMNS = `a.id, a.plan, a.per_minute, a.per_day, a.minute_start, a.minute_count, a.day_start, a.day_count,
  k.id, k.hash, k.created_at, k.expires_at, k.revoked_at, k.successor_id,
  k.rejections_start, k.rejections_count, k.banned_until`;

type Row = readonly [
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
];

interface AccountRow extends PlanAssignment<string> {
  readonly usage: Usage;
  readonly key: ApiKey;
  readonly rejections: RejectionCount | undefined;
}

function readRow(row: Row): AccountRow {
  const [, plan, perMinute, perDay, minuteStart, minuteCount, dayStart, dayCount, ...ofKey] = row;
  const [id, hash, createdAt, expiresAt, revokedAt, successorId, windowStart, count, bannedUntil] = ofKey;
  return {
    plan,
    ...(perMinute === null || perDay === null ? {} : { customLimits: { perMinute, perDay } }),
    usage: { minute: { start: minuteStart, count: minuteCount }, day: { start: dayStart, count: dayCount } },
    key: {
      id: id ?? "",
      hash,
      createdAt,
      ...(expiresAt === null ? {} : { expiresAt }),
      ...(revokedAt === null ? {} : { revokedAt }),
      ...(successorId === null ? {} : { successorId }),
    },
    rejections:
      windowStart === null || count === null
        ? undefined
        : { windowStart, count, ...(bannedUntil === null ? {} : { bannedUntil }) },
  };
}

/** Reads accounts from their joined rows. Those of an account follow each other. */
function toAccounts(rows: readonly Row[]): readonly Account[] {
  return [...Map.groupBy(rows, ([id]) => id)].map(([id, group]) => {
    const { key: _key, rejections: _count, ...account } = readRow(group[0] as Row);
    const keys = group.filter((row) => row[KEY_ID] !== null).map(readRow);
    const rejections = keys.flatMap(({ key, rejections: count }) =>
      count ? [[key.id, count] as const] : [],
    );
    return {
      id,
      ...account,
      keys: keys.map(({ key }) => key),
      rejections: Object.fromEntries(rejections),
    };
  });
}

const KEY_ID = 8;
