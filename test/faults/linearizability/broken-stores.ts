import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Account } from "../../../lib/accounts/account.ts";
import { type BanPolicy, type Decision, decideAdmission } from "../../../lib/accounts/admission.ts";
import type { Instant } from "../../../lib/core/time.ts";
import { transition } from "../../../lib/orders/lifecycle.ts";
import { orderToJson } from "../../../lib/orders/wire.ts";
import type { Store } from "../../../lib/stores/store.ts";

/** Broken stores, each made from a correct one and its file. The checker must find a violation in each. */
export const BROKEN: Readonly<Record<string, (correctStore: Store, path: string) => Store>> = {
  "reads an order, then writes it": (correctStore, path) => {
    const db = connect(path);
    const update = db.prepare("UPDATE orders SET status = ?, record = ? WHERE id = ?");
    return withOrders(correctStore, {
      async apply(id, event, at) {
        const order = await correctStore.orders.find(id);
        if (order === undefined) return { ok: false, code: "order_not_found" };
        const result = transition(order, event, at);
        await sleep(1);
        if (result.ok) update.run(result.order.status, orderToJson(result.order.record), id);
        return result;
      },
    });
  },

  "responds before it writes": (correctStore) =>
    withOrders(correctStore, {
      async apply(id, event, at) {
        const order = await correctStore.orders.find(id);
        if (order === undefined) return { ok: false, code: "order_not_found" };
        const result = transition(order, event, at);
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
      async admit({ accountId, hash }, at, policy) {
        const decision = decide(await correctStore.accounts.find(accountId), hash, at, policy);
        const { usage } = decision.save;
        if (usage === undefined) return correctStore.accounts.admit({ accountId, hash }, at, policy);
        await sleep(1);
        update.run(usage.minute.start, usage.minute.count, usage.day.start, usage.day.count, accountId);
        return decision.admission;
      },
    });
  },

  "caches keys and plans": (correctStore) => {
    const cache = new Map<string, Account>();
    return withAccounts(correctStore, {
      async admit({ accountId, hash }, at, policy) {
        const current = await correctStore.accounts.find(accountId);
        const cached = cache.get(accountId) ?? current;
        if (current === undefined || cached === undefined) {
          return { ok: false, code: "invalid_api_key", reason: "unknown_key" };
        }
        cache.set(accountId, cached);
        const { usage, rejections } = current;
        const { admission } = decide({ ...cached, usage, rejections }, hash, at, policy);
        const counted = await correctStore.accounts.admit({ accountId, hash }, at, policy);
        return counted.ok === admission.ok ? counted : admission;
      },
    });
  },

  "forgets a ban": (correctStore) =>
    withAccounts(correctStore, {
      async admit(key, at, policy) {
        const admission = await correctStore.accounts.admit(key, at, policy);
        if (!admission.ok && admission.code === "api_key_banned") {
          await correctStore.accounts.unban(key.accountId, admission.caller.keyId);
        }
        return admission;
      },
    }),
};

function decide(account: Account | undefined, hash: string, at: Instant, policy?: BanPolicy): Decision {
  const key = account?.keys.find((known) => known.hash === hash);
  if (account === undefined || key === undefined) return decideAdmission(undefined, at, policy);
  const state = { ...account, accountId: account.id, key, rejections: account.rejections[key.id] };
  return decideAdmission(state, at, policy);
}

function withOrders(correctStore: Store, orders: Partial<Store["orders"]>): Store {
  return { ...correctStore, orders: { ...correctStore.orders, ...orders } };
}

function withAccounts(correctStore: Store, accounts: Partial<Store["accounts"]>): Store {
  return { ...correctStore, accounts: { ...correctStore.accounts, ...accounts } };
}

function connect(path: string): DatabaseSync {
  return new DatabaseSync(path, { timeout: 5_000 });
}
