import { AssertionError } from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ApiKey } from "../../lib/accounts/account.ts";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import { DEFAULT_BAN_POLICY, decideAdmission } from "../../lib/accounts/admission.ts";
import type { ParsedKey } from "../../lib/accounts/api-key.ts";
import type { ImportedKeys } from "../../lib/accounts/imported-keys.ts";
import { invalidInput, StoreUnavailableError } from "../../lib/core/errors.ts";
import { newChange, type OrderChange } from "../../lib/orders/history.ts";
import { type StoredOrder, sumByStatus, transition } from "../../lib/orders/lifecycle.ts";
import type { OrderQuery } from "../../lib/orders/order-query.ts";
import type { OrderStore, Outbox, WaitingOrder } from "../../lib/orders/order-store.ts";
import {
  performStoreOperation,
  type StoreOperation,
  type StoreOutcome,
} from "../../lib/orders/store-operation.ts";
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
  readonly damaged: Map<bigint, "record" | "history">;
  /** By account: the last call that has its lock. */
  readonly locks: Map<string, Promise<unknown>>;
}

/** Checks a case over a memory store behind a network, each instance of which makes the mistake. */
async function checkWith(change: Change, { check }: ContractCase): Promise<AssertionError | undefined> {
  const network: Network = {
    ...{ isDown: false, losesResponse: false },
    ...{ damaged: new Map(), locks: new Map() },
  };
  const database = withDamage(network.damaged, createMemoryStore());
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
function behind(network: Network, { orders, accounts, outbox = expect.fail(), close }: Store): Store {
  const check = async () => {
    if (network.isDown) throw new StoreUnavailableError("The network is down.");
  };
  const wrap = <T extends object>(target: T): T => {
    const wrapped = Object.entries(target).map(([name, method]) => {
      if (name === "list") return [name, method];
      if (typeof method === "object") return [name, wrap(method)];
      const call = async (...args: unknown[]) => {
        await check();
        const result = await method(...args);
        if (!network.losesResponse || /^(find|page|count|isOn|backlog|exist)/.test(name)) return result;
        network.losesResponse = false;
        throw new StoreUnavailableError("The response was lost.");
      };
      return [name, call];
    });
    return Object.fromEntries(wrapped) as T;
  };
  return { orders: wrap(orders), accounts: wrap(accounts), outbox: wrap(outbox), check, close };
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

/** A method whose result is changed. */
const after =
  <A extends unknown[], R>(
    method: (...args: A) => Promise<R>,
    change: (result: R, ...args: A) => R | Promise<R>,
  ) =>
  async (...args: A): Promise<R> =>
    change(await method(...args), ...args);

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

async function keyStateOf(accounts: AccountStore, { accountId, hash }: ParsedKey) {
  const account = await accounts.find(accountId);
  const key = account?.keys.find((each) => each.hash === hash);
  return account && key && { ...account, accountId, key, rejections: account.rejections[key.id] };
}

/** Repeats a call whose response was lost, as if it had not been applied. */
async function repeated<T>(call: () => Promise<T>): Promise<T> {
  return call().catch(call);
}

interface Mistake {
  readonly mistake: string;
  /** The names of the cases that it fails, and what the message says. */
  readonly fails: RegExp | readonly [cases: RegExp, message: RegExp];
  readonly change: Change;
}

/** Rows of one kind: what is wrong in a part of the store. */
const wrong =
  <C>(toChange: (wrongPart: C) => Change) =>
  (mistake: string, fails: Mistake["fails"], wrongPart: C): Mistake => ({
    ...{ mistake, fails },
    change: toChange(wrongPart),
  });

const wrongStore = wrong((change: Change) => change);
const wrongOrders = wrong(inOrders);
const wrongOutbox = wrong(inOutbox);
const wrongAccounts = wrong(inAccounts);

const wrongImports = wrong((change: (keys: ImportedKeys) => Partial<ImportedKeys>) =>
  inAccounts(({ importedKeys = expect.fail() }) => ({
    importedKeys: { ...importedKeys, ...change(importedKeys) },
  })),
);

const wrongLists = wrong((change: (records: string[]) => string[]) =>
  inOrders((orders) => ({
    async *list() {
      yield page(change(await allRecords(orders)), true);
    },
  })),
);

const wrongPages = wrong((change: (orders: readonly StoredOrder[], query: OrderQuery) => StoredOrder[]) =>
  inOrders((orders) => ({
    page: after(orders.page, (found, query) => ({ ...found, orders: change(found.orders, query) })),
  })),
);

const wrongHistories = wrong((change: (history: readonly OrderChange[]) => readonly OrderChange[]) =>
  inOrders((orders) => ({
    find: after(orders.find, (found) => found && { ...found, history: change(found.history) }),
  })),
);

/** Admissions that perform their operation by themselves. */
const wrongOperations = wrong(
  (perform: (orders: OrderStore, operation: StoreOperation, at: number) => Promise<StoreOutcome>) =>
    inAccounts((accounts, { orders }) => ({
      performsOn: orders,
      async admit(key, at, policy, operation) {
        const admission = await accounts.admit(key, at, policy);
        if (!admission.ok || operation === undefined) return admission;
        return { ...admission, outcome: await perform(orders, operation, at) };
      },
    })),
);

const MISTAKES: readonly Mistake[] = [
  wrongOrders("an order that loses its fields", /^a placed order/, (orders) => ({
    find: after(orders.find, (found, id) => found && { ...found, record: { id } }),
  })),
  wrongOrders("an identifier that is read modulo 2^64", /^a placed order/, (orders) => ({
    find: (id) => orders.find(BigInt.asIntN(64, id)),
  })),
  wrongOrders("an order that is reported as placed although it exists", /^placing an existing/, (orders) => ({
    place: async (placed) => (await orders.place(placed)).map(() => "placed"),
  })),
  wrongOrders("an event answered as if there were no order", /what the lifecycle table says$/, (orders) => ({
    async apply(id, event, at) {
      await orders.apply(id, event, at);
      return { ok: false, code: "order_not_found" };
    },
  })),
  wrongOrders("an event that creates its order", /^an event on/, (orders) => ({
    async apply(id, event, at) {
      await orders.place([{ record: { id }, status: "pending" }]);
      return orders.apply(id, event, at);
    },
  })),
  wrongPages("an unknown status that is read as pending", /^an order whose/, (orders) =>
    orders.map((order) =>
      /pending|shipped|cancelled/.test(order.status) ? order : { ...order, status: "pending" },
    ),
  ),
  wrongOrders("an order that is read, then written", /^when instances cancel/, readThenWrite),
  wrongLists(
    "a list that loses a record between two pages",
    [/^lists of 0,/, /501 orders has 501 orders: expected \{"id":1500.* at place 501, found its end/],
    (records) => records.toSpliced(500, 1),
  ),
  wrongLists(
    "a list in the order of strings",
    [/^the list is/, /expected \{"id":-9223372036854775808.*\} at place 1, found \{"id":-10\}/],
    (records) => records.toSorted(),
  ),
  wrongOrders("a last page that is not marked", [/^lists of 0,/, /as the last/], (orders) => ({
    async *list() {
      for await (const { json } of orders.list()) yield { json, last: false };
    },
  })),
  wrongOrders("a list that continues at a position", /^a list contains/, (orders) => ({
    async *list() {
      for (let from = 0; ; from += 500) {
        const records = await allRecords(orders);
        const last = from + 500 >= records.length;
        yield page(records.slice(from, from + 500), last);
        if (last) return;
      }
    },
  })),
  wrongOrders("a list that locks the store until its end", /^a list that/, (orders) => {
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
  wrongOrders("a page of an empty store that leads on", /^the only page/, (orders) => ({
    page: async (query) => ({ ...(await orders.page(query)), next: 1n }),
  })),
  wrongOrders("a page that begins with the given identifier", /^a page begins/, (orders) => ({
    page: (query) =>
      orders.page(
        query.after === undefined || query.order === "desc" ? query : { ...query, after: query.after - 1n },
      ),
  })),
  wrongOrders("pages that ignore the direction", /^(pages of any|a page begins)/, (orders) => ({
    page: (query) => orders.page({ ...query, order: "asc" }),
  })),
  wrongPages(
    "pages in the wrong order",
    [/^pages of any/, /^the walk in pages of 50 has 203 orders: expected \{.*\} at place 1, found \{/],
    (orders) => orders.toReversed(),
  ),
  wrongOrders("pages above the limit", [/^pages of any/, /a page has at most/], (orders) => ({
    page: async (query) => orders.page({ ...query, limit: Math.min(1_000, query.limit + 1) }),
  })),
  wrongOrders("pages of any status", [/^a query for/, /over cancelled orders has 4 orders/], (orders) => ({
    page: ({ status: _ignored, ...query }) => orders.page(query),
  })),
  wrongPages("pages that lose their first order", /^an order present for the whole walk/, (orders, query) =>
    query.after === undefined ? [...orders] : orders.slice(1),
  ),
  wrongOrders("an invalid query that is corrected", /^a query that/, (orders) => ({
    page: ({ limit: _limit }) => orders.page({ limit: 1 }),
  })),
  wrongOrders("counts that are not kept up", /^(orders are counted|when instances cancel)/, () => ({
    countByStatus: async () => sumByStatus([]),
  })),
  wrongAccounts("an account that loses its limits", /^a created account/, (accounts) => ({
    async find(id) {
      const { customLimits: _lost, ...found } = (await accounts.find(id)) ?? {};
      return "id" in found ? (found as Awaited<ReturnType<AccountStore["find"]>>) : undefined;
    },
  })),
  wrongAccounts("an identifier of which only a part is used", /^an identifier that/, (accounts) => ({
    find: (id) => accounts.find(id.split("/")[0] ?? ""),
  })),
  wrongAccounts("an account that is created twice", /^(a created account|of instances that)/, (accounts) => ({
    async create(account) {
      await accounts.create(account);
      return { ok: true, account };
    },
  })),
  wrongAccounts("accounts that are listed from the start", /^a list has/, (accounts) => ({
    list: (_after, limit) => accounts.list("", limit),
  })),
  wrongAccounts("an update that merges with the settings from before", /^an update replaces/, (accounts) => ({
    update: (id, updater) =>
      accounts.update(id, (found) => {
        const result = updater(found);
        return result.ok ? { ok: true, account: { ...found, ...result.account } } : result;
      }),
  })),
  wrongAccounts("an update that keeps the keys that it leaves out", /^a key that an/, (accounts) => ({
    update: (id, updater) =>
      accounts.update(id, (found) => {
        const result = updater(found);
        if (!result.ok) return result;
        const left = found.keys.filter(({ hash }) => result.account.keys.every((key) => key.hash !== hash));
        return { ok: true, account: { ...result.account, keys: [...left, ...result.account.keys] } };
      }),
  })),
  wrongAccounts("an updater whose error is swallowed", /^an updater that/, (accounts) => ({
    update: (id, updater) =>
      accounts.update(id, updater).catch(() => ({ ok: false, code: "account_not_found" })),
  })),
  wrongAccounts("an update that fails with another", [/^an updater/, /at the same time/], (accounts) => {
    let last: Promise<unknown> = Promise.resolve();
    return {
      async update(id, updater) {
        const running = last.then(() => accounts.update(id, updater));
        last = running;
        return running;
      },
    };
  }),
  wrongAccounts("an account updated as it was before", /^(a rotated key|of instances that)/, updateStale),
  wrongAccounts("an update that keeps the keys if it is given none", /^an account can/, (accounts) => ({
    update: (id, updater) =>
      accounts.update(id, (found) => {
        const result = updater(found);
        if (!result.ok || result.account.keys.length > 0) return result;
        return { ok: true, account: { ...result.account, keys: found.keys } };
      }),
  })),
  wrongAccounts("an update that resets the counters", /^(an update leaves|a plan change)/, (accounts) => ({
    async update(id, updater) {
      await accounts.resetUsage(id);
      return accounts.update(id, updater);
    },
  })),
  wrongAccounts("a last use that is not that of the minute", /^the last use/, (accounts) => ({
    find: after(
      accounts.find,
      (account) => account && { ...account, lastUses: { [account.keys[0]?.id ?? ""]: 1 } },
    ),
  })),
  wrongAccounts("a deletion that only revokes the keys", /^a deleted account/, (accounts) => ({
    delete: (id) => accounts.update(id, (account) => ({ ok: true, account: { ...account, keys: [] } })),
  })),
  wrongAccounts("a reset that also forgets rejections", /^a reset sets/, (accounts) => ({
    async resetUsage(id) {
      for (const key of (await accounts.find(id))?.keys ?? []) await accounts.unban(id, key.id);
      return accounts.resetUsage(id);
    },
  })),
  wrongAccounts("an import that another instance does not see", /^no key is imported/, () => {
    const keys = new Map<string, string>();
    return {
      importedKeys: {
        record: async (hash, accountId) => void keys.set(hash, accountId),
        exist: async () => keys.size > 0,
        findAccount: async (hash) => keys.get(hash),
      },
    };
  }),
  wrongImports("a look-up without an account", /^an imported key is admitted/, () => ({
    findAccount: async () => undefined,
  })),
  wrongImports("an import that takes the key of another account", /^a key of one account/, () => ({
    record: async () => {},
  })),
  wrongImports("an import that nothing can follow", /^an import that stopped/, (keys) => {
    const owners = new Map<string, string>();
    return {
      async record(hash, accountId) {
        if ((owners.get(hash) ?? accountId) !== accountId) throw invalidInput("hash", "It is taken.");
        owners.set(hash, accountId);
        await keys.record(hash, accountId);
      },
    };
  }),
  wrongAccounts("a key that is not compared", /^a key that was/, (accounts) => ({
    async admit(key, ...rest) {
      const { keys = [] } = (await accounts.find(key.accountId)) ?? {};
      return accounts.admit({ ...key, hash: keys[0]?.hash ?? key.hash }, ...rest);
    },
  })),
  wrongAccounts("a quota from before the request", /^an admitted request/, (accounts) => ({
    admit: after(accounts.admit, async (admission) => {
      if (!admission.ok) return admission;
      return { ...admission, quota: { ...admission.quota, remaining: admission.quota.remaining + 1 } };
    }),
  })),
  wrongAccounts("a ban that is lost among requests", [/^requests at once by/, /the ban is kept/], () => ({
    recordRejections: async () => {},
  })),
  wrongAccounts("a limit checked before it counts", /^of 400/, (accounts) => ({
    async admit(key, at, policy) {
      const state = await keyStateOf(accounts, key);
      if (state === undefined) return accounts.admit(key, at, policy);
      const { admission } = decideAdmission(state, at, policy);
      await turn();
      const counted = await accounts.admit(key, at, policy);
      return admission.ok ? admission : counted;
    },
  })),
  wrongAccounts("a limit of the day that is not kept", /^a new minute/, (accounts) => ({
    async admit(key, at, policy) {
      const admission = await accounts.admit(key, at, policy);
      if (admission.ok || !("quota" in admission) || admission.quota.resetsAt - at <= MINUTE_MS)
        return admission;
      await accounts.resetUsage(key.accountId);
      return accounts.admit(key, at, policy);
    },
  })),
  wrongAccounts("a request that counts twice", /^(concurrent requests across|a cancel with)/, (accounts) => ({
    async admit(...args) {
      await accounts.admit(...args);
      return accounts.admit(...args);
    },
  })),
  wrongAccounts("a key that is checked once a minute", /^(a further|a key stops)/, (accounts) => {
    const minutes = new Map<string, number>();
    return {
      admit(key, at, ...rest) {
        const first = minutes.get(key.hash) ?? at;
        minutes.set(key.hash, first);
        return accounts.admit(key, at - first < MINUTE_MS ? first : at, ...rest);
      },
    };
  }),
  wrongAccounts("limits of each key", /^two keys of/, (accounts) => {
    let last = "";
    return {
      async admit(key, at, policy) {
        if (last !== "" && last !== key.hash) await accounts.resetUsage(key.accountId);
        last = key.hash;
        return accounts.admit(key, at, policy);
      },
    };
  }),
  wrongAccounts("a late clock that opens a window of its own", /^a process whose/, (accounts) => ({
    async admit(key, at, policy) {
      const { usage = NO_USAGE } = (await accounts.find(key.accountId)) ?? {};
      if (usage.minute.start > at) await accounts.resetUsage(key.accountId);
      return accounts.admit(key, at, policy);
    },
  })),
  wrongAccounts("a window in the future that is waited for", /^a window or/, (accounts) => ({
    async admit(key, at, policy) {
      const { usage = NO_USAGE } = (await accounts.find(key.accountId)) ?? {};
      return accounts.admit(key, Math.max(at, usage.minute.start), policy);
    },
  })),
  wrongAccounts("a ban that is not stored", /^(the 21st rejected|rejections that instances)/, (accounts) => ({
    admit: after(accounts.admit, async (admission) => {
      if (!admission.ok && admission.code === "api_key_banned")
        await accounts.unban(admission.caller.accountId, admission.caller.keyId);
      return admission;
    }),
  })),
  wrongAccounts("rejections that are not counted", /^the 21st rejected/, (accounts) => ({
    admit: after(accounts.admit, async (admission) => {
      if (!admission.ok && "caller" in admission)
        await accounts.unban(admission.caller.accountId, admission.caller.keyId);
      return admission;
    }),
  })),
  wrongAccounts("rejections of one turn that are counted once", /^of 400/, (accounts) => {
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
  wrongAccounts("rejections not recorded", /^(recorded rejections add|rejections that instances)/, () => ({
    recordRejections: async () => {},
  })),
  wrongAccounts("rejections of an unknown key that count for another", /^a key that was/, (accounts) => ({
    async recordRejections(key, ...rest) {
      const { keys = [] } = (await accounts.find(key.accountId)) ?? {};
      await accounts.recordRejections({ ...key, hash: keys[0]?.hash ?? "" }, ...rest);
    },
  })),
  wrongAccounts("a ban that every request extends", /^rejections of different/, (accounts) => ({
    async admit(key, at, policy) {
      const admission = await accounts.admit(key, at, policy);
      if (admission.ok || admission.code !== "api_key_banned" || admission.startsBan) return admission;
      await accounts.unban(key.accountId, admission.caller.keyId);
      await accounts.recordRejections(key, 21, at, policy);
      return admission;
    },
  })),
  wrongAccounts("an unban without effect", /^(an unban lifts|a ban, an)/, () => ({ unban: async () => {} })),
  wrongAccounts("an unban after which a key never expires", /^an unban lifts/, (accounts) => ({
    async unban(id, keyId) {
      await accounts.unban(id, keyId);
      const withoutExpiry = ({ expiresAt: _, ...key }: ApiKey): ApiKey => key;
      await accounts.update(id, (account) => ({
        ok: true,
        account: { ...account, keys: account.keys.map(withoutExpiry) },
      }));
    },
  })),
  wrongAccounts("an unban of all keys of an account", /^an unban lifts/, (accounts) => ({
    async unban(id) {
      for (const key of (await accounts.find(id))?.keys ?? []) await accounts.unban(id, key.id);
    },
  })),
  wrongAccounts("rejections that count from the first one on", /^what is rejected within/, (accounts) => ({
    async admit(key, at, policy) {
      const admission = await accounts.admit(key, at, policy);
      if (!admission.ok && admission.code === "rate_limit_exceeded" && admission.rejections.count === 0)
        await accounts.recordRejections(key, 1, at, policy);
      return admission;
    },
  })),
  wrongAccounts(
    "a policy that is ignored",
    /^(the given policy|requests are admitted|a table can)/,
    (accounts) => ({
      admit: (key, at) => accounts.admit(key, at),
    }),
  ),
  wrongAccounts("plans of which some are too many", [/^a table can/, /20 plans/], (accounts) => ({
    admit: (key, at, policy = DEFAULT_BAN_POLICY) => {
      const plans = policy.plans && Object.fromEntries(Object.entries(policy.plans).slice(0, 19));
      return accounts.admit(key, at, { ...policy, plans });
    },
  })),
  wrongAccounts(
    "an operation that is performed without saying on which orders",
    [/^an admission performs/, /needs performsOn/],
    (accounts, { orders }) => ({
      async admit(key, at, policy, operation) {
        const admission = await accounts.admit(key, at, policy);
        if (!admission.ok || operation === undefined) return admission;
        return { ...admission, outcome: await performStoreOperation(orders, operation, at) };
      },
    }),
  ),
  wrongAccounts(
    "an operation before its admission, without an outcome",
    /^(an admission performs|the operation of)/,
    (accounts, { orders }) => ({
      performsOn: orders,
      async admit(key, at, policy, operation) {
        if (operation?.type === "apply") await orders.apply(operation.id, operation.event, at);
        return accounts.admit(key, at, policy);
      },
    }),
  ),
  wrongAccounts("the orders of another store", [/^an admission performs/, /own orders/], (_, { orders }) => ({
    performsOn: { ...orders },
  })),
  wrongOperations("an admission whose event has another instant", /^an event with/, (orders, operation, at) =>
    performStoreOperation(orders, operation, at + 1),
  ),
  wrongOperations("an admission that rounds the identifier", /^a cancel with/, (orders, operation, at) => {
    const rounded = "id" in operation ? { ...operation, id: BigInt(Number(operation.id)) } : operation;
    return performStoreOperation(orders, rounded, at);
  }),
  wrongOperations("an admission whose list ends early", /^a list with/, async (orders, operation, at) => {
    const outcome = await performStoreOperation(orders, operation, at);
    return outcome.type === "list" ? { ...outcome, first: { ...outcome.first, last: true } } : outcome;
  }),
  wrongOrders("an order that is returned as it is stored", /^what was passed/, (orders) => {
    const found = new Map<bigint, ReturnType<OrderStore["find"]>>();
    return {
      async find(id) {
        if (!found.has(id)) found.set(id, orders.find(id));
        return found.get(id);
      },
    };
  }),
  wrongStore("a check that changes something", /^a store that/, ({ orders }) => ({
    check: async () => void (await orders.place([{ record: { id: 7n }, status: "pending" }])),
  })),
  wrongStore(
    "an admission that locks its account, and not the order",
    [/^when instances cancel and ship the same orders through an/, /order_already|one of 4 events/],
    ({ orders, accounts }, network) => ({
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
  ),
  wrongOrders("a lost race that finds no order", [/^when instances cancel/, /not_found/], (orders) => ({
    async apply(id, event, at) {
      const before = await orders.find(id);
      await turn();
      const result = await orders.apply(id, event, at);
      return !result.ok && before?.status === "pending" ? { ok: false, code: "order_not_found" } : result;
    },
  })),
  wrongOrders("orders that each instance knows for itself", /^when instances place/, (orders) => {
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
  wrongAccounts("an account whose parts are read in turn", [/^an account is/, /together/], (accounts) => ({
    find: after(accounts.find, async (first, id) => {
      await turn();
      const second = await accounts.find(id);
      return first && second && { ...first, keys: second.keys };
    }),
  })),
  wrongAccounts("an environment that each instance remembers", /^the environment that/, () => {
    let mine: "live" | "test" | undefined;
    return {
      async recordEnvironment(environment) {
        mine ??= environment;
        return mine;
      },
    };
  }),
  wrongStore("a close of all", [/^an instance that is/, /others usable/], (store, network) => ({
    ...store,
    close: async () => {
      network.isDown = true;
    },
  })),
  wrongOrders("counts that each instance caches", /^a list contains/, (orders) => {
    let counts: ReturnType<OrderStore["countByStatus"]> | undefined;
    return {
      async apply(id, event, at) {
        counts ??= orders.countByStatus();
        return orders.apply(id, event, at);
      },
      countByStatus: () => counts ?? orders.countByStatus(),
    };
  }),
  wrongOrders("a cancel that an outage loses", [/^while the database/, /apply\(\) rejects/], (orders) => ({
    apply: (id, event, at) =>
      orders.apply(id, event, at).catch(() => ({ ok: true, order: { record: { id }, status: "cancelled" } })),
  })),
  wrongOrders("an outage as another error", [/^while the database/, /ECONNREFUSED/], (orders, network) => ({
    async apply(id, event, at) {
      if (network.isDown) throw new Error("ECONNREFUSED");
      return orders.apply(id, event, at);
    },
  })),
  wrongStore("a check that passes in an outage", [/^while the database/, /check\(\) rejects/], () => ({
    check: async () => {},
  })),
  wrongAccounts("an admission that is repeated", [/^an admission whose/, /counts once/], (accounts) => ({
    admit: (...args) => repeated(() => accounts.admit(...args)),
  })),
  wrongAccounts(
    "an account that is repeated",
    [/^an account that is created/, /account_exists/],
    (accounts) => ({ create: (account) => repeated(() => accounts.create(account)) }),
  ),
  wrongOrders("an event that is repeated", [/^an event whose/, /already_shipped/], (orders) => ({
    apply: (id, event, at) => repeated(() => orders.apply(id, event, at)),
  })),
  wrongOrders("a history without who made a change", /^(the history of|the change of)/, (orders) => ({
    place: (placed, at) => orders.place(placed, at),
    apply: (id, event, at) => orders.apply(id, event, at),
  })),
  wrongOrders("a history with more events", /^(what changes nothing|when instances cancel)/, (orders) => {
    const more: OrderChange[] = [];
    return {
      async apply(id, event, at, origin) {
        more.push({ event, at, ...origin });
        return orders.apply(id, event, at, origin);
      },
      find: after(orders.find, (found) => found && { ...found, history: [...found.history, ...more] }),
    };
  }),
  wrongOutbox("an outbox that stays on", /^an outbox that/, (outbox) => ({
    switch: async (on) => (on ? outbox.switch(on) : undefined),
  })),
  wrongStore(
    "an instance that knows only at its first change whether the outbox is on",
    /^(an instance that was opened|a call that)/,
    ({ orders, outbox = expect.fail() }) => {
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
  ),
  wrongOutbox("an outbox that lists the newest changes first", /^the oldest changes/, (outbox) => ({
    list: async (kind, limit) => (await outbox.list(kind, 1_000)).toReversed().slice(0, limit),
  })),
  wrongOutbox("an outbox that does not say when a change is due", /^the oldest changes/, (outbox) => ({
    list: async (...args) => (await outbox.list(...args)).map(({ due: _due, ...waiting }) => waiting),
  })),
  wrongOutbox("an outbox that leases the newest changes first", /^the oldest changes/, (outbox) => ({
    lease: async (limit, at, lease) => (await outbox.lease(1_000, at, lease)).slice(-limit),
  })),
  wrongOutbox("a lease that ends by the clock of whoever asks", /^the changes of/, (outbox) => {
    let since: number | undefined;
    return {
      async lease(limit, at, lease) {
        since ??= at;
        if (at > since + MINUTE_MS) await outbox.release(await outbox.held(0, 1_000));
        return outbox.lease(limit, at, lease);
      },
    };
  }),
  wrongOutbox("a release that asks for no lease", /^(the changes of|an instance sees)/, (outbox) => ({
    async release(released) {
      const ids = new Set(released.map(({ id }) => id));
      await outbox.release((await outbox.held(0, 1_000)).filter(({ id }) => ids.has(id)));
    },
  })),
  wrongOutbox("an outbox without attempts of a wrong clock", /^an instance sees/, (outbox) => ({
    held: async (...args) => (await outbox.held(...args)).filter(({ hold }) => hold < 0),
  })),
  wrongOutbox("an outbox whose oldest change stays in the future", /^a change of/, (outbox) => ({
    lease: async (limit, at, lease) =>
      // Nothing is later than that.
      (await outbox.lease(limit, at + 10 * 365 * 86_400_000, lease)).slice(0, limit),
  })),
  wrongOutbox("an acknowledged change that removes all", /^(a change that|a change and)/, (outbox) => ({
    acknowledge: (all) => outbox.acknowledge(all.map((each) => ({ ...each, delivered: 3 }))),
  })),
  wrongOutbox(
    "an acknowledgement of the first order only",
    /^(a change that|instances that lease|no order, one)/,
    (outbox) => ({ acknowledge: (all) => outbox.acknowledge(all.slice(0, 1)) }),
  ),
  wrongOutbox("an acknowledgement of an order that has changed since", /^changes that/, (outbox, orders) => ({
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
  wrongOutbox(
    "an outbox that takes every change for the second one of its order",
    /^(every event adds one change|a change that follows while one|the changes of an order are next)/,
    (outbox) => ({
      lease: after(outbox.lease, (all) =>
        all.map((each) => ({ ...each, delivered: Math.min(each.delivered, 1) })),
      ),
    }),
  ),
  wrongOutbox("an acknowledgement without lease", [/^a delivery that is/, /only the number/], (outbox) => ({
    async acknowledge(all) {
      const holds = new Map((await outbox.held(0, 1_000)).map(({ id, hold }) => [id, hold]));
      await outbox.acknowledge(all.map((each) => ({ ...each, lease: holds.get(each.id) ?? each.lease })));
    },
  })),
  wrongOutbox("a failure that is counted whoever has the lease", /^a failure sets/, (outbox) => ({
    async postpone(id, lease, due) {
      await outbox.postpone(id, lease, due);
      await outbox.postpone(id, lease + 1, due);
    },
  })),
  wrongOutbox("an outbox that retries only what was set aside", /^a failure sets/, (outbox) => ({
    async retry(id) {
      const failed = (await outbox.list("failed", 1_000)).map((each) => each.id);
      const retried = await Promise.all(
        failed.filter((each) => (id ?? each) === each).map((each) => outbox.retry(each)),
      );
      return retried.reduce((sum, count) => sum + count, 0);
    },
  })),
  wrongHistories("changes without a token", [/^each change keeps/, /the token of newChange/], (history) =>
    history.map(({ event, at }) => ({ event, at })),
  ),
  wrongHistories("a token that is that of the order", [/^each change keeps/, /no two changes/], (history) =>
    history.map((change) => ({ ...change, token: history[0]?.token ?? "" })),
  ),
  wrongHistories("a token that is made when it is read", [/^each change keeps/, /stay the same/], (history) =>
    history.map(({ event, at }) => newChange(event, at)),
  ),
  wrongOutbox("orders leased together", [/^orders with a/, /every other order is delivered/], (outbox) => ({
    lease: (...args) => together(outbox.lease(...args)),
  })),
  wrongOutbox("an outbox that rounds identifiers", [/^no order, one/, /1 orders leased/], (outbox) => ({
    lease: async (...args) =>
      (await outbox.lease(...args)).map((each) => ({ ...each, id: BigInt(Number(each.id)) })),
  })),
  wrongOutbox("attempts that are not counted further", /^a failure sets/, (outbox) => ({
    lease: async (...args) =>
      (await outbox.lease(...args)).map((each) => ({ ...each, attempts: Math.min(each.attempts, 1) })),
  })),
  wrongOutbox("damaged orders that are not leased", [/^orders with a/, /failed/], (outbox) => ({
    lease: async (...args) => (await outbox.lease(...args)).filter(({ problem }) => problem === undefined),
  })),
  wrongOutbox("damaged orders that are not listed", [/^orders with a/, /names the order/], (outbox) => ({
    list: async (...args) => (await outbox.list(...args)).filter(({ problem }) => problem === undefined),
  })),
  wrongOrders("a page that leaves out damaged orders", /^an order with/, (orders) => ({
    async page(query) {
      const { damaged: _damaged, ...page } = await orders.page(query);
      return page;
    },
  })),
  wrongOrders("a damaged order that is compared by its identifier only", /^an order that/, (orders) => ({
    place: async (...args) =>
      (await orders.place(...args)).map((outcome) => (outcome === "conflict" ? "unchanged" : outcome)),
  })),
  wrongOrders("a cancel that reads its order afterwards", [/^an event of/, /is acknowledged/], (orders) => ({
    apply: after(orders.apply, async (result, id) => {
      if (result.ok) await orders.find(id);
      return result;
    }),
  })),
  wrongAccounts("rejections that are repeated", [/^rejections that are/, /once each/], (accounts) => ({
    recordRejections: (...args) => repeated(() => accounts.recordRejections(...args)),
  })),
];

test("a store without a mistake passes every case", async () => {
  for (const contractCase of storeContract)
    expect((await checkWith(() => ({}), contractCase))?.message, contractCase.name).toBeUndefined();
});

describe("a store with one mistake fails", () => {
  test.each(MISTAKES)("$mistake", async ({ fails, change }) => {
    const [names, message] = fails instanceof RegExp ? [fails, /./] : fails;
    const cases = storeContract.filter(({ name }) => names.test(name));
    expect(cases.length).toBeGreaterThan(0);
    for (const contractCase of cases) {
      const error = await checkWith(change, contractCase);
      expect(error?.message, contractCase.name).toMatch(message);
      expect(error?.message.length).toBeLessThanOrEqual(2_000);
    }
  });
});

test("every case fails for some mistake", () => {
  const tested = MISTAKES.map(({ fails }) => (fails instanceof RegExp ? fails : fails[0]));
  const unused = storeContract.filter(({ name }) => !tested.some((names) => names.test(name)));
  expect(unused.map(({ name }) => name)).toEqual([]);
});

test("every case ends over a store whose lists, pages and accounts have no end", async () => {
  const withoutEnd: Change = ({ orders, accounts }) => ({
    orders: {
      ...orders,
      list: () => endless(orders),
      page: async ({ after = 0n }) => ({ orders: [], next: after + 1n }),
    },
    accounts: {
      ...accounts,
      async *list(...args) {
        for (let left = 10_000; left > 0; left--) yield* accounts.list(...args);
      },
    },
  });
  const messages = new Set<string>();
  for (const contractCase of storeContract)
    messages.add((await checkWith(withoutEnd, contractCase))?.message.split("\n", 1)[0] ?? "");
  expect([...messages]).toEqual(
    expect.arrayContaining([
      expect.stringContaining("ends within 5000 items"),
      expect.stringContaining("ends within 5000 pages"),
    ]),
  );
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
  expect((await checked)?.message).toMatch(/apply\(\) settles within 5 s: it took 7100 ms/);
});

test("a case without the option that it needs is skipped, and says so", async () => {
  for (const { needs, check } of storeContract.filter((each) => each.needs !== undefined))
    expect(await check(createMemoryStore())).toBe(`it needs the option '${needs}'`);
});

test("a case closes every instance that it has opened, whether it holds or not", async () => {
  const { check } = storeContract.find(({ name }) => name.startsWith("of 400")) ?? expect.fail();
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
