import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Account } from "../../../lib/accounts/account.ts";
import { admission } from "../../../lib/accounts/admission.ts";
import { transition } from "../../../lib/orders/lifecycle.ts";
import { toWire } from "../../../lib/orders/order.ts";
import type { Store } from "../../../lib/stores/store.ts";

/** Ways to break a store: each takes a sound one and the file that it is on. A check that passes them is none. */
export const BROKEN: Readonly<Record<string, (sound: Store, path: string) => Store>> = {
  "reads an order, then writes it": (sound, path) => {
    const db = connect(path);
    const update = db.prepare("UPDATE orders SET status = ?, record = ? WHERE id = ?");
    return withOrders(sound, {
      async apply(id, event, at) {
        const order = await sound.orders.find(id);
        if (order === undefined) return undefined;
        const result = transition(order, event, at);
        await sleep(1);
        if (result.moved) update.run(result.order.status, toWire(result.order.record), id);
        return result;
      },
    });
  },

  "answers before it writes": (sound) =>
    withOrders(sound, {
      async apply(id, event, at) {
        const order = await sound.orders.find(id);
        const result = order && transition(order, event, at);
        sleep(3).then(() => sound.orders.apply(id, event, at));
        return result;
      },
    }),

  "loses a count": (sound, path) => {
    const db = connect(path);
    const update = db.prepare(
      "UPDATE accounts SET minute_start = ?, minute_count = ?, day_start = ?, day_count = ? WHERE id = ?",
    );
    return withAccounts(sound, {
      async admit({ accountId, hash }, at, policy, refusals) {
        const decided = decide(await sound.accounts.find(accountId), hash, at, policy, refusals);
        if (decided.outcome !== "admitted")
          return sound.accounts.admit({ accountId, hash }, at, policy, refusals);
        const { minute, day } = decided.write;
        await sleep(1);
        update.run(minute.start, minute.count, day.start, day.count, accountId);
        return decided;
      },
    });
  },

  "remembers keys and plans": (sound) => {
    const remembered = new Map<string, Account>();
    return withAccounts(sound, {
      async admit({ accountId, hash }, at, policy, refusals) {
        const fresh = await sound.accounts.find(accountId);
        const settings = remembered.get(accountId) ?? fresh;
        if (fresh === undefined || settings === undefined)
          return { outcome: "unknown", reason: "no_such_key" };
        remembered.set(accountId, settings);
        const { terms, keys } = settings;
        const decided = decide({ ...fresh, terms, keys }, hash, at, policy, refusals);
        const counted = await sound.accounts.admit({ accountId, hash }, at, policy, refusals);
        return counted.outcome === decided.outcome ? counted : decided;
      },
    });
  },

  "forgets a ban": (sound) =>
    withAccounts(sound, {
      async admit(key, at, policy, refusals) {
        const decided = await sound.accounts.admit(key, at, policy, refusals);
        if (decided.outcome === "refused" && decided.code === "api_key_banned") {
          await sound.accounts.pardon(key.accountId, decided.caller.keyId);
        }
        return decided;
      },
    }),
};

function decide(
  account: Account | undefined,
  hash: string,
  ...rest: DropFirst<Parameters<typeof admission>>
) {
  const key = account?.keys.find((known) => known.hash === hash);
  if (account === undefined || key === undefined) return admission(undefined, ...rest);
  const { id: accountId, terms, usage, penalties } = account;
  return admission({ accountId, terms, usage, key, penalty: penalties[key.id] }, ...rest);
}

type DropFirst<T extends readonly unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never;

function withOrders(sound: Store, orders: Partial<Store["orders"]>): Store {
  return { ...sound, orders: { ...sound.orders, ...orders } };
}

function withAccounts(sound: Store, accounts: Partial<Store["accounts"]>): Store {
  return { ...sound, accounts: { ...sound.accounts, ...accounts } };
}

function connect(path: string): DatabaseSync {
  return new DatabaseSync(path, { timeout: 5_000 });
}
