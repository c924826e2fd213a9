/**
 * Everything in memory, for tests and for trying things out; also the shortest way to read what a store promises.
 *
 * ```ts
 * const { orders, accounts } = createMemoryStore();
 * ```
 *
 * @module store-orders/memory
 */
import type { Account } from "../accounts/account.ts";
import type { AccountStore } from "../accounts/account-store.ts";
import { decideAdmission } from "../accounts/admission.ts";
import { transition } from "../orders/lifecycle.ts";
import { type StoredOrder, toLine, toWire } from "../orders/order.ts";
import type { OrderStore } from "../orders/order-store.ts";
import { NO_USAGE } from "../plans/windows.ts";
import type { Store } from "./store.ts";

/** Makes an empty store. One JavaScript turn is atomic, so nothing here needs a lock. */
export function createMemoryStore(): Store {
  return { orders: memoryOrders(), accounts: memoryAccounts(), close: async () => {} };
}

const PAGE = 500;

function memoryOrders(): OrderStore {
  const orders = new Map<bigint, StoredOrder>();

  async function* scan(after?: bigint) {
    const ids = [...orders.keys()].filter((id) => after === undefined || id > after).sort(ascending);
    for (let from = 0; from < ids.length; from += PAGE) {
      yield ids.slice(from, from + PAGE).flatMap((id) => orders.get(id) ?? []);
    }
  }

  return {
    async place(placed) {
      return placed.map((order) => {
        const known = orders.get(order.record.id);
        if (known !== undefined) return toLine(known) === toLine(order) ? "unchanged" : "conflict";
        orders.set(order.record.id, order);
        return "placed";
      });
    },

    find: async (id) => orders.get(id),

    async apply(id, event, at) {
      const order = orders.get(id);
      if (order === undefined) return undefined;
      const result = transition(order, event, at);
      if (result.moved) orders.set(id, result.order);
      return result;
    },

    async *list() {
      for await (const page of scan()) {
        yield { json: page.map(({ record }) => toWire(record)).join(","), last: page.length < PAGE };
        if (page.length < PAGE) return;
      }
      yield { json: "", last: true };
    },

    scan,
  };
}

function memoryAccounts(): AccountStore {
  const accounts = new Map<string, Account>();

  return {
    async create(settings) {
      if (accounts.has(settings.id)) return false;
      accounts.set(settings.id, { ...settings, usage: NO_USAGE, rejections: {} });
      return true;
    },

    find: async (id) => accounts.get(id),

    async *list() {
      for (const id of [...accounts.keys()].sort()) {
        const account = accounts.get(id);
        if (account !== undefined) yield account;
      }
    },

    async update(id, decide) {
      const account = accounts.get(id);
      if (account === undefined) return { refused: "account_not_found" };
      const decided = decide(account);
      if ("refused" in decided) return decided;
      accounts.set(id, { ...account, ...decided });
      return decided;
    },

    async unban(accountId, keyId) {
      const account = accounts.get(accountId);
      if (account === undefined) return;
      const { [keyId]: _forgotten, ...rejections } = account.rejections;
      accounts.set(accountId, { ...account, rejections });
    },

    async admit({ accountId, hash }, at, policy, refusals) {
      const account = accounts.get(accountId);
      const key = account?.keys.find((known) => known.hash === hash);
      if (account === undefined || key === undefined) return decideAdmission(undefined, at);
      const caller = { accountId, terms: account.terms, usage: account.usage, key };
      const decided = decideAdmission(
        { ...caller, rejections: account.rejections[key.id] },
        at,
        policy,
        refusals,
      );
      if (decided.outcome === "admitted") accounts.set(accountId, { ...account, usage: decided.write });
      if (decided.outcome === "refused" && decided.write !== undefined) {
        const rejections = { ...account.rejections, [key.id]: decided.write };
        accounts.set(accountId, { ...account, rejections });
      }
      return decided;
    },
  };
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : 1;
}
