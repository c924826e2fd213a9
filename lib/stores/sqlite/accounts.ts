import type { AccountSettings, RejectionCount } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import { decideAdmission, decideRejections, type KeyState } from "../../accounts/admission.ts";
import type { Environment, ParsedKey } from "../../accounts/api-key.ts";
import { type JoinedRow, type KeyStateColumns, toAccount, toKeyState } from "./account-rows.ts";
import { allOrNothing } from "./all-or-nothing.ts";
import type { Connection } from "./connection.ts";

/** The account store over the tables `accounts` and `api_keys`. */
export function sqliteAccounts({ db, read, write }: Connection): AccountStore {
  const insertEnvironment = db.prepare(
    "INSERT INTO settings (name, value) VALUES ('environment', ?) ON CONFLICT DO NOTHING",
  );
  const selectEnvironment = db.prepare("SELECT value FROM settings WHERE name = 'environment'");
  const insertAccount = db.prepare("INSERT INTO accounts (id, plan) VALUES (?, ?) ON CONFLICT DO NOTHING");
  const updatePlan = db.prepare("UPDATE accounts SET plan = ?, per_minute = ?, per_day = ? WHERE id = ?");
  // One statement, so that the account and its keys are from the same moment while other processes write.
  const selectAccount = db.prepare(
    `SELECT a.plan, a.per_minute, a.per_day, a.minute_start, a.minute_count, a.day_start, a.day_count, k.*
     FROM accounts a LEFT JOIN api_keys k ON k.account = a.id WHERE a.id = ? ORDER BY k.position`,
  );
  const selectIds = db.prepare("SELECT id FROM accounts ORDER BY id");
  const deleteOtherKeys = db.prepare(
    "DELETE FROM api_keys WHERE account = ? AND hash NOT IN (SELECT value FROM json_each(?))",
  );
  const upsertKey = db.prepare(
    `INSERT INTO api_keys (hash, id, account, position, created_at, expires_at, revoked_at, successor_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (hash) DO UPDATE SET position = excluded.position, expires_at = excluded.expires_at,
       revoked_at = excluded.revoked_at, successor_id = excluded.successor_id`,
  );
  // Runs for every request: an array of named columns takes half the time of an object with all of them.
  const selectKeyState = db.prepare(
    `SELECT a.plan, a.per_minute, a.per_day, a.minute_start, a.minute_count, a.day_start, a.day_count, k.id,
            k.created_at, k.expires_at, k.revoked_at, k.refused_start, k.refused_count, k.banned_until
     FROM api_keys k JOIN accounts a ON a.id = k.account WHERE k.hash = ? AND k.account = ?`,
  );
  selectKeyState.setReturnArrays(true);
  const updateUsage = db.prepare(
    "UPDATE accounts SET minute_start = ?, minute_count = ?, day_start = ?, day_count = ? WHERE id = ?",
  );
  const resetCounts = db.prepare("UPDATE accounts SET minute_count = 0, day_count = 0 WHERE id = ?");
  const updateRejections = db.prepare(
    "UPDATE api_keys SET refused_start = ?, refused_count = ?, banned_until = ? WHERE account = ? AND id = ?",
  );

  // A value that SQLite cannot store is found between two statements.
  const atomically = allOrNothing(db);
  const find = (id: string) => toAccount(id, selectAccount.all(id) as unknown as JoinedRow[]);

  function findKeyState({ accountId, hash }: ParsedKey): KeyState | undefined {
    const columns = selectKeyState.get(hash, accountId) as unknown as KeyStateColumns | undefined;
    return columns && toKeyState(accountId, hash, columns);
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

  return {
    recordEnvironment: (environment) =>
      write("durable", () => {
        insertEnvironment.run(environment);
        return (selectEnvironment.get() as { readonly value: Environment }).value;
      }),

    create: (settings) =>
      write("durable", () =>
        atomically(() => {
          const isNew = insertAccount.run(settings.id, settings.plan).changes === 1;
          if (!isNew) return { ok: false, code: "account_exists" };
          saveSettings(settings);
          return { ok: true, account: settings };
        }),
      ),

    find: (id) => read(() => find(id)),

    async *list() {
      const rows = await read(() => selectIds.all() as unknown as { id: string }[]);
      for (const { id } of rows) {
        const account = await read(() => find(id));
        if (account !== undefined) yield account;
      }
    },

    update: (id, updater) =>
      write("durable", () => {
        const account = find(id);
        if (account === undefined) return { ok: false, code: "account_not_found" };
        const result = updater(account);
        if (result.ok) atomically(() => saveSettings(result.account));
        return result;
      }),

    resetUsage: (id) =>
      write("durable", () => {
        const account = find(id);
        if (account === undefined) return { ok: false, code: "account_not_found" };
        resetCounts.run(id);
        return { ok: true, account };
      }),

    async unban(accountId, keyId) {
      await write("durable", () => updateRejections.run(null, null, null, accountId, keyId));
    },

    // Counters and bans survive the process. Only a power failure can lose the most recent ones.
    admit: (key, at, policy, work) =>
      write(work?.durable === true ? "durable" : "relaxed", () => {
        const state = findKeyState(key);
        const { admission, save: changed } = decideAdmission(state, at, policy);
        if (state !== undefined && changed.usage !== undefined) {
          const { minute, day } = changed.usage;
          updateUsage.run(minute.start, minute.count, day.start, day.count, state.accountId);
        }
        if (state !== undefined && changed.rejections !== undefined)
          saveRejections(state, changed.rejections);
        if (admission.ok) work?.start(admission.caller);
        return admission;
      }),

    // Needs no token: a call that failed has changed nothing.
    recordRejections: (key, count, at, policy) =>
      write("relaxed", () => {
        const state = findKeyState(key);
        const rejections = decideRejections(state, count, at, policy);
        if (state !== undefined && rejections !== undefined) saveRejections(state, rejections);
      }),
  };
}
