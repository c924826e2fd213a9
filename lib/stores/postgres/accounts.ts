import type { Account, AccountResult, AccountSettings } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import type { Environment } from "../../accounts/api-key.ts";
import { ACCOUNT_COLUMNS, eachAccount, keyOfAnother, toAccounts } from "../account-rows.ts";
import { createAdmission } from "./admission.ts";
import { type Database, write } from "./database.ts";
import type { Statement } from "./statement.ts";

export function createAccountStore(database: Database): AccountStore {
  const { schema, read, change } = database;
  const joined = `LEFT JOIN ${schema}.api_keys k ON k.account = a.id`;

  const selectAccount = (id: string): Statement => ({
    text: `SELECT ${ACCOUNT_COLUMNS} FROM ${schema}.accounts a ${joined} WHERE a.id = $1 ORDER BY k.position`,
    values: [id],
  });

  /** A change of an account that is locked. Its keys are read in a second statement, after the wait for the lock. */
  const changeAccount = (
    id: string,
    decide: (account: Account) => { readonly result: AccountResult; readonly writes: readonly Statement[] },
  ): Promise<AccountResult> => {
    const lock = { text: `SELECT id FROM ${schema}.accounts WHERE id = $1 FOR NO KEY UPDATE`, values: [id] };
    return change<AccountResult>({
      durable: true,
      first: [lock, selectAccount(id)],
      decide([, rows = []]) {
        const [account] = toAccounts(rows);
        if (account === undefined) return { result: () => ({ ok: false, code: "account_not_found" }) };
        const { writes, result } = decide(account);
        return { writes, result: () => result };
      },
    });
  };

  const ownerOf = (hash: string): Statement => ({
    text: `SELECT account FROM ${schema}.api_keys WHERE hash = $1`,
    values: [hash],
  });

  const settingOf = (name: string) => `SELECT value FROM ${schema}.settings WHERE name = '${name}'`;
  const environment = { text: settingOf("environment") };

  return {
    importedKeys: {
      async record(hash, accountId) {
        const insert = `INSERT INTO ${schema}.settings (name, value) VALUES ('imported_keys', 'true') ON CONFLICT DO NOTHING`;
        const isFree = await change<boolean>({
          durable: true,
          first: [ownerOf(hash)],
          decide([rows = []]) {
            const [owner] = rows;
            const free = owner === undefined || owner[0] === accountId;
            return { writes: free ? [{ text: insert, values: [] }] : [], result: () => free };
          },
        });
        if (!isFree) throw keyOfAnother();
      },

      exist: async () => (await read({ text: settingOf("imported_keys") })).length > 0,

      findAccount: async (hash) => (await read(ownerOf(hash)))[0]?.[0] as string | undefined,
    },

    findEnvironment: async () => (await read(environment))[0]?.[0] as Environment | undefined,

    async recordEnvironment(wanted) {
      const insert = `INSERT INTO ${schema}.settings (name, value) VALUES ('environment', $1) ON CONFLICT DO NOTHING RETURNING name`;
      return change({
        durable: true,
        first: [{ text: insert, values: [wanted] }, environment],
        decide: ([, rows]) => ({ result: () => rows?.[0]?.[0] as Environment }),
      });
    },

    async create(settings) {
      const text = `INSERT INTO ${schema}.accounts (id, plan) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id`;
      return change<AccountResult>({
        durable: true,
        first: [{ text, values: [settings.id, settings.plan] }],
        decide([added = []]) {
          if (added.length === 0) return { result: () => ({ ok: false, code: "account_exists" }) };
          return { writes: saveSettings(schema, settings), result: () => ({ ok: true, account: settings }) };
        },
      });
    },

    find: async (id) => toAccounts(await read(selectAccount(id)))[0],

    list(after, limit) {
      const text = `SELECT ${ACCOUNT_COLUMNS}
        FROM (SELECT * FROM ${schema}.accounts WHERE id > $1 ORDER BY id LIMIT $2) a ${joined}
        ORDER BY a.id, k.position`;
      const readAccounts = async (...values: readonly [from: string, count: number]) =>
        toAccounts(await read({ text, values }));
      return eachAccount(readAccounts, after, limit);
    },

    update: (id, updater) =>
      changeAccount(id, (account) => {
        const result = updater(account);
        return { result, writes: result.ok ? saveSettings(schema, result.account) : [] };
      }),

    delete: (id) =>
      changeAccount(id, (account) => ({
        result: { ok: true, account },
        writes: [
          { text: `DELETE FROM ${schema}.api_keys WHERE account = $1`, values: [id] },
          { text: `DELETE FROM ${schema}.accounts WHERE id = $1`, values: [id] },
        ],
      })),

    resetUsage: (id) =>
      changeAccount(id, (account) => {
        const text = `UPDATE ${schema}.accounts SET minute_count = 0, day_count = 0 WHERE id = $1`;
        return { result: { ok: true, account }, writes: [{ text, values: [id] }] };
      }),

    async unban(accountId, keyId) {
      const text = `UPDATE ${schema}.api_keys SET rejections_start = NULL, rejections_count = NULL, banned_until = NULL
        WHERE account = $1 AND id = $2 RETURNING id`;
      await write(database, { text, values: [accountId, keyId] }, true);
    },

    ...createAdmission(database),
  };
}

function saveSettings(
  schema: string,
  { id, plan, customLimits, keys }: AccountSettings,
): readonly Statement[] {
  return [
    {
      text: `UPDATE ${schema}.accounts SET plan = $2, per_minute = $3, per_day = $4 WHERE id = $1`,
      values: [id, plan, customLimits?.perMinute ?? null, customLimits?.perDay ?? null],
    },
    {
      text: `DELETE FROM ${schema}.api_keys WHERE account = $1 AND hash <> ALL ($2::text[])`,
      values: [id, keys.map(({ hash }) => hash)],
    },
    {
      text: `INSERT INTO ${schema}.api_keys
               (account, position, hash, id, created_at, expires_at, revoked_at, successor_id, name)
             SELECT $1, n.position, n.hash, n.id, n.created, n.expires, n.revoked, n.successor, n.name
             FROM ROWS FROM (jsonb_to_recordset($2::text::jsonb) AS (hash text, id text, "createdAt" bigint, "expiresAt" bigint,
               "revokedAt" bigint, "successorId" text, name text))
               WITH ORDINALITY AS n (hash, id, created, expires, revoked, successor, name, position)
             ON CONFLICT (account, hash) DO UPDATE SET position = excluded.position,
               expires_at = excluded.expires_at, revoked_at = excluded.revoked_at, successor_id = excluded.successor_id`,
      values: [id, JSON.stringify(keys)],
    },
  ];
}
