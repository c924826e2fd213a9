/**
 * The in-memory store, for tests and for trying things out. It is also the shortest complete implementation of a store:
 * read it before you write your own.
 *
 * ```ts
 * const { orders, accounts } = createMemoryStore();
 * ```
 *
 * @module store-orders/memory
 */
import type { Account } from "../accounts/account.ts";
import type { AccountStore } from "../accounts/account-store.ts";
import { decideAdmission, decideRejections, type KeyState } from "../accounts/admission.ts";
import type { Environment, ParsedKey } from "../accounts/api-key.ts";
import { type StoredOrder, transition } from "../orders/lifecycle.ts";
import type { OrderStore } from "../orders/order-store.ts";
import { toLine, toWire } from "../orders/wire.ts";
import { NO_USAGE, resetCounts } from "../plans/windows.ts";
import type { Store } from "./store.ts";

export type { Store } from "./store.ts";

/** Creates an empty store. No method awaits between a read and a write, so every method is atomic. */
export function createMemoryStore(): Store {
  return { orders: memoryOrders(), accounts: memoryAccounts(), close: async () => {} };
}

const PAGE_SIZE = 500;

function memoryOrders(): OrderStore {
  const orders = new Map<bigint, StoredOrder>();
  let changes = 0;

  async function* scan(after?: bigint) {
    const ids = [...orders.keys()].filter((id) => after === undefined || id > after).sort(ascending);
    for (let from = 0; from < ids.length; from += PAGE_SIZE) {
      yield ids.slice(from, from + PAGE_SIZE).flatMap((id) => orders.get(id) ?? []);
    }
  }

  return {
    async place(placed) {
      return placed.map((order) => {
        const existing = orders.get(order.record.id);
        if (existing !== undefined) return toLine(existing) === toLine(order) ? "unchanged" : "conflict";
        orders.set(order.record.id, order);
        changes++;
        return "placed";
      });
    },

    find: async (id) => orders.get(id),

    async apply(id, event, at) {
      const order = orders.get(id);
      if (order === undefined) return { ok: false, code: "order_not_found" };
      const result = transition(order, event, at);
      if (result.ok) orders.set(id, result.order);
      if (result.ok) changes++;
      return result;
    },

    async *list() {
      for await (const page of scan()) {
        const last = page.length < PAGE_SIZE;
        yield { json: page.map(({ record }) => toWire(record)).join(","), last };
        if (last) return;
      }
      yield { json: "", last: true };
    },

    scan,
    revision: async () => `${changes}`,
  };
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : 1;
}

function memoryAccounts(): AccountStore {
  const accounts = new Map<string, Account>();
  let recorded: Environment | undefined;

  function findKey({ accountId, hash }: ParsedKey): { account: Account; state: KeyState } | undefined {
    const account = accounts.get(accountId);
    const key = account?.keys.find((known) => known.hash === hash);
    if (account === undefined || key === undefined) return undefined;
    return { account, state: { ...account, accountId, key, rejections: account.rejections[key.id] } };
  }

  return {
    async recordEnvironment(environment) {
      recorded ??= environment;
      return recorded;
    },

    async create(settings) {
      if (accounts.has(settings.id)) return { ok: false, code: "account_exists" };
      accounts.set(settings.id, { ...settings, usage: NO_USAGE, rejections: {} });
      return { ok: true, account: settings };
    },

    find: async (id) => accounts.get(id),

    async *list() {
      for (const id of [...accounts.keys()].sort()) {
        const account = accounts.get(id);
        if (account !== undefined) yield account;
      }
    },

    async update(id, updater) {
      const account = accounts.get(id);
      if (account === undefined) return { ok: false, code: "account_not_found" };
      const result = updater(account);
      const { usage, rejections } = account;
      if (result.ok) accounts.set(id, { ...result.account, usage, rejections });
      return result;
    },

    async resetUsage(id) {
      const account = accounts.get(id);
      if (account === undefined) return { ok: false, code: "account_not_found" };
      accounts.set(id, { ...account, usage: resetCounts(account.usage) });
      return { ok: true, account };
    },

    async unban(accountId, keyId) {
      const account = accounts.get(accountId);
      if (account === undefined) return;
      const { [keyId]: _removed, ...rejections } = account.rejections;
      accounts.set(accountId, { ...account, rejections });
    },

    async admit(key, at, policy) {
      const found = findKey(key);
      const { admission, save } = decideAdmission(found?.state, at, policy);
      if (found === undefined) return admission;
      const { account, state } = found;
      if (save.usage !== undefined) accounts.set(account.id, { ...account, usage: save.usage });
      if (save.rejections !== undefined) {
        const rejections = { ...account.rejections, [state.key.id]: save.rejections };
        accounts.set(account.id, { ...account, rejections });
      }
      return admission;
    },

    async recordRejections(key, count, at, policy) {
      const found = findKey(key);
      const counted = decideRejections(found?.state, count, at, policy);
      if (found === undefined || counted === undefined) return;
      const { account, state } = found;
      accounts.set(account.id, {
        ...account,
        rejections: { ...account.rejections, [state.key.id]: counted },
      });
    },
  };
}
