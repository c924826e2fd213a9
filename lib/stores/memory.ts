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
import type { Account, AccountSettings } from "../accounts/account.ts";
import type { AccountStore } from "../accounts/account-store.ts";
import { type Decision, decideAdmission, decideRejections, type KeyState } from "../accounts/admission.ts";
import type { Environment, ParsedKey } from "../accounts/api-key.ts";
import { type Instant, systemClock } from "../core/time.ts";
import { newChange, type OrderChange, type OrderWithHistory } from "../orders/history.ts";
import { decideEvent, type StoredOrder, sumByStatus } from "../orders/lifecycle.ts";
import { validateOrderQuery } from "../orders/order-query.ts";
import type { OrderStore, Outbox, WaitingOrder } from "../orders/order-store.ts";
import { orderToJson, toLine } from "../orders/wire.ts";
import { MAX_CLOCK_SKEW_MS, NO_USAGE, resetCounts } from "../plans/windows.ts";
import { keyOfAnother } from "./account-rows.ts";
import type { Store } from "./store.ts";

export type { AccountStore } from "../accounts/account-store.ts";
export type { OrderStore, Outbox } from "../orders/order-store.ts";
export type { Store } from "./store.ts";

/** Keeps and returns copies, as a database does. No method awaits between a read and a write, so each is atomic. */
export function createMemoryStore(): Store {
  return { ...memoryOrders(), accounts: memoryAccounts(), check: async () => {}, close: async () => {} };
}

const PAGE_SIZE = 500;

function memoryOrders(): { readonly orders: OrderStore; readonly outbox: Outbox } {
  const orders = new Map<bigint, OrderWithHistory>();
  const find = (id: bigint) => copyOf(orders.get(id));
  const { mark, ...outbox } = memoryOutbox(find);

  function save({ record, status }: StoredOrder, change: OrderChange): void {
    const { history = [] } = orders.get(record.id) ?? {};
    orders.set(record.id, copyOf({ record, status, history: [...history, change] }));
    mark(record.id, history.length, change.at);
  }

  const store: OrderStore = {
    async place(placed, at = systemClock(), origin) {
      return placed.map((order) => {
        const existing = orders.get(order.record.id);
        if (existing !== undefined) return toLine(existing) === toLine(order) ? "unchanged" : "conflict";
        save(order, newChange("place", at, origin));
        return "placed";
      });
    },

    find: async (id) => find(id),

    async apply(id, event, at, origin) {
      const order = find(id);
      if (order === undefined) return { ok: false, code: "order_not_found" };
      const { result, changed } = decideEvent(order, event, at);
      if (changed !== undefined) save(changed, newChange(event, at, origin));
      return result;
    },

    async *list() {
      const ids = [...orders.keys()].sort(ascending);
      for (let from = 0; ; from += PAGE_SIZE) {
        const page = ids.slice(from, from + PAGE_SIZE).flatMap((id) => orders.get(id) ?? []);
        const last = from + PAGE_SIZE >= ids.length;
        yield { json: page.map(({ record }) => orderToJson(record)).join(","), last };
        if (last) return;
      }
    },

    async page(query) {
      validateOrderQuery(query);
      const { after, status, order, limit } = query;
      const isBeyond = (id: bigint) => after === undefined || (order === "desc" ? id < after : id > after);
      const found = [...orders.values()]
        .filter((each) => isBeyond(each.record.id) && (status === undefined || each.status === status))
        .sort((a, b) => ascending(a.record.id, b.record.id));
      const first = (order === "desc" ? found.reverse() : found).slice(0, limit);
      const page = first.map(({ record, status }) => copyOf({ record, status }));
      const last = page.at(-1);
      return found.length > limit && last !== undefined
        ? { orders: page, next: last.record.id }
        : { orders: page };
    },

    async countByStatus() {
      return sumByStatus([...orders.values()].map(({ status }) => [status, 1]));
    },
  };
  return { orders: store, outbox };
}

interface Mark extends Pick<WaitingOrder, "delivered" | "attempts"> {
  /** The next attempt, Infinity if the change was set aside; below zero, the lease. */
  readonly due: number;
  readonly since: Instant;
}

function memoryOutbox(find: (id: bigint) => OrderWithHistory | undefined) {
  /** In the order of the changes. */
  const marks = new Map<bigint, Mark>();
  let isOn = false;

  function waitingOrder(id: bigint, { due, delivered, attempts }: Mark): readonly WaitingOrder[] {
    const order = find(id);
    if (order === undefined) return [];
    const hold = due < 0 ? { lease: due } : due < Infinity ? { due } : {};
    return [{ id, order, delivered, attempts, ...hold }];
  }

  const marked = (kind: "waiting" | "failed") =>
    [...marks].filter(([, { due }]) => (due === Infinity) === (kind === "failed"));

  return {
    mark(id: bigint, delivered: number, since: Instant): void {
      if (isOn && !marks.has(id)) marks.set(id, { delivered, attempts: 0, due: 0, since });
    },

    async switch(on: boolean) {
      isOn = on;
    },

    isOn: async () => isOn,

    async lease(limit, at, lease) {
      const due = [...marks].filter(([, mark]) => mark.due >= 0 && mark.due <= at).slice(0, limit);
      return due.flatMap(([id, mark]) => {
        const since = mark.since > at + MAX_CLOCK_SKEW_MS ? at : mark.since;
        const leased = { ...mark, due: lease, since };
        marks.set(id, leased);
        return waitingOrder(id, leased);
      });
    },

    async held(after, limit) {
      const held = marked("waiting").filter(([, { due }]) => due < 0 || due > after);
      return held.slice(0, limit).map(([id, { due }]) => ({ id, hold: due }));
    },

    async release(held) {
      for (const { id, hold } of held) {
        const mark = marks.get(id);
        if (mark?.due === hold) marks.set(id, { ...mark, due: 0 });
      }
    },

    async acknowledge(deliveries) {
      for (const { id, delivered, lease } of deliveries) {
        const mark = marks.get(id);
        if (mark === undefined) continue;
        const isFree = mark.due >= 0 || mark.due === lease;
        const advanced = { ...mark, delivered: Math.max(delivered, mark.delivered) };
        if (isFree && delivered >= (find(id)?.history.length ?? 0)) marks.delete(id);
        else if (mark.due === lease || delivered > mark.delivered)
          marks.set(id, isFree ? { ...advanced, attempts: 0, due: 0 } : advanced);
      }
    },

    async postpone(id, lease, due = Infinity) {
      const mark = marks.get(id);
      if (mark?.due === lease) marks.set(id, { ...mark, attempts: mark.attempts + 1, due });
    },

    list: async (kind, limit) =>
      marked(kind)
        .slice(0, limit)
        .flatMap(([id, mark]) => waitingOrder(id, mark)),

    async retry(id) {
      const retried = [...marks].filter(([failed, { due }]) => due > 0 && (id ?? failed) === failed);
      for (const [failed, mark] of retried) marks.set(failed, { ...mark, attempts: 0, due: 0 });
      return retried.length;
    },

    async backlog() {
      const waiting = marked("waiting");
      const times = waiting.map(([, { since }]) => since);
      return {
        waiting: waiting.length,
        failed: marked("failed").length,
        ...(times.length > 0 && { oldest: Math.min(...times) }),
      };
    },
  } satisfies Outbox & { mark: unknown };
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : 1;
}

function memoryAccounts(): AccountStore {
  const accounts = new Map<string, Account>();
  const owners = new Map<string, string>();
  let recorded: Environment | undefined;
  let someImported = false;

  function setOwner(id: string, before: AccountSettings["keys"], after: AccountSettings["keys"]): void {
    if (after.some(({ hash }) => (owners.get(hash) ?? id) !== id)) throw keyOfAnother();
    for (const { hash } of before) owners.delete(hash);
    for (const { hash } of after) owners.set(hash, id);
  }

  function findState({ accountId, hash }: ParsedKey): KeyState | undefined {
    const account = accounts.get(accountId);
    const key = account?.keys.find((known) => known.hash === hash);
    return account && key && { ...account, accountId, key, rejections: account.rejections[key.id] };
  }

  function saveDecision({ accountId, key }: KeyState, { usage, rejections }: Decision["save"]): void {
    const account = accounts.get(accountId);
    if (account === undefined) return;
    accounts.set(accountId, {
      ...account,
      ...(usage && { usage, lastUses: { ...account.lastUses, [key.id]: usage.minute.start } }),
      ...(rejections && { rejections: { ...account.rejections, [key.id]: { ...rejections } } }),
    });
  }

  return {
    isLocal: true,
    importedKeys: {
      async record(hash, accountId) {
        if ((owners.get(hash) ?? accountId) !== accountId) throw keyOfAnother();
        someImported = true;
      },
      exist: async () => someImported,
      findAccount: async (hash) => owners.get(hash),
    },

    findEnvironment: async () => recorded,

    async recordEnvironment(environment) {
      recorded ??= environment;
      return recorded;
    },

    async create(settings) {
      if (accounts.has(settings.id)) return { ok: false, code: "account_exists" };
      setOwner(settings.id, [], settings.keys);
      accounts.set(settings.id, copyOf({ ...settings, usage: NO_USAGE, rejections: {} }));
      return { ok: true, account: settings };
    },

    find: async (id) => copyOf(accounts.get(id)),

    async *list(after = "", limit = Number.POSITIVE_INFINITY) {
      const ids = [...accounts.keys()].filter((id) => id > after).sort();
      for (const id of ids.slice(0, limit)) {
        const account = accounts.get(id);
        if (account !== undefined) yield copyOf(account);
      }
    },

    async update(id, updater) {
      const account = copyOf(accounts.get(id));
      if (account === undefined) return { ok: false, code: "account_not_found" };
      const { usage, rejections, lastUses = {}, ...settings } = account;
      const result = updater(settings);
      if (!result.ok) return result;
      setOwner(id, accounts.get(id)?.keys ?? [], result.account.keys);
      const ids = new Set(result.account.keys.map((key) => key.id));
      const kept = <Value>(byKey: Readonly<Record<string, Value>>) =>
        Object.fromEntries(Object.entries(byKey).filter(([keyId]) => ids.has(keyId)));
      const state = { usage, rejections: kept(rejections), lastUses: kept(lastUses) };
      accounts.set(id, copyOf({ ...result.account, ...state }));
      return result;
    },

    async delete(id) {
      const account = accounts.get(id);
      if (account === undefined) return { ok: false, code: "account_not_found" };
      setOwner(id, account.keys, []);
      accounts.delete(id);
      return { ok: true, account };
    },

    async resetUsage(id) {
      const account = accounts.get(id);
      if (account === undefined) return { ok: false, code: "account_not_found" };
      accounts.set(id, { ...account, usage: resetCounts(account.usage) });
      return { ok: true, account: copyOf(account) };
    },

    async unban(accountId, keyId) {
      const account = accounts.get(accountId);
      if (account === undefined) return;
      const { [keyId]: _removed, ...rejections } = account.rejections;
      accounts.set(accountId, { ...account, rejections });
    },

    async admit(key, at, policy) {
      const state = findState(key);
      const { admission, save } = decideAdmission(state, at, policy);
      if (state !== undefined) saveDecision(state, save);
      return admission;
    },

    async recordRejections(key, count, at, policy) {
      const state = findState(key);
      const rejections = decideRejections(state, count, at, policy);
      if (state !== undefined && rejections !== undefined) saveDecision(state, { rejections });
    },
  };
}

/** A copy of plain data. Test environments with a DOM can lack `structuredClone`. */
function copyOf<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf) as Value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copyOf(each)])) as Value;
}
