import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Account } from "../../../lib/accounts/account.ts";
import { decideAdmission } from "../../../lib/accounts/admission.ts";
import { transition } from "../../../lib/orders/lifecycle.ts";
import { toWire } from "../../../lib/orders/order.ts";
import type { Store } from "../../../lib/stores/store.ts";

/** Ways to break a store: each takes a sound one and the file that it is on. A check that passes them is none. */
export const BROKEN: Readonly<Record<string, (correctStore: Store, path: string) => Store>> = {
  "reads an order, then writes it": (correctStore, path) => {
    const db = connect(path);
    const update = db.prepare("UPDATE orders SET status = ?, record = ? WHERE id = ?");
    return withOrders(correctStore, {
      async apply(id, event, at) {
        const order = await correctStore.orders.find(id);
        if (order === undefined) return undefined;
        const result = transition(order, event, at);
        await sleep(1);
        if (result.moved) update.run(result.order.status, toWire(result.order.record), id);
        return result;
      },
    });
  },

  "answers before it writes": (correctStore) =>
    withOrders(correctStore, {
      async apply(id, event, at) {
        const order = await correctStore.orders.find(id);
        const result = order && transition(order, event, at);
        sleep(3).then(() => correctStore.orders.apply(id, event, at));
        return result;
      },
    }),

  "loses a count": (correctStore, path) => {
    const db = connect(path);
    const update = db.prepare(
      "UPDATE accounts SET minute_start = ?, minute_count = ?, day_start = ?, day_count = ? WHERE id = ?",
    );
    return withAccounts(correctStore, {
      async admit({ accountId, hash }, at, policy, refusals) {
        const decided = decide(await correctStore.accounts.find(accountId), hash, at, policy, refusals);
        if (decided.outcome !== "admitted")
          return correctStore.accounts.admit({ accountId, hash }, at, policy, refusals);
        const { minute, day } = decided.write;
        await sleep(1);
        update.run(minute.start, minute.count, day.start, day.count, accountId);
        return decided;
      },
    });
  },

  "remembers keys and plans": (correctStore) => {
    const remembered = new Map<string, Account>();
    return withAccounts(correctStore, {
      async admit({ accountId, hash }, at, policy, refusals) {
        const fresh = await correctStore.accounts.find(accountId);
        const settings = remembered.get(accountId) ?? fresh;
        if (fresh === undefined || settings === undefined)
          return { outcome: "unknown", reason: "no_such_key" };
        remembered.set(accountId, settings);
        const { terms, keys } = settings;
        const decided = decide({ ...fresh, terms, keys }, hash, at, policy, refusals);
        const counted = await correctStore.accounts.admit({ accountId, hash }, at, policy, refusals);
        return counted.outcome === decided.outcome ? counted : decided;
      },
    });
  },

  "forgets a ban": (correctStore) =>
    withAccounts(correctStore, {
      async admit(key, at, policy, refusals) {
        const decided = await correctStore.accounts.admit(key, at, policy, refusals);
        if (decided.outcome === "refused" && decided.code === "api_key_banned") {
          await correctStore.accounts.unban(key.accountId, decided.caller.keyId);
        }
        return decided;
      },
    }),
};

function decide(
  account: Account | undefined,
  hash: string,
  ...rest: DropFirst<Parameters<typeof decideAdmission>>
) {
  const key = account?.keys.find((known) => known.hash === hash);
  if (account === undefined || key === undefined) return decideAdmission(undefined, ...rest);
  const { id: accountId, terms, usage, rejections } = account;
  return decideAdmission({ accountId, terms, usage, key, rejections: rejections[key.id] }, ...rest);
}

type DropFirst<T extends readonly unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never;

function withOrders(correctStore: Store, orders: Partial<Store["orders"]>): Store {
  return { ...correctStore, orders: { ...correctStore.orders, ...orders } };
}

function withAccounts(correctStore: Store, accounts: Partial<Store["accounts"]>): Store {
  return { ...correctStore, accounts: { ...correctStore.accounts, ...accounts } };
}

function connect(path: string): DatabaseSync {
  return new DatabaseSync(path, { timeout: 5_000 });
}
