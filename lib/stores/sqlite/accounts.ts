import type { DatabaseSync } from "node:sqlite";
import type { Account, AccountResult, AccountSettings, ApiKey } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import type { Environment } from "../../accounts/api-key.ts";
import { ACCOUNT_COLUMNS, eachAccount, keyOfAnother, toAccounts } from "../account-rows.ts";
import { type AdmissionDatabase, createAdmission } from "./admission.ts";
import { prepareAll, type SqliteDatabase } from "./database.ts";

type AccountStatements = ReturnType<typeof accountStatements>;

export function createAccountStore(
  database: SqliteDatabase<{ readonly accounts: AccountStatements }> & AdmissionDatabase,
): AccountStore {
  const { read, write } = database;

  const changeAccount = (id: string, change: (account: Account, sql: AccountStatements) => AccountResult) =>
    write("durable", ({ accounts: sql }): AccountResult => {
      const account = findAccount(sql, id);
      if (account === undefined) return { ok: false, code: "account_not_found" };
      return allOrNothing(sql, () => change(account, sql));
    });

  return {
    importedKeys: {
      record: (hash, accountId) =>
        write("durable", ({ accounts: sql }) => {
          if ((ownerOf(sql, hash) ?? accountId) !== accountId) throw keyOfAnother();
          sql.insertImport.run();
        }),
      exist: () => read(({ accounts: sql }) => sql.selectImport.get() !== undefined),
      findAccount: (hash) => read(({ accounts: sql }) => ownerOf(sql, hash)),
    },

    findEnvironment: () => read(({ accounts: sql }) => findEnvironment(sql)),

    recordEnvironment: (environment) =>
      write("durable", ({ accounts: sql }) => {
        sql.insertEnvironment.run(environment);
        return findEnvironment(sql) as Environment;
      }),

    create: (settings) =>
      write("durable", ({ accounts: sql }) =>
        allOrNothing(sql, (): AccountResult => {
          const isNew = sql.insertAccount.run(settings.id, settings.plan).changes === 1n;
          if (!isNew) return { ok: false, code: "account_exists" };
          saveSettings(sql, settings);
          return { ok: true, account: settings };
        }),
      ),

    find: (id) => read(({ accounts: sql }) => findAccount(sql, id)),

    list: (after, limit) =>
      eachAccount((from, count) => read(({ accounts: sql }) => readAccounts(sql, from, count)), after, limit),

    update: (id, updater) =>
      changeAccount(id, (account, sql) => {
        const result = updater(account);
        if (result.ok) saveSettings(sql, result.account, account.keys);
        return result;
      }),

    delete: (id) =>
      changeAccount(id, (account, { deleteKeys, deleteAccount }) => {
        deleteKeys.run(id);
        deleteAccount.run(id);
        return { ok: true, account };
      }),

    resetUsage: (id) =>
      changeAccount(id, (account, { resetCounts }) => {
        resetCounts.run(id);
        return { ok: true, account };
      }),

    unban: (accountId, keyId) =>
      write("durable", ({ accounts: sql }) => void sql.resetRejections.run(accountId, keyId)),

    ...createAdmission(database),
  };
}

export function readAccounts({ selectPage }: AccountStatements, after: string, limit: number) {
  return toAccounts(selectPage.all(after, limit) as unknown as unknown[][]);
}

function findAccount({ selectAccount }: AccountStatements, id: string): Account | undefined {
  return toAccounts(selectAccount.all(id) as unknown as unknown[][])[0];
}

function findEnvironment({ selectEnvironment }: AccountStatements): Environment | undefined {
  return selectEnvironment.get()?.["value"] as Environment | undefined;
}

function ownerOf({ selectOwner }: AccountStatements, hash: string): string | undefined {
  return selectOwner.get(hash)?.["account"] as string | undefined;
}

/** Of keys that an account `had`, those are written that differ, or are at another place. */
function saveSettings(sql: AccountStatements, settings: AccountSettings, had: readonly ApiKey[] = []): void {
  const { id, plan, customLimits, keys } = settings;
  sql.updatePlan.run(plan, customLimits?.perMinute ?? null, customLimits?.perDay ?? null, id);
  sql.deleteOtherKeys.run(id, JSON.stringify(keys.map(({ hash }) => hash)));
  for (const [position, key] of keys.entries()) {
    if (key === had[position]) continue;
    const { hash, createdAt, expiresAt = null, revokedAt = null, successorId = null, name = null } = key;
    const values = [hash, key.id, id, position, createdAt, expiresAt, revokedAt, successorId, name];
    if (sql.upsertKey.run(...values).changes === 0n) throw keyOfAnother();
  }
}

/** The savepoint ends with the transaction. SQLite finds a value that it cannot store between two statements. */
function allOrNothing<T>({ db }: AccountStatements, task: () => T): T {
  db.exec("SAVEPOINT part");
  try {
    return task();
  } catch (error) {
    // After some errors, such as a full disk, SQLite has already ended the transaction.
    if (db.isTransaction) db.exec("ROLLBACK TO part");
    throw error;
  }
}

export function accountStatements(db: DatabaseSync) {
  const accounts = {
    // One statement, so that the account and its keys are from the same moment while other processes write.
    selectAccount: `SELECT ${ACCOUNT_COLUMNS} FROM accounts a LEFT JOIN api_keys k ON k.account = a.id
      WHERE a.id = ? ORDER BY k.position`,
    selectPage: `SELECT ${ACCOUNT_COLUMNS} FROM (SELECT * FROM accounts WHERE id > ? ORDER BY id LIMIT ?) a
      LEFT JOIN api_keys k ON k.account = a.id ORDER BY a.id, k.position`,
  };
  const others = {
    insertEnvironment: "INSERT INTO settings (name, value) VALUES ('environment', ?) ON CONFLICT DO NOTHING",
    selectEnvironment: "SELECT value FROM settings WHERE name = 'environment'",
    insertImport:
      "INSERT INTO settings (name, value) VALUES ('imported_keys', 'true') ON CONFLICT DO NOTHING",
    selectImport: "SELECT 1 FROM settings WHERE name = 'imported_keys'",
    selectOwner: "SELECT account FROM api_keys WHERE hash = ?",
    insertAccount: "INSERT INTO accounts (id, plan) VALUES (?, ?) ON CONFLICT DO NOTHING",
    updatePlan: "UPDATE accounts SET plan = ?, per_minute = ?, per_day = ? WHERE id = ?",
    deleteOtherKeys:
      "DELETE FROM api_keys WHERE account = ? AND hash NOT IN (SELECT value FROM json_each(?))",
    upsertKey: `INSERT INTO api_keys (hash, id, account, position, created_at, expires_at, revoked_at, successor_id, name)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (hash) DO UPDATE SET position = excluded.position, expires_at = excluded.expires_at,
        revoked_at = excluded.revoked_at, successor_id = excluded.successor_id
      WHERE account = excluded.account`,
    deleteKeys: "DELETE FROM api_keys WHERE account = ?",
    deleteAccount: "DELETE FROM accounts WHERE id = ?",
    resetCounts: "UPDATE accounts SET minute_count = 0, day_count = 0 WHERE id = ?",
    resetRejections: `UPDATE api_keys SET rejections_start = NULL, rejections_count = NULL, banned_until = NULL
      WHERE account = ? AND id = ?`,
  };
  // Another program can have stored an integer that a number cannot hold.
  const ofAccounts = prepareAll(db, accounts, "setReturnArrays", "setReadBigInts");
  return { db, ...ofAccounts, ...prepareAll(db, others, "setReadBigInts") };
}
