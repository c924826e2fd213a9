import {
  type Account,
  type AccountStore,
  decideAdmission,
  decideRejections,
  NO_USAGE,
  type ParsedKey,
  resetCounts,
} from "store-orders";
import { readData, writeData } from "./data-file.ts";

/** The accounts in a file. The rules decide, and the store saves what they return. */
export function accountsIn(path: string): AccountStore {
  const find = (id: string) => readData(path).accounts.get(id);

  function save(account: Account): void {
    const data = readData(path);
    writeData(path, { ...data, accounts: new Map(data.accounts).set(account.id, account) });
  }

  /** The account of a key, and what the rules need to know about the key. */
  function findKey({ accountId, hash }: ParsedKey) {
    const account = find(accountId);
    const key = account?.keys.find((known) => known.hash === hash);
    if (account === undefined || key === undefined) return undefined;
    return { account, state: { ...account, accountId, key, rejections: account.rejections[key.id] } };
  }

  return {
    findEnvironment: async () => readData(path).environment,

    async recordEnvironment(environment) {
      const data = readData(path);
      if (data.environment === undefined) writeData(path, { ...data, environment });
      return data.environment ?? environment;
    },

    async create(settings) {
      if (find(settings.id) !== undefined) return { ok: false, code: "account_exists" };
      save({ ...settings, usage: NO_USAGE, rejections: {} });
      return { ok: true, account: settings };
    },

    find: async (id) => find(id),

    async *list(after = "", limit) {
      const accounts = [...readData(path).accounts.values()].filter(({ id }) => id > after);
      yield* accounts.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit);
    },

    async update(id, updater) {
      const account = find(id);
      if (account === undefined) return { ok: false, code: "account_not_found" };
      const { usage, rejections, ...settings } = account;
      const result = updater(settings);
      if (!result.ok) return result;
      const ids = result.account.keys.map((key) => key.id);
      const kept = Object.entries(rejections).filter(([keyId]) => ids.includes(keyId));
      save({ ...result.account, usage, rejections: Object.fromEntries(kept) });
      return result;
    },

    async delete(id) {
      const data = readData(path);
      const account = data.accounts.get(id);
      if (account === undefined) return { ok: false, code: "account_not_found" };
      const accounts = [...data.accounts].filter(([other]) => other !== id);
      writeData(path, { ...data, accounts: new Map(accounts) });
      return { ok: true, account };
    },

    async resetUsage(id) {
      const account = find(id);
      if (account === undefined) return { ok: false, code: "account_not_found" };
      save({ ...account, usage: resetCounts(account.usage) });
      return { ok: true, account };
    },

    async unban(accountId, keyId) {
      const account = find(accountId);
      if (account === undefined) return;
      const { [keyId]: _lifted, ...rejections } = account.rejections;
      save({ ...account, rejections });
    },

    async admit(key, at, policy) {
      const found = findKey(key);
      const { admission, save: changed } = decideAdmission(found?.state, at, policy);
      if (found === undefined) return admission;
      const { account, state } = found;
      if (changed.usage !== undefined) save({ ...account, usage: changed.usage });
      if (changed.rejections !== undefined) {
        save({ ...account, rejections: { ...account.rejections, [state.key.id]: changed.rejections } });
      }
      return admission;
    },

    async recordRejections(key, count, at, policy) {
      const found = findKey(key);
      const rejections = decideRejections(found?.state, count, at, policy);
      if (found === undefined || rejections === undefined) return;
      const { account, state } = found;
      save({ ...account, rejections: { ...account.rejections, [state.key.id]: rejections } });
    },
  };
}
