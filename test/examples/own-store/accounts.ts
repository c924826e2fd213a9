import { type Account, type AccountStore, decideAdmission, NO_USAGE } from "store-orders";
import { readShop, writeShop } from "./shop-file.ts";

/** The accounts of a file. What is decided about them is decided by the rules; the store writes it down. */
export function accountsIn(path: string): AccountStore {
  const find = (id: string) => readShop(path).accounts.get(id);

  function save(account: Account): void {
    const shop = readShop(path);
    writeShop(path, { ...shop, accounts: new Map(shop.accounts).set(account.id, account) });
  }

  return {
    async create(settings) {
      if (find(settings.id) !== undefined) return false;
      save({ ...settings, usage: NO_USAGE, rejections: {} });
      return true;
    },

    find: async (id) => find(id),

    async *list() {
      const { accounts } = readShop(path);
      yield* [...accounts.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    },

    async update(id, decide) {
      const account = find(id);
      if (account === undefined) return { refused: "account_not_found" };
      const decided = decide(account);
      if (!("refused" in decided)) save({ ...account, ...decided });
      return decided;
    },

    async unban(accountId, keyId) {
      const account = find(accountId);
      if (account === undefined) return;
      const { [keyId]: _forgotten, ...rejections } = account.rejections;
      save({ ...account, rejections });
    },

    async admit({ accountId, hash }, at, policy, refusals) {
      const account = find(accountId);
      const key = account?.keys.find((known) => known.hash === hash);
      if (account === undefined || key === undefined) return decideAdmission(undefined, at);
      const { terms, usage, rejections } = account;
      const decided = decideAdmission(
        { accountId, terms, usage, key, rejections: rejections[key.id] },
        at,
        policy,
        refusals,
      );
      if (decided.outcome === "admitted") save({ ...account, usage: decided.write });
      if (decided.outcome === "refused" && decided.write !== undefined) {
        save({ ...account, rejections: { ...rejections, [key.id]: decided.write } });
      }
      return decided;
    },
  };
}
