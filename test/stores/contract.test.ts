import { AssertionError } from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Account, ApiKey } from "../../lib/accounts/account.ts";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import { DEFAULT_BAN_POLICY, decideAdmission } from "../../lib/accounts/admission.ts";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { newChange, type OrderChange } from "../../lib/orders/history.ts";
import { type StoredOrder, sumByStatus, transition } from "../../lib/orders/lifecycle.ts";
import type {
  AcknowledgedOrder,
  ApplyResult,
  OrderStore,
  Outbox,
  WaitingOrder,
} from "../../lib/orders/order-store.ts";
import { performStoreOperation } from "../../lib/orders/store-operation.ts";
import { MINUTE_MS, NO_USAGE } from "../../lib/plans/windows.ts";
import { type ContractCase, storeContract } from "../../lib/stores/contract/index.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import type { Store } from "../../lib/stores/store.ts";

afterEach(() => void vi.useRealTimers());

/** Changes an instance of a correct store, so that it makes a mistake. */
type Change = (store: Store, network: Network) => Partial<Store>;

/** The network between all instances and their database. */
interface Network {
  isDown: boolean;
  losesResponse: boolean;
  /** Orders with a damaged part. */
  readonly damaged: Map<bigint, "record" | "history">;
  /** By order: its lease, and its end by the clock of whoever has it. */
  readonly leases: Map<bigint, { readonly hold: number; readonly until: number }>;
  /** By account: the last call that has its lock. */
  readonly locks: Map<string, Promise<unknown>>;
}

/** Checks a case over a memory store behind a network, each instance of which makes the mistake. */
async function checkWith(change: Change, { check }: ContractCase): Promise<AssertionError | undefined> {
  const network: Network = {
    ...{ isDown: false, losesResponse: false },
    ...{ damaged: new Map(), leases: new Map(), locks: new Map() },
  };
  const database = withDamage(network.damaged, withTokens(createMemoryStore()));
  const open = () => {
    const store = behind(network, database);
    return { ...store, ...change(store, network) };
  };
  try {
    const skipped = await check(open(), {
      openAnother: open,
      async interrupt() {
        network.isDown = true;
        return () => {
          network.isDown = false;
        };
      },
      loseResponse() {
        network.losesResponse = true;
      },
      damage: (id, part) => void network.damaged.set(id, part),
    });
    expect(skipped).toBeUndefined();
    return undefined;
  } catch (error) {
    if (error instanceof AssertionError) return error;
    throw error;
  }
}

/** Every call fails while the network is down, and one write whose response is lost fails after it was applied. */
function behind(network: Network, { orders, accounts, outbox, close }: Store): Store {
  const wrap = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(_, name: string & keyof T) {
        const method = target[name] as (...args: unknown[]) => Promise<unknown>;
        if (name === "list") return method;
        return async (...args: unknown[]) => {
          if (network.isDown) throw new StoreUnavailableError("The network is down.");
          const result = await method(...args);
          if (!network.losesResponse || /^(find|page|count|isOn|backlog)/.test(name)) return result;
          network.losesResponse = false;
          throw new StoreUnavailableError("The response was lost.");
        };
      },
    });
  const check = async () => {
    if (network.isDown) throw new StoreUnavailableError("The network is down.");
  };
  const spread = <T extends object>(target: T): T => {
    const wrapped = wrap(target);
    const methods = Object.keys(target) as (keyof T)[];
    return Object.fromEntries(methods.map((name) => [name, wrapped[name]])) as T;
  };
  return {
    orders: spread(orders),
    accounts: spread(accounts),
    outbox: spread(outbox ?? expect.fail()),
    check,
    close,
  };
}

/** Rejections that are recorded again with the same token count once. The memory store does not need it. */
function withTokens(store: Store): Store {
  const tokens = new Set<string>();
  const { accounts } = store;
  return {
    ...store,
    accounts: {
      ...accounts,
      async recordRejections(key, count, at, policy, token) {
        if (token !== undefined && tokens.has(token)) return;
        if (token !== undefined) tokens.add(token);
        return accounts.recordRejections(key, count, at, policy);
      },
    },
  };
}

/** Orders that are damaged, as a store that keeps text has them. */
function withDamage(damaged: Network["damaged"], { orders, outbox = expect.fail(), ...store }: Store): Store {
  const problemOf = (id: bigint) => `The ${damaged.get(id)} of order ${id} is damaged.`;
  const hasRecord = ({ record: { id } }: StoredOrder) => damaged.get(id) !== "record";
  const read = (waiting: WaitingOrder): WaitingOrder => {
    if (!damaged.has(waiting.id)) return waiting;
    const { order: _order, ...rest } = waiting;
    return { ...rest, problem: problemOf(waiting.id) };
  };
  return {
    ...store,
    orders: {
      ...orders,
      async find(id) {
        if (damaged.has(id)) throw new Error(problemOf(id));
        return orders.find(id);
      },
      async apply(id, event, at, origin) {
        if (damaged.get(id) === "record" && event !== "cancel") throw new Error(problemOf(id));
        return orders.apply(id, event, at, origin);
      },
      async place(placed, at, origin) {
        const outcomes = await orders.place(placed, at, origin);
        return outcomes.map((outcome, index) =>
          damaged.has(placed[index]?.record.id ?? 0n) ? "conflict" : outcome,
        );
      },
      async page(query) {
        const page = await orders.page(query);
        const unread = page.orders.filter((order) => !hasRecord(order));
        const problems = unread.map(({ record: { id } }) => ({ id, problem: problemOf(id) }));
        return { ...page, orders: page.orders.filter(hasRecord), damaged: problems };
      },
    },
    outbox: {
      ...outbox,
      lease: async (...args) => (await outbox.lease(...args)).map(read),
      list: async (...args) => (await outbox.list(...args)).map(read),
    },
  };
}

/** Fails if one of the orders is damaged, as a store does that reads all of them together. */
async function together(waiting: Promise<readonly WaitingOrder[]>): Promise<readonly WaitingOrder[]> {
  for (const { problem } of await waiting) if (problem !== undefined) throw new Error(problem);
  return waiting;
}

const inOrders =
  (change: (orders: OrderStore, network: Network) => Partial<OrderStore>): Change =>
  (store, network) => ({ orders: { ...store.orders, ...change(store.orders, network) } });

const inOutbox =
  (change: (outbox: Outbox, orders: OrderStore) => Partial<Outbox>): Change =>
  ({ outbox = expect.fail(), orders }) => ({ outbox: { ...outbox, ...change(outbox, orders) } });

const inAccounts =
  (change: (accounts: AccountStore, store: Store) => Partial<AccountStore>): Change =>
  (store) => ({ accounts: { ...store.accounts, ...change(store.accounts, store) } });

/** Lists without an end: after the last order, or instead of the last page. */
async function* endless(orders: OrderStore) {
  for await (const { json } of orders.list()) yield { json, last: false };
  for (;;) yield { json: "", last: false };
}

async function allRecords(orders: OrderStore): Promise<string[]> {
  const records: string[] = [];
  for await (const { json } of orders.list()) records.push(...(json === "" ? [] : json.split(/(?<=\}),/)));
  return records;
}

const page = (records: readonly string[], last: boolean) => ({ json: records.join(","), last });

/** Reads an order, and changes it in a later turn. */
const readThenWrite = (orders: OrderStore): Pick<OrderStore, "apply"> => ({
  async apply(id, event, at) {
    const found = await orders.find(id);
    if (found === undefined) return { ok: false, code: "order_not_found" };
    const result = transition(found, event, at);
    await turn();
    if (result.ok) await orders.apply(id, event, at);
    return result;
  },
});

/** Updates the account as it was a turn ago. */
const updateStale = (accounts: AccountStore): Pick<AccountStore, "update"> => ({
  async update(id, updater) {
    const found = await accounts.find(id);
    if (found === undefined) return { ok: false, code: "account_not_found" };
    const { usage: _usage, rejections: _rejections, ...settings } = found;
    const result = updater(settings);
    await turn();
    return accounts.update(id, () => result);
  },
});

/** Decides with the account as it was when the instance first saw it. */
const decideWithCachedKeys = (accounts: AccountStore): Pick<AccountStore, "admit"> => {
  const cache = new Map<string, Awaited<ReturnType<AccountStore["find"]>>>();
  return {
    async admit(key, at, policy, operation) {
      const admission = await accounts.admit(key, at, policy, operation);
      const current = await accounts.find(key.accountId);
      const cached = cache.get(key.accountId) ?? current;
      cache.set(key.accountId, cached);
      const known = cached?.keys.find(({ hash }) => hash === key.hash);
      if (current === undefined || cached === undefined || known === undefined) return admission;
      const { usage, rejections } = current;
      const state = { ...cached, accountId: cached.id, key: known, usage, rejections: rejections[known.id] };
      const decided = decideAdmission(state, at, policy).admission;
      return decided.ok === admission.ok ? admission : decided;
    },
  };
};

/** Repeats a call whose response was lost, as if it had not been applied. */
async function repeated<T>(call: () => Promise<T>): Promise<T> {
  return call().catch(call);
}

interface Mistake {
  readonly mistake: string;
  /** The names of the cases that it fails. */
  readonly fails: RegExp;
  readonly change: Change;
  /** What the message says. */
  readonly message?: RegExp;
}

const MISTAKES: readonly Mistake[] = [
  {
    mistake: "an order that loses its fields",
    fails: /^a placed order is found unchanged/,
    change: inOrders((orders) => ({
      async find(id) {
        const found = await orders.find(id);
        return found && { ...found, record: { id } };
      },
    })),
  },
  {
    mistake: "an identifier that is read modulo 2^64",
    fails: /^a placed order is found unchanged/,
    change: inOrders((orders) => ({ find: (id) => orders.find(BigInt.asIntN(64, id)) })),
  },
  {
    mistake: "an order that is reported as placed although it exists",
    fails: /^placing an existing order again/,
    change: inOrders((orders) => ({
      place: async (placed) => (await orders.place(placed)).map(() => "placed"),
    })),
  },
  {
    mistake: "an event that is answered as if there were no order",
    fails: /does exactly what the lifecycle table says$/,
    change: inOrders((orders) => ({
      async apply(id, event, at) {
        await orders.apply(id, event, at);
        return { ok: false, code: "order_not_found" };
      },
    })),
  },
  {
    mistake: "an event that creates its order",
    fails: /^an event on a missing order/,
    change: inOrders((orders) => ({
      async apply(id, event, at) {
        await orders.place([{ record: { id }, status: "pending" }]);
        return orders.apply(id, event, at);
      },
    })),
  },
  {
    mistake: "an unknown event that is answered as a missing order",
    fails: /^an event that the lifecycle does not have/,
    change: inOrders((orders) => ({
      apply: (id, event, at) =>
        orders.apply(id, event, at).catch(() => ({ ok: false, code: "order_not_found" })),
    })),
  },
  {
    mistake: "an unknown status that is read as pending",
    fails: /^an order whose status somebody has changed by hand/,
    change: inOrders((orders) => {
      const known = (order: StoredOrder): StoredOrder =>
        /pending|shipped|cancelled/.test(order.status) ? order : { ...order, status: "pending" };
      return {
        async page(query) {
          const found = await orders.page(query);
          return { ...found, orders: found.orders.map(known) };
        },
      };
    }),
  },
  {
    mistake: "an order that is read, then written",
    fails:
      /^when cancels and ships race|^when instances cancel and ship|^of concurrent requests that cancel one order/,
    change: inOrders(readThenWrite),
  },
  {
    mistake: "a list without a page",
    fails: /^the list of an empty store is empty$/,
    change: inOrders(() => ({ async *list() {} })),
    message: /at least one page/,
  },
  {
    mistake: "a list that loses a record between two pages",
    fails: /^lists of 1, 500, 501/,
    change: inOrders((orders) => ({
      async *list() {
        yield page((await allRecords(orders)).toSpliced(500, 1), true);
      },
    })),
    message: /the list of 501 orders has 501 orders: expected \{"id":1500.* at place 501, found its end/,
  },
  {
    mistake: "a list in the order of strings",
    fails: /^the list is in numeric order/,
    change: inOrders((orders) => ({
      async *list() {
        yield page((await allRecords(orders)).toSorted(), true);
      },
    })),
    message: /expected \{"id":-9223372036854775808.*\} at place 1, found \{"id":-10,/,
  },
  {
    mistake: "a list in the wrong order",
    fails: /^lists of 1, 500, 501|^a list with its admission is complete/,
    change: inOrders((orders) => ({
      async *list() {
        yield page((await allRecords(orders)).toReversed(), true);
      },
    })),
    message: /expected \{"id":0.*\} at place 1, found/,
  },
  {
    mistake: "a list whose last page is not marked",
    fails: /^lists of 1, 500, 501|^the list of an empty store/,
    change: inOrders((orders) => ({
      async *list() {
        for await (const { json } of orders.list()) yield { json, last: false };
      },
    })),
    message: /marked as the last/,
  },
  {
    mistake: "a list that continues at a position instead of an identifier",
    fails:
      /^an order present for the whole iteration|^a list contains each order once that exists throughout/,
    change: inOrders((orders) => ({
      async *list() {
        for (let from = 0; ; from += 500) {
          const records = await allRecords(orders);
          const last = from + 500 >= records.length;
          yield page(records.slice(from, from + 500), last);
          if (last) return;
        }
      },
    })),
  },
  {
    mistake: "a list that locks the store until its end",
    fails: /^a list that is abandoned early/,
    change: inOrders((orders) => {
      let isLocked = false;
      return {
        async *list() {
          isLocked = true;
          yield* orders.list();
          isLocked = false;
        },
        place: async (placed) => (isLocked ? placed.map(() => "conflict") : orders.place(placed)),
      };
    }),
  },
  {
    mistake: "a page of an empty store that leads on",
    fails: /^the only page of an empty store/,
    change: inOrders((orders) => ({
      page: async (query) => ({ ...(await orders.page(query)), next: 1n }),
    })),
  },
  {
    mistake: "a page that begins with the given identifier",
    fails: /^a page begins beyond the given identifier/,
    change: inOrders((orders) => ({
      page: (query) =>
        orders.page(
          query.after === undefined || query.order === "desc" ? query : { ...query, after: query.after - 1n },
        ),
    })),
  },
  {
    mistake: "a page that leads back to itself",
    fails: /^pages of any size/,
    change: inOrders((orders) => ({
      async page(query) {
        const found = await orders.page(query);
        return found.next === undefined ? found : { ...found, next: query.after ?? found.next };
      },
    })),
    message: /'next' leads on/,
  },
  {
    mistake: "pages that ignore the direction",
    fails: /^pages of any size|^a page begins beyond/,
    change: inOrders((orders) => ({ page: (query) => orders.page({ ...query, order: "asc" }) })),
  },
  {
    mistake: "pages in the wrong order",
    fails: /^pages of any size/,
    change: inOrders((orders) => ({
      async page(query) {
        const found = await orders.page(query);
        return { ...found, orders: found.orders.toReversed() };
      },
    })),
    message: /^the walk in pages of 50 has 1203 orders: expected \{.*\} at place 1, found \{/,
  },
  {
    mistake: "pages above the limit",
    fails: /^pages of any size/,
    change: inOrders((orders) => ({
      page: async (query) => orders.page({ ...query, limit: Math.min(1_000, query.limit + 1) }),
    })),
    message: /a page has at most/,
  },
  {
    mistake: "pages that ignore the status",
    fails: /^a query for a status/,
    change: inOrders((orders) => ({ page: ({ status: _ignored, ...query }) => orders.page(query) })),
    message: /^the walk over cancelled orders has 4 orders/,
  },
  {
    mistake: "pages that lose their first order",
    fails: /^an order present for the whole walk/,
    change: inOrders((orders) => ({
      async page(query) {
        const found = await orders.page(query);
        return query.after === undefined ? found : { ...found, orders: found.orders.slice(1) };
      },
    })),
  },
  {
    mistake: "an invalid query that is corrected",
    fails: /^a query that is invalid/,
    change: inOrders((orders) => ({ page: ({ limit: _limit }) => orders.page({ limit: 1 }) })),
  },
  {
    mistake: "counts that are not kept up",
    fails: /^orders are counted by status|^orders that instances change at the same time/,
    change: inOrders(() => ({ countByStatus: async () => sumByStatus([]) })),
  },
  {
    mistake: "an environment that the last caller decides",
    fails: /^the first environment that is recorded stays/,
    change: inAccounts(() => ({ recordEnvironment: async (environment) => environment })),
  },
  {
    mistake: "an environment that is not returned",
    fails: /^the first environment that is recorded stays/,
    change: inAccounts(() => ({ recordEnvironment: async () => undefined as never })),
  },
  {
    mistake: "an account that loses its limits",
    fails: /^a created account is found unchanged/,
    change: inAccounts((accounts) => ({
      async find(id) {
        const { customLimits: _lost, ...found } = (await accounts.find(id)) ?? {};
        return "id" in found ? (found as Awaited<ReturnType<AccountStore["find"]>>) : undefined;
      },
    })),
  },
  {
    mistake: "an identifier of which only a part is used",
    fails: /^an identifier that no account can have/,
    change: inAccounts((accounts) => ({ find: (id) => accounts.find(id.split("/")[0] ?? "") })),
  },
  {
    mistake: "an account that is created although it exists",
    fails: /^creating an account with a taken identifier|^of instances that create one account/,
    change: inAccounts((accounts) => ({
      async create(account) {
        await accounts.create(account);
        return { ok: true, account };
      },
    })),
  },
  {
    mistake: "accounts in descending order",
    fails: /^accounts are listed with their keys/,
    change: inAccounts((accounts) => ({
      async *list() {
        const all = [];
        for await (const account of accounts.list()) all.push(account);
        yield* all.reverse();
      },
    })),
  },
  {
    mistake: "accounts that are listed from the start",
    fails: /^a list of accounts begins beyond/,
    change: inAccounts((accounts) => ({ list: (_after, limit) => accounts.list("", limit) })),
  },
  {
    mistake: "an update that merges with the settings from before",
    fails: /^an update replaces the settings/,
    change: inAccounts((accounts) => ({
      update: (id, updater) =>
        accounts.update(id, (found) => {
          const result = updater(found);
          return result.ok ? { ok: true, account: { ...found, ...result.account } } : result;
        }),
    })),
  },
  {
    mistake: "an update that keeps the keys that it leaves out",
    fails: /^a key that an update leaves out/,
    change: inAccounts((accounts) => ({
      update: (id, updater) =>
        accounts.update(id, (found) => {
          const result = updater(found);
          if (!result.ok) return result;
          const left = found.keys.filter(({ hash }) => result.account.keys.every((key) => key.hash !== hash));
          return { ok: true, account: { ...result.account, keys: [...left, ...result.account.keys] } };
        }),
    })),
  },
  {
    mistake: "an updater whose error is swallowed",
    fails: /^an updater that throws/,
    change: inAccounts((accounts) => ({
      update: (id, updater) =>
        accounts.update(id, updater).catch(() => ({ ok: false, code: "account_not_found" })),
    })),
  },
  {
    mistake: "an update that fails with the one before it",
    fails: /^an updater that throws/,
    change: inAccounts((accounts) => {
      let last: Promise<unknown> = Promise.resolve();
      return {
        async update(id, updater) {
          const running = last.then(() => accounts.update(id, updater));
          last = running;
          return running;
        },
      };
    }),
    message: /an update at the same time succeeds/,
  },
  {
    mistake: "an account that is updated as it was before",
    fails: /^keys added concurrently|^a rotated key|^of instances that create one account/,
    change: inAccounts(updateStale),
  },
  {
    mistake: "an update that keeps the keys if it is given none",
    fails: /^an account can have no key/,
    change: inAccounts((accounts) => ({
      update: (id, updater) =>
        accounts.update(id, (found) => {
          const result = updater(found);
          if (!result.ok || result.account.keys.length > 0) return result;
          return { ok: true, account: { ...result.account, keys: found.keys } };
        }),
    })),
  },
  {
    mistake: "an update that resets the counters",
    fails: /^an update leaves counters|^a plan change keeps the counts/,
    change: inAccounts((accounts) => ({
      async update(id, updater) {
        await accounts.resetUsage(id);
        return accounts.update(id, updater);
      },
    })),
  },
  {
    mistake: "a last use that is not that of the minute",
    fails: /^the last use of a key/,
    change: inAccounts((accounts) => ({
      async find(id) {
        const account = await accounts.find(id);
        return account && { ...account, lastUses: { [account.keys[0]?.id ?? ""]: 1 } };
      },
    })),
  },
  {
    mistake: "a deletion that only revokes the keys",
    fails: /^a deleted account and its keys/,
    change: inAccounts((accounts) => ({
      delete: (id) => accounts.update(id, (account) => ({ ok: true, account: { ...account, keys: [] } })),
    })),
  },
  {
    mistake: "a reset that also forgets rejections",
    fails: /^a reset sets the counters/,
    change: inAccounts((accounts) => ({
      async resetUsage(id) {
        for (const key of (await accounts.find(id))?.keys ?? []) await accounts.unban(id, key.id);
        return accounts.resetUsage(id);
      },
    })),
  },
  {
    mistake: "a key that is not compared",
    fails: /^a key that was never issued/,
    change: inAccounts((accounts) => ({
      async admit(key, ...rest) {
        const { keys = [] } = (await accounts.find(key.accountId)) ?? {};
        return accounts.admit({ ...key, hash: keys[0]?.hash ?? key.hash }, ...rest);
      },
    })),
  },
  {
    mistake: "a quota from before the request",
    fails: /^an admitted request counts in both windows/,
    change: inAccounts((accounts) => ({
      async admit(...args) {
        const admission = await accounts.admit(...args);
        if (!admission.ok) return admission;
        return { ...admission, quota: { ...admission.quota, remaining: admission.quota.remaining + 1 } };
      },
    })),
  },
  {
    mistake: "a limit that is checked before it is counted",
    fails:
      /^concurrent requests are admitted exactly up to the limit|^of 400 concurrent requests over 4 instances/,
    change: inAccounts((accounts) => ({
      async admit(key, at, policy) {
        const account = await accounts.find(key.accountId);
        const known = account?.keys.find(({ hash }) => hash === key.hash);
        if (account === undefined || known === undefined) return accounts.admit(key, at, policy);
        const state = {
          ...account,
          accountId: account.id,
          key: known,
          rejections: account.rejections[known.id],
        };
        const { admission } = decideAdmission(state, at, policy);
        await turn();
        const counted = await accounts.admit(key, at, policy);
        return admission.ok ? admission : counted;
      },
    })),
  },
  {
    mistake: "limits that each instance counts for itself",
    fails: /^of 400 concurrent requests over 4 instances/,
    change: inAccounts((accounts) => {
      let usage = NO_USAGE;
      return {
        async admit(key, at, policy) {
          const admission = await accounts.admit(key, at, policy);
          const account = await accounts.find(key.accountId);
          const known = account?.keys.find(({ hash }) => hash === key.hash);
          if (account === undefined || known === undefined) return admission;
          const decided = decideAdmission(
            { ...account, accountId: account.id, key: known, usage, rejections: undefined },
            at,
            policy,
          );
          usage = decided.save.usage ?? usage;
          return decided.admission.ok ? decided.admission : admission;
        },
      };
    }),
    message: /60 requests are admitted/,
  },
  {
    mistake: "a limit of the day that is not kept",
    fails: /^a new minute admits requests again/,
    change: inAccounts((accounts) => ({
      async admit(key, at, policy) {
        const admission = await accounts.admit(key, at, policy);
        if (admission.ok || !("quota" in admission) || admission.quota.resetsAt - at <= MINUTE_MS)
          return admission;
        await accounts.resetUsage(key.accountId);
        return accounts.admit(key, at, policy);
      },
    })),
  },
  {
    mistake: "a request that counts twice",
    fails:
      /^concurrent requests across the end of a minute|^a cancel with its admission changes the status only/,
    change: inAccounts((accounts) => ({
      async admit(...args) {
        await accounts.admit(...args);
        return accounts.admit(...args);
      },
    })),
  },
  {
    mistake: "a key that is checked only when it is first used in a minute",
    fails: /^a further cancel in a minute/,
    change: inAccounts((accounts) => {
      const minutes = new Map<string, number>();
      return {
        admit(key, at, ...rest) {
          const first = minutes.get(key.hash) ?? at;
          minutes.set(key.hash, first);
          return accounts.admit(key, at - first < MINUTE_MS ? first : at, ...rest);
        },
      };
    }),
  },
  {
    mistake: "limits of each key",
    fails: /^two keys of one account share its limits/,
    change: inAccounts((accounts) => {
      let last = "";
      return {
        async admit(key, at, policy) {
          if (last !== "" && last !== key.hash) await accounts.resetUsage(key.accountId);
          last = key.hash;
          return accounts.admit(key, at, policy);
        },
      };
    }),
  },
  {
    mistake: "a late clock that opens a window of its own",
    fails: /^a process whose clock is behind/,
    change: inAccounts((accounts) => ({
      async admit(key, at, policy) {
        const { usage = NO_USAGE } = (await accounts.find(key.accountId)) ?? {};
        if (usage.minute.start > at) await accounts.resetUsage(key.accountId);
        return accounts.admit(key, at, policy);
      },
    })),
  },
  {
    mistake: "keys and plans that each instance caches",
    fails: /^a key stops working at its expiry|^a plan change keeps|^a ban, an unban, a revocation/,
    change: inAccounts(decideWithCachedKeys),
  },
  {
    mistake: "a window in the future that is waited for",
    fails: /^a window or a ban that a wrong clock wrote/,
    change: inAccounts((accounts) => ({
      async admit(key, at, policy) {
        const { usage = NO_USAGE } = (await accounts.find(key.accountId)) ?? {};
        return accounts.admit(key, Math.max(at, usage.minute.start), policy);
      },
    })),
  },
  {
    mistake: "a ban that is not stored",
    fails: /^the 21st rejected request|^rejections that instances count at the same time/,
    change: inAccounts((accounts) => ({
      async admit(...args) {
        const admission = await accounts.admit(...args);
        if (!admission.ok && admission.code === "api_key_banned")
          await accounts.unban(admission.caller.accountId, admission.caller.keyId);
        return admission;
      },
    })),
  },
  {
    mistake: "rejections that are not counted",
    fails: /^the 21st rejected request/,
    change: inAccounts((accounts) => ({
      async admit(...args) {
        const admission = await accounts.admit(...args);
        if (!admission.ok && "caller" in admission)
          await accounts.unban(admission.caller.accountId, admission.caller.keyId);
        return admission;
      },
    })),
  },
  {
    mistake: "rejections of one turn of which only the first is counted",
    fails: /^concurrent rejections are all counted/,
    change: inAccounts((accounts) => {
      let last: ReturnType<AccountStore["admit"]> | undefined;
      return {
        admit(...args) {
          const before = last;
          last = (async () => {
            const admission = await before;
            return admission !== undefined && !admission.ok ? admission : accounts.admit(...args);
          })();
          setImmediate(() => {
            last = undefined;
          });
          return last;
        },
      };
    }),
  },
  {
    mistake: "rejections that are not recorded",
    fails: /^recorded rejections add to the count|^rejections that instances count at the same time/,
    change: inAccounts(() => ({ recordRejections: async () => {} })),
  },
  {
    mistake: "rejections of an unknown key that count for another one",
    fails: /^recording rejections of an unknown key/,
    change: inAccounts((accounts) => ({
      async recordRejections(key, ...rest) {
        const { keys = [] } = (await accounts.find(key.accountId)) ?? {};
        await accounts.recordRejections({ ...key, hash: keys[0]?.hash ?? "" }, ...rest);
      },
    })),
  },
  {
    mistake: "a ban that every request extends",
    fails: /^rejections of different minutes do not add up/,
    change: inAccounts((accounts) => ({
      async admit(key, at, policy) {
        const admission = await accounts.admit(key, at, policy);
        if (admission.ok || admission.code !== "api_key_banned" || admission.startsBan) return admission;
        await accounts.unban(key.accountId, admission.caller.keyId);
        await accounts.recordRejections(key, 21, at, policy);
        return admission;
      },
    })),
  },
  {
    mistake: "an unban without effect",
    fails: /^an unban lifts the ban|^a ban, an unban, a revocation/,
    change: inAccounts(() => ({ unban: async () => {} })),
  },
  {
    mistake: "an unban after which a key never expires",
    fails: /^an unban lifts the ban/,
    change: inAccounts((accounts) => ({
      async unban(id, keyId) {
        await accounts.unban(id, keyId);
        const withoutExpiry = ({ expiresAt: _, ...key }: ApiKey): ApiKey => key;
        await accounts.update(id, (account) => ({
          ok: true,
          account: { ...account, keys: account.keys.map(withoutExpiry) },
        }));
      },
    })),
  },
  {
    mistake: "an unban of all keys of an account",
    fails: /^an unban lifts the ban/,
    change: inAccounts((accounts) => ({
      async unban(id) {
        for (const key of (await accounts.find(id))?.keys ?? []) await accounts.unban(id, key.id);
      },
    })),
  },
  {
    mistake: "a ban that each instance remembers",
    fails: /^a ban, an unban, a revocation/,
    change: inAccounts((accounts) => {
      const banned = new Map<string, Awaited<ReturnType<AccountStore["admit"]>>>();
      return {
        async admit(key, at, policy) {
          const admission = banned.get(key.hash) ?? (await accounts.admit(key, at, policy));
          if (!admission.ok && admission.code === "api_key_banned") banned.set(key.hash, admission);
          return admission;
        },
      };
    }),
    message: /the unban/,
  },
  {
    mistake: "a ban policy that is ignored",
    fails: /^the given policy sets the threshold/,
    change: inAccounts((accounts) => ({ admit: (key, at) => accounts.admit(key, at) })),
  },
  {
    mistake: "plans that are ignored",
    fails:
      /^requests are admitted exactly up to the limits of the plans|^a plan can have other limits|^an account whose plan is not among|^a table can have one plan/,
    change: inAccounts((accounts) => ({ admit: (key, at) => accounts.admit(key, at) })),
  },
  {
    mistake: "a table with one plan that admits nobody",
    fails: /^a table can have one plan/,
    change: inAccounts((accounts) => ({
      admit: (key, at, policy = DEFAULT_BAN_POLICY) =>
        accounts.admit(
          key,
          at,
          Object.keys(policy.plans ?? {}).length === 1 ? { ...policy, plans: {} } : policy,
        ),
    })),
    message: /1 plans/,
  },
  {
    mistake: "an operation that is performed without saying on which orders",
    fails: /^an admission performs operations on the orders of its store/,
    change: inAccounts((accounts, { orders }) => ({
      async admit(key, at, policy, operation) {
        const admission = await accounts.admit(key, at, policy);
        if (!admission.ok || operation === undefined) return admission;
        return { ...admission, outcome: await performStoreOperation(orders, operation, at) };
      },
    })),
    message: /needs performsOn/,
  },
  {
    mistake: "an operation that is performed, and whose outcome is not returned",
    fails: /^an admission performs operations on the orders of its store/,
    change: inAccounts((accounts, { orders }) => ({
      performsOn: orders,
      async admit(key, at, policy, operation) {
        if (operation?.type === "apply") await orders.apply(operation.id, operation.event, at);
        return accounts.admit(key, at, policy);
      },
    })),
  },
  {
    mistake: "an admission that names the orders of another store",
    fails: /^an admission performs operations on the orders of its store/,
    change: inAccounts((_accounts, { orders }) => ({ performsOn: { ...orders } })),
    message: /own orders/,
  },
  {
    mistake: "an operation that is performed for a rejected request",
    fails: /^the operation of a rejected request/,
    change: inAccounts((accounts, { orders }) => ({
      performsOn: orders,
      async admit(key, at, policy, operation) {
        if (operation?.type === "apply") await orders.apply(operation.id, operation.event, at);
        return accounts.admit(key, at, policy);
      },
    })),
  },
  {
    mistake: "an admission whose event is always answered as a missing order",
    fails: /^a request whose order does not allow the event/,
    change: inAccounts((accounts, { orders }) => ({
      performsOn: orders,
      async admit(...args) {
        const result: ApplyResult = { ok: false, code: "order_not_found" };
        const admission = await accounts.admit(...args);
        return admission.ok ? { ...admission, outcome: { type: "apply", result } } : admission;
      },
    })),
  },
  {
    mistake: "an admission whose event has another instant",
    fails: /^an event with its admission takes place at the instant/,
    change: inAccounts((accounts, { orders }) => ({
      performsOn: orders,
      async admit(key, at, policy, operation) {
        const admission = await accounts.admit(key, at, policy);
        if (!admission.ok || operation?.type !== "apply") return admission;
        const result = await orders.apply(operation.id, operation.event, at + 1);
        return { ...admission, outcome: { type: "apply", result } };
      },
    })),
  },
  {
    mistake: "an admission whose list ends with the first page",
    fails: /^a list with its admission is complete/,
    change: inAccounts((accounts, { orders }) => ({
      performsOn: orders,
      async admit(key, at, policy, operation) {
        const admission = await accounts.admit(key, at, policy);
        if (!admission.ok || operation?.type !== "list") return admission;
        for await (const first of orders.list())
          return {
            ...admission,
            outcome: { type: "list", first: { ...first, last: true }, rest: orders.list() },
          };
        return admission;
      },
    })),
  },
  {
    mistake: "an order that is returned as it is stored",
    fails: /^what was passed to a store or returned by it/,
    change: inOrders((orders) => {
      const found = new Map<bigint, ReturnType<OrderStore["find"]>>();
      return {
        async find(id) {
          if (!found.has(id)) found.set(id, orders.find(id));
          return found.get(id);
        },
      };
    }),
  },
  {
    mistake: "an account that is stored as it was passed",
    fails: /^what was passed to a store or returned by it/,
    change: inAccounts((accounts) => {
      const created = new Map<string, Account>();
      return {
        async create(settings) {
          created.set(settings.id, { ...settings, usage: NO_USAGE, rejections: {} });
          return accounts.create(settings);
        },
        async find(id) {
          const found = await accounts.find(id);
          return found && { ...found, keys: created.get(id)?.keys ?? found.keys };
        },
      };
    }),
  },
  {
    mistake: "a check that changes something",
    fails: /^a store that can serve requests passes its check/,
    change: ({ orders }) => ({
      check: async () => void (await orders.place([{ record: { id: 7n }, status: "pending" }])),
    }),
  },
  {
    mistake: "an admission that locks its account, and not the order",
    fails: /^when instances cancel and ship the same orders through an admission/,
    change: ({ orders, accounts }, network) => ({
      accounts: {
        ...accounts,
        performsOn: orders,
        async admit(key, at, policy, operation) {
          const admission = await accounts.admit(key, at, policy);
          if (!admission.ok || operation?.type !== "apply") return admission;
          const { id, event } = operation;
          const before = network.locks.get(key.accountId);
          const result = (async () => {
            await before;
            return readThenWrite(orders).apply(id, event, at);
          })();
          network.locks.set(key.accountId, result);
          return { ...admission, outcome: { type: "apply", result: await result } };
        },
      },
    }),
    message: /order_already|one of 4 events/,
  },
  {
    mistake: "a lost race that is answered as a missing order",
    fails: /^when instances cancel and ship the same orders/,
    change: inOrders((orders) => ({
      async apply(id, event, at) {
        const before = await orders.find(id);
        await turn();
        const result = await orders.apply(id, event, at);
        return !result.ok && before?.status === "pending" ? { ok: false, code: "order_not_found" } : result;
      },
    })),
    message: /order_not_found/,
  },
  {
    mistake: "orders that each instance knows for itself",
    fails: /^when instances place the same orders/,
    change: inOrders((orders) => {
      const mine = new Set<bigint>();
      return {
        async place(placed) {
          const outcomes = await orders.place(placed);
          return placed.map(({ record }, index) => {
            const isNew = !mine.has(record.id);
            mine.add(record.id);
            return isNew ? "placed" : (outcomes[index] ?? "conflict");
          });
        },
      };
    }),
  },
  {
    mistake: "an account whose parts are read one after another",
    fails: /^an account is read either before or after an update/,
    change: inAccounts((accounts) => ({
      async find(id) {
        const first = await accounts.find(id);
        await turn();
        const second = await accounts.find(id);
        return first && second && { ...first, keys: second.keys };
      },
    })),
    message: /belong together/,
  },
  {
    mistake: "an environment that each instance remembers",
    fails: /^the environment that one instance has recorded stays/,
    change: inAccounts(() => {
      let mine: "live" | "test" | undefined;
      return {
        async recordEnvironment(environment) {
          mine ??= environment;
          return mine;
        },
      };
    }),
  },
  {
    mistake: "an instance that closes the database of all",
    fails: /^the environment that one instance has recorded stays, and an instance that is closed/,
    change: (store, network) => ({
      ...store,
      close: async () => {
        network.isDown = true;
      },
    }),
    message: /leaves the others usable/,
  },
  {
    mistake: "counts that each instance caches",
    fails: /^a list contains each order once that exists throughout/,
    change: inOrders((orders) => {
      let counts: ReturnType<OrderStore["countByStatus"]> | undefined;
      return {
        async apply(id, event, at) {
          counts ??= orders.countByStatus();
          return orders.apply(id, event, at);
        },
        countByStatus: () => counts ?? orders.countByStatus(),
      };
    }),
  },
  {
    mistake: "a cancel that is acknowledged while the database cannot be reached",
    fails: /^while the database cannot be reached/,
    change: inOrders((orders) => ({
      apply: (id, event, at) =>
        orders
          .apply(id, event, at)
          .catch(() => ({ ok: true, order: { record: { id }, status: "cancelled" } })),
    })),
    message: /apply\(\) rejects/,
  },
  {
    mistake: "an outage that is reported as another error",
    fails: /^while the database cannot be reached/,
    change: inOrders((orders, network) => ({
      async apply(id, event, at) {
        if (network.isDown) throw new Error("ECONNREFUSED");
        return orders.apply(id, event, at);
      },
    })),
    message: /instead of: Error: ECONNREFUSED/,
  },
  {
    mistake: "a check that passes while the database cannot be reached",
    fails: /^while the database cannot be reached/,
    change: () => ({ check: async () => {} }),
    message: /check\(\) rejects/,
  },
  {
    mistake: "an admission that is repeated after its response was lost",
    fails: /^an admission whose response is lost counts once/,
    change: inAccounts((accounts) => ({ admit: (...args) => repeated(() => accounts.admit(...args)) })),
    message: /counts once/,
  },
  {
    mistake: "an event that is repeated after its response was lost",
    fails: /^an event whose response is lost/,
    change: inOrders((orders) => ({
      apply: (id, event, at) => repeated(() => orders.apply(id, event, at)),
    })),
    message: /order_already_shipped/,
  },
  {
    mistake: "a history without who made a change",
    fails: /^(the history of an order has each change|the change of a request has its key)/,
    change: inOrders((orders) => ({
      place: (placed, at) => orders.place(placed, at),
      apply: (id, event, at) => orders.apply(id, event, at),
    })),
  },
  {
    mistake: "a history to which each event is added, whether it changed the order or not",
    fails: /^(what changes nothing adds nothing|of events that instances apply)/,
    change: inOrders((orders) => {
      const more: OrderChange[] = [];
      return {
        async apply(id, event, at, origin) {
          more.push({ event, at, ...origin });
          return orders.apply(id, event, at, origin);
        },
        async find(id) {
          const found = await orders.find(id);
          return found && { ...found, history: [...found.history, ...more] };
        },
      };
    }),
  },
  {
    mistake: "an outbox that stays on",
    fails: /^an outbox that is off has nothing/,
    change: inOutbox((outbox) => ({ switch: async (on) => (on ? outbox.switch(on) : undefined) })),
  },
  {
    mistake: "an instance that knows only at its first change whether the outbox is on",
    fails: /^(an instance that was opened before|a call that finds the outbox switched)/,
    change: ({ orders, outbox = expect.fail() }) => {
      let known: Promise<boolean> | undefined;
      const unmarked = async <T>(call: () => Promise<T>): Promise<T> => {
        known ??= outbox.isOn();
        if (await known) return call();
        const on = await outbox.isOn();
        await outbox.switch(false);
        const result = await call();
        await outbox.switch(on);
        return result;
      };
      return {
        orders: {
          ...orders,
          place: (...args) => unmarked(() => orders.place(...args)),
          apply: (...args) => unmarked(() => orders.apply(...args)),
        },
      };
    },
  },
  {
    mistake: "an outbox that lists the newest changes first",
    fails: /^the oldest changes are leased and listed first/,
    change: inOutbox((outbox) => ({
      list: async (kind, limit) => (await outbox.list(kind, 1_000)).toReversed().slice(0, limit),
    })),
  },
  {
    mistake: "an outbox that does not say when a change is due",
    fails: /^the oldest changes are leased and listed first/,
    change: inOutbox((outbox) => ({
      list: async (...args) => (await outbox.list(...args)).map(({ due: _due, ...waiting }) => waiting),
    })),
  },
  {
    mistake: "an outbox that leases the newest changes first",
    fails: /^the oldest changes are leased and listed first/,
    change: inOutbox((outbox) => ({
      lease: async (limit, at, lease) => (await outbox.lease(1_000, at, lease)).slice(-limit),
    })),
  },
  {
    mistake: "an outbox whose backlog is empty while the database cannot be reached",
    fails: /^while the database cannot be reached/,
    change: inOutbox((outbox) => ({
      backlog: () => outbox.backlog().catch(() => ({ waiting: 0, failed: 0 })),
    })),
    message: /backlog\(\) rejects/,
  },
  {
    mistake: "an order that is leased to everybody",
    fails: /^(the changes of an order are next|instances that lease at the same time)/,
    change: inOutbox((outbox) => ({
      async lease(limit, at, lease) {
        const found = await outbox.lease(limit, at, lease);
        await outbox.release(found.map(({ id }) => ({ id, hold: lease })));
        return found;
      },
    })),
  },
  {
    mistake: "a lease that ends by the clock of whoever asks",
    fails: /^(the changes of an order are next|hosts whose clocks differ by a minute)/,
    change: ({ outbox = expect.fail() }, { leases }) => ({
      outbox: {
        ...outbox,
        async lease(limit, at, lease) {
          const ended = [...leases].filter(([, { until }]) => until <= at);
          await outbox.release(ended.map(([id, { hold }]) => ({ id, hold })));
          const found = await outbox.lease(limit, at, lease);
          for (const { id } of found) leases.set(id, { hold: lease, until: at + 40_000 });
          return found;
        },
      },
    }),
  },
  {
    mistake: "a release that asks for no lease",
    fails: /^(the changes of an order are next|an instance sees what others hold)/,
    change: inOutbox((outbox) => ({
      async release(released) {
        const ids = new Set(released.map(({ id }) => id));
        await outbox.release((await outbox.held(0, 1_000)).filter(({ id }) => ids.has(id)));
      },
    })),
  },
  {
    mistake: "an outbox that shows no attempt of a wrong clock",
    fails: /^(an instance sees what others hold|what a host leaves behind)/,
    change: inOutbox((outbox) => ({
      held: async (...args) => (await outbox.held(...args)).filter(({ hold }) => hold < 0),
    })),
  },
  {
    mistake: "an outbox that shows no lease",
    fails: /^(the changes of an order are next|an instance sees what others hold|what a host leaves behind)/,
    change: inOutbox((outbox) => ({
      held: async (...args) => (await outbox.held(...args)).filter(({ hold }) => hold > 0),
    })),
  },
  {
    mistake: "an outbox whose oldest change stays in the future",
    fails: /^a change of a host nine years ahead/,
    change: inOutbox((outbox) => ({
      lease: async (limit, at, lease) =>
        // Nothing is later than that.
        (await outbox.lease(limit, at + 10 * 365 * 86_400_000, lease)).slice(0, limit),
    })),
  },
  {
    mistake: "an acknowledgement of one change that removes the whole order",
    fails: /^(a change that follows while one|a change and an acknowledgement whose)/,
    change: inOutbox((outbox) => ({
      acknowledge: (all) => outbox.acknowledge(all.map((each) => ({ ...each, delivered: 3 }))),
    })),
  },
  {
    mistake: "an acknowledgement of several orders that records only the first",
    fails: /^(a change that follows while one|instances that lease at the same time)/,
    change: inOutbox((outbox) => ({ acknowledge: (all) => outbox.acknowledge(all.slice(0, 1)) })),
  },
  {
    mistake: "an acknowledgement that decides on an order that has changed since",
    fails: /^changes that are made while the ones before them/,
    change: inOutbox((outbox, orders) => ({
      async acknowledge(all) {
        const seen = await Promise.all(all.map(({ id }) => orders.find(id)));
        await new Promise((resolve) => setTimeout(resolve, 20));
        const isAll = ({ delivered }: { delivered: number }, place: number) =>
          delivered >= (seen[place]?.history.length ?? 0);
        await outbox.acknowledge(
          all.map((each, place) => (isAll(each, place) ? { ...each, delivered: 3 } : each)),
        );
      },
    })),
  },
  {
    mistake: "an outbox that acknowledges at most one order in a call",
    fails: /^no order, one or many are listed/,
    change: inOutbox((outbox) => ({
      acknowledge: (deliveries) => outbox.acknowledge(deliveries.slice(0, 1)),
    })),
  },
  {
    mistake: "an account that is created without the key that another account has",
    fails: /^a key with the hash of another account's/,
    change: inAccounts((accounts) => ({
      create: (settings) => accounts.create(settings).catch(() => accounts.create({ ...settings, keys: [] })),
    })),
  },
  {
    mistake: "an outbox that takes every change for the second one of its order",
    fails: /^(every event adds one change|a change that follows while one|the changes of an order are next)/,
    change: inOutbox((outbox) => ({
      lease: async (...args) =>
        (await outbox.lease(...args)).map((each) => ({ ...each, delivered: Math.min(each.delivered, 1) })),
    })),
  },
  {
    mistake: "an acknowledgement that asks for no lease",
    fails: /^a delivery that is recorded after its lease/,
    change: inOutbox((outbox) => ({
      async acknowledge(all) {
        const holds = new Map((await outbox.held(0, 1_000)).map(({ id, hold }) => [id, hold]));
        await outbox.acknowledge(all.map((each) => ({ ...each, lease: holds.get(each.id) ?? each.lease })));
      },
    })),
    message: /only the number of delivered changes/,
  },
  {
    mistake: "an acknowledgement that counts only for whoever has the lease",
    fails: /^a delivery that is recorded after its lease/,
    change: inOutbox((outbox) => ({
      async acknowledge(all) {
        const held = await outbox.held(0, 1_000);
        const isLost = ({ id, lease }: AcknowledgedOrder) =>
          held.some((other) => other.id === id && other.hold !== lease);
        await outbox.acknowledge(all.filter((each) => !isLost(each)));
      },
    })),
    message: /only the number of delivered changes/,
  },
  {
    mistake: "a failure that is counted whoever has the lease",
    fails: /^a failure sets the next attempt/,
    change: inOutbox((outbox) => ({
      async postpone(id, lease, due) {
        await outbox.postpone(id, lease, due);
        await outbox.postpone(id, lease + 1, due);
      },
    })),
  },
  {
    mistake: "an outbox that retries only what was set aside",
    fails: /^a failure sets the next attempt/,
    change: inOutbox((outbox) => ({
      async retry(id) {
        const failed = (await outbox.list("failed", 1_000)).map((each) => each.id);
        const retried = await Promise.all(
          failed.filter((each) => (id ?? each) === each).map((each) => outbox.retry(each)),
        );
        return retried.reduce((sum, count) => sum + count, 0);
      },
    })),
  },
  {
    mistake: "changes without a token",
    fails: /^each change keeps a token of its own/,
    change: inOrders((orders) => ({
      async find(id) {
        const found = await orders.find(id);
        return found && { ...found, history: found.history.map(({ event, at }) => ({ event, at })) };
      },
    })),
    message: /the token of newChange/,
  },
  {
    mistake: "a token that is that of the order",
    fails: /^each change keeps a token of its own/,
    change: inOrders((orders) => ({
      async find(id) {
        const found = await orders.find(id);
        const token = found?.history[0]?.token ?? "";
        return found && { ...found, history: found.history.map((change) => ({ ...change, token })) };
      },
    })),
    message: /no two changes/,
  },
  {
    mistake: "a token that is made when the change is read",
    fails: /^each change keeps a token of its own/,
    change: inOrders((orders) => ({
      async find(id) {
        const found = await orders.find(id);
        return found && { ...found, history: found.history.map(({ event, at }) => newChange(event, at)) };
      },
    })),
    message: /they stay the same/,
  },
  {
    mistake: "orders that are leased together, also with a damaged one",
    fails: /^orders with a damaged record or history/,
    change: inOutbox((outbox) => ({ lease: (...args) => together(outbox.lease(...args)) })),
    message: /every other order is delivered/,
  },
  {
    mistake: "damaged orders that are not leased",
    fails: /^orders with a damaged record or history/,
    change: inOutbox((outbox) => ({
      lease: async (...args) => (await outbox.lease(...args)).filter(({ problem }) => problem === undefined),
    })),
    message: /failed/,
  },
  {
    mistake: "damaged orders that are not listed",
    fails: /^orders with a damaged record or history/,
    change: inOutbox((outbox) => ({
      list: async (...args) => (await outbox.list(...args)).filter(({ problem }) => problem === undefined),
    })),
    message: /names the order/,
  },
  {
    mistake: "a page that leaves out damaged orders",
    fails: /^an order with a damaged record is named on its page/,
    change: inOrders((orders) => ({
      async page(query) {
        const { damaged: _damaged, ...page } = await orders.page(query);
        return page;
      },
    })),
  },
  {
    mistake: "a walk that ends at a page with damaged orders",
    fails: /^an order with a damaged record is named on its page/,
    change: inOrders((orders) => ({
      async page(query) {
        const { next, ...page } = await orders.page(query);
        return next === undefined || (page.damaged ?? []).length > 0 ? page : { ...page, next };
      },
    })),
  },
  {
    mistake: "a damaged order that is compared by its identifier only",
    fails: /^an order that is placed where a damaged one is/,
    change: inOrders((orders) => ({
      place: async (...args) =>
        (await orders.place(...args)).map((outcome) => (outcome === "conflict" ? "unchanged" : outcome)),
    })),
  },
  {
    mistake: "a cancel that reads the order after it was done",
    fails: /^an event of a damaged order is done and says so/,
    change: inOrders((orders) => ({
      async apply(id, event, at, origin) {
        const result = await orders.apply(id, event, at, origin);
        if (result.ok) await orders.find(id);
        return result;
      },
    })),
    message: /what is cancelled is acknowledged/,
  },
  {
    mistake: "a token that is ignored",
    fails: /^rejections whose response was lost/,
    change: inAccounts((accounts) => ({
      recordRejections: (key, count, at, policy) => accounts.recordRejections(key, count, at, policy),
    })),
    message: /counted once each/,
  },
];

test("a store without a mistake passes every case", async () => {
  for (const contractCase of storeContract)
    expect((await checkWith(() => ({}), contractCase))?.message, contractCase.name).toBeUndefined();
});

describe("a store with one mistake fails", () => {
  test.each(MISTAKES)("$mistake", async ({ fails, change, message = /./ }) => {
    const cases = storeContract.filter(({ name }) => fails.test(name));
    expect(cases.length).toBeGreaterThan(0);
    for (const contractCase of cases) {
      const error = await checkWith(change, contractCase);
      expect(error?.message, contractCase.name).toMatch(message);
      expect(error?.message.length).toBeLessThanOrEqual(2_000);
    }
  });
});

test("every case fails for some mistake", () => {
  const unused = storeContract.filter(({ name }) => !MISTAKES.some(({ fails }) => fails.test(name)));
  expect(unused.map(({ name }) => name)).toEqual([]);
});

describe("every case ends over a store with", () => {
  test.each([
    [
      "a list that never ends",
      inOrders((orders) => ({ list: () => endless(orders) })),
      /ends within 5000 items/,
    ],
    [
      "pages without an end",
      inOrders(() => ({ page: async ({ after = 0n }) => ({ orders: [], next: after + 1n }) })),
      /ends within 5000 pages/,
    ],
    [
      "accounts that are listed again and again",
      inAccounts((accounts) => ({
        async *list(...args) {
          for (let left = 10_000; left > 0; left--) yield* accounts.list(...args);
        },
      })),
      /./,
    ],
  ] as const)("%s", async (_name, change, message) => {
    const messages: string[] = [];
    for (const contractCase of storeContract)
      messages.push(...((await checkWith(change, contractCase))?.message ?? "").split("\n", 1));
    expect(messages.some((text) => text !== "" && message.test(text))).toBe(true);
  });
});

test("a case ends over a store of which a call never settles", async () => {
  vi.useFakeTimers();
  const [first] = storeContract;
  const store = {
    ...createMemoryStore(),
    orders: { ...createMemoryStore().orders, place: () => new Promise<never>(() => {}) },
  };
  const failed = expect(first?.check(store)).rejects.toThrow("A call of the store has not settled");
  await vi.advanceTimersByTimeAsync(120_000);
  await failed;
  expect(vi.getTimerCount()).toBe(0);
});

test("a call that takes too long while the database cannot be reached fails its case", async () => {
  vi.useFakeTimers();
  const slow = inOrders((orders, network) => ({
    async apply(id, event, at) {
      if (network.isDown) await new Promise((resolve) => setTimeout(resolve, 7_100));
      return orders.apply(id, event, at);
    },
  }));
  const outage = storeContract.find(({ needs }) => needs === "interrupt") ?? expect.fail();
  const checked = checkWith(slow, outage);
  await vi.advanceTimersByTimeAsync(7_100);
  expect((await checked)?.message).toMatch(/apply\(\) rejects within 5 s: it took 7100 ms/);
});

test("a case without the option that it needs is skipped, and says so", async () => {
  for (const { needs, check } of storeContract.filter((each) => each.needs !== undefined))
    expect(await check(createMemoryStore())).toBe(`it needs the option '${needs}'`);
});

test("a case closes every instance that it has opened, whether it holds or not", async () => {
  const { check } = storeContract.find(({ needs }) => needs === "openAnother") ?? expect.fail();
  for (const holds of [true, false]) {
    const store = createMemoryStore();
    let [opened, closed] = [0, 0];
    const openAnother = () => {
      opened++;
      return { ...(holds ? store : createMemoryStore()), close: async () => void closed++ };
    };
    expect(
      await check(store, { openAnother }).then(
        () => true,
        () => false,
      ),
    ).toBe(holds);
    expect([opened, closed]).toEqual([3, 3]);
  }
});
