import type { DatabaseSync } from "node:sqlite";
import type { AccountResult, AccountSettings } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import type { Environment } from "../../accounts/api-key.ts";
import { ACCOUNT_COLUMNS, type AccountRow, eachAccount, keyOfAnother, toAccounts } from "../account-rows.ts";
import { type AdmissionDatabase, createAdmission } from "./admission.ts";
import { type SqliteDatabase, statementsOf } from "./database.ts";

/** The queries of the tables `accounts`, `api_keys` and `settings`, each to be called in a read or a write. */
type AccountQueries = ReturnType<typeof accountQueries>;

export function createAccountStore(
  database: SqliteDatabase<{ readonly accounts: AccountQueries }> & AdmissionDatabase,
): AccountStore {
  const { read, write } = database;
  return {
    importedKeys: {
      record: (hash, accountId) => write("durable", ({ accounts }) => accounts.recordImport(hash, accountId)),
      exist: () => read(({ accounts }) => accounts.hasImports()),
      findAccount: (hash) => read(({ accounts }) => accounts.ownerOf(hash)),
    },

    recordEnvironment: (environment) =>
      write("durable", ({ accounts }) => accounts.recordEnvironment(environment)),
    create: (settings) => write("durable", ({ accounts }) => accounts.create(settings)),
    find: (id) => read(({ accounts }) => accounts.find(id)),

    list: (after, limit) =>
      eachAccount((from, count) => read(({ accounts }) => accounts.page(from, count)), after, limit),

    update: (id, updater) => write("durable", ({ accounts }) => accounts.update(id, updater)),
    delete: (id) => write("durable", ({ accounts }) => accounts.delete(id)),
    resetUsage: (id) => write("durable", ({ accounts }) => accounts.resetUsage(id)),
    unban: (accountId, keyId) => write("durable", ({ accounts }) => accounts.unban(accountId, keyId)),

    ...createAdmission(database),
  };
}

export function accountQueries(db: DatabaseSync) {
  const { read, write } = statementsOf(db);
  const insertEnvironment = write(
    "INSERT INTO settings (name, value) VALUES ('environment', ?) ON CONFLICT DO NOTHING",
  );
  const selectEnvironment = db.prepare("SELECT value FROM settings WHERE name = 'environment'");
  const insertImport = write(
    "INSERT INTO settings (name, value) VALUES ('imported_keys', 'true') ON CONFLICT DO NOTHING",
  );
  const selectImport = db.prepare("SELECT 1 FROM settings WHERE name = 'imported_keys'");
  const selectOwner = db.prepare("SELECT account FROM api_keys WHERE hash = ?");
  const insertAccount = write("INSERT INTO accounts (id, plan) VALUES (?, ?) ON CONFLICT DO NOTHING");
  const updatePlan = write("UPDATE accounts SET plan = ?, per_minute = ?, per_day = ? WHERE id = ?");
  // One statement, so that the account and its keys are from the same moment while other processes write.
  const selectAccount = read(
    `SELECT ${ACCOUNT_COLUMNS} FROM accounts a LEFT JOIN api_keys k ON k.account = a.id WHERE a.id = ? ORDER BY k.position`,
  );
  const selectPage = read(
    `SELECT ${ACCOUNT_COLUMNS} FROM (SELECT * FROM accounts WHERE id > ? ORDER BY id LIMIT ?) a
     LEFT JOIN api_keys k ON k.account = a.id ORDER BY a.id, k.position`,
  );
  const deleteOtherKeys = write(
    "DELETE FROM api_keys WHERE account = ? AND hash NOT IN (SELECT value FROM json_each(?))",
  );
  const upsertKey =
    write(`INSERT INTO api_keys (hash, id, account, position, created_at, expires_at, revoked_at, successor_id, name)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (hash) DO UPDATE SET position = excluded.position, expires_at = excluded.expires_at,
       revoked_at = excluded.revoked_at, successor_id = excluded.successor_id
     WHERE account = excluded.account`);
  const deleteKeys = write("DELETE FROM api_keys WHERE account = ?");
  const deleteAccount = write("DELETE FROM accounts WHERE id = ?");
  const resetCounts = write("UPDATE accounts SET minute_count = 0, day_count = 0 WHERE id = ?");
  const resetRejections =
    write(`UPDATE api_keys SET rejections_start = NULL, rejections_count = NULL, banned_until = NULL
     WHERE account = ? AND id = ?`);

  const ownerOf = (hash: string) =>
    (selectOwner.get(hash) as { readonly account: string } | undefined)?.account;
  const find = (id: string) => toAccounts(selectAccount.all(id) as unknown as AccountRow[])[0];

  function saveSettings({ id, plan, customLimits, keys }: AccountSettings): void {
    updatePlan.run(plan, customLimits?.perMinute ?? null, customLimits?.perDay ?? null, id);
    deleteOtherKeys.run(id, JSON.stringify(keys.map(({ hash }) => hash)));
    for (const [position, key] of keys.entries()) {
      const { hash, createdAt, expiresAt = null, revokedAt = null, successorId = null, name = null } = key;
      const values = [hash, key.id, id, position, createdAt, expiresAt, revokedAt, successorId, name];
      if (upsertKey.run(...values).changes === 0n) throw keyOfAnother();
    }
  }

  /**
   * Runs several statements in a savepoint, which ends with the transaction: a value that SQLite cannot store is found
   * between two of them.
   */
  function allOrNothing<T>(task: () => T): T {
    db.exec("SAVEPOINT part");
    try {
      return task();
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already ended the transaction.
      if (db.isTransaction) db.exec("ROLLBACK TO part");
      throw error;
    }
  }

  return {
    find,
    ownerOf,
    hasImports: () => selectImport.get() !== undefined,

    recordImport(hash: string, accountId: string): void {
      if ((ownerOf(hash) ?? accountId) !== accountId) throw keyOfAnother();
      insertImport.run();
    },

    page: (after: string, limit: number) =>
      toAccounts(selectPage.all(after, limit) as unknown as AccountRow[]),

    recordEnvironment(environment: Environment): Environment {
      insertEnvironment.run(environment);
      return (selectEnvironment.get() as { readonly value: Environment }).value;
    },

    create: (settings: AccountSettings) =>
      allOrNothing((): AccountResult => {
        const isNew = insertAccount.run(settings.id, settings.plan).changes === 1n;
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

    delete(id: string): AccountResult {
      const account = find(id);
      if (account === undefined) return { ok: false, code: "account_not_found" };
      allOrNothing(() => {
        deleteKeys.run(id);
        deleteAccount.run(id);
      });
      return { ok: true, account };
    },

    resetUsage(id: string): AccountResult {
      const account = find(id);
      if (account === undefined) return { ok: false, code: "account_not_found" };
      resetCounts.run(id);
      return { ok: true, account };
    },

    unban: (accountId: string, keyId: string) => void resetRejections.run(accountId, keyId),
  };
}
