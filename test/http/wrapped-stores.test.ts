import { DatabaseSync } from "node:sqlite";
import { Registry } from "prom-client";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { createMetrics } from "../../lib/metrics/metrics.ts";
import type { OrderStore } from "../../lib/orders/order-store.ts";
import { performStoreOperation, type StoreOperation } from "../../lib/orders/store-operation.ts";
import { createDynamodbStore, createDynamodbTables } from "../../lib/stores/dynamodb/index.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createPostgresStore } from "../../lib/stores/postgres/index.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import type { Store } from "../../lib/stores/store.ts";
import { startPglite } from "../stores/postgres/pglite.ts";
import { temporaryDirectory } from "../stores/sqlite/fixture.ts";
import { useEmulator } from "../support/dynamodb/use-emulator.ts";
import { createHandlerFixture, MAX, NOON } from "./fixture.ts";

/** Only orders from 3 on belong to the tenant. */
const isOwn = (id: bigint) => id >= 3n;
const ALL = ["1", "2", "3", `${MAX}`];
const OWN = ["3", `${MAX}`];

/** Orders of a tenant: those of others do not exist. */
function guarded(orders: OrderStore): OrderStore {
  return {
    ...orders,
    apply: async (id, ...rest) =>
      isOwn(id) ? orders.apply(id, ...rest) : { ok: false, code: "order_not_found" },
    async *list() {
      for await (const { json, last } of orders.list()) {
        const records = json
          .split(/(?<=\}),(?=\{)/)
          .filter((record) => isOwn(BigInt(/\d+/.exec(record)?.[0] ?? 0)));
        yield { json: records.join(","), last };
      }
    },
  };
}

/** The operations that an admission was asked to perform. */
let asked: StoreOperation["type"][] = [];
afterEach(() => {
  asked = [];
});

/** Accounts that a decorator wraps by a spread, so that they keep whatever else the accounts have. */
const spread = (accounts: AccountStore): AccountStore => ({
  ...accounts,
  admit(key, at, policy, operation) {
    if (operation !== undefined) asked.push(operation.type);
    return accounts.admit(key, at, policy, operation);
  },
});

/** Accounts that a decorator of an earlier version lists: without what the port has got since. */
function listed(accounts: AccountStore): AccountStore {
  const { performsOn: _, ...methods } = spread(accounts);
  return methods;
}

/** Accounts that perform operations on other orders than the store's, and say so. */
const performingOn = (orders: OrderStore, accounts: AccountStore): AccountStore => ({
  ...accounts,
  performsOn: orders,
  async admit(key, at, policy, operation) {
    if (operation !== undefined) asked.push(operation.type);
    const admission = await accounts.admit(key, at, policy);
    if (!admission.ok || operation === undefined) return admission;
    const origin = { by: admission.caller.keyId };
    return { ...admission, outcome: await performStoreOperation(orders, operation, at, origin) };
  },
});

/** Every object of the store behind one proxy each, as in the example with spans. */
function proxied<T extends object>(target: T, wrappers = new Map<object, unknown>()): T {
  if (!wrappers.has(target))
    wrappers.set(
      target,
      new Proxy(target, {
        get(_target, key) {
          const value: unknown = Reflect.get(target, key);
          return typeof value === "object" && value !== null ? proxied(value, wrappers) : value;
        },
      }),
    );
  return wrappers.get(target) as T;
}

/** A way in which a program wraps a store before it passes it to the handler. */
interface Wrapping {
  readonly how: string;
  wrap(store: Store): Store | Promise<Store>;
  /** True if the tenant's guard has to be asked. */
  readonly isGuarded: boolean;
  /** True if an admission performs operations, in a store with transactions, or in every store. */
  readonly isAsked?: boolean | "always";
}

const WRAPPINGS: readonly Wrapping[] = [
  { how: "nothing is wrapped", wrap: (store) => store, isGuarded: false },
  {
    how: "a spread wraps the accounts",
    wrap: (store) => ({ ...store, accounts: spread(store.accounts) }),
    isGuarded: false,
    isAsked: true,
  },
  {
    how: "a list of methods wraps the accounts",
    wrap: (store) => ({ ...store, accounts: listed(store.accounts) }),
    isGuarded: false,
  },
  {
    how: "the orders are wrapped",
    wrap: (store) => ({ ...store, orders: guarded(store.orders) }),
    isGuarded: true,
  },
  {
    how: "the orders are wrapped by inheritance",
    wrap: (store) => {
      const { apply, list } = guarded(store.orders);
      const orders: OrderStore = Object.create(store.orders, {
        apply: { value: apply },
        list: { value: list },
      });
      return { ...store, orders, accounts: spread(store.accounts) };
    },
    isGuarded: true,
  },
  {
    how: "both are wrapped, the accounts by a spread",
    wrap: (store) => ({ ...store, orders: guarded(store.orders), accounts: spread(store.accounts) }),
    isGuarded: true,
  },
  {
    how: "both are wrapped, the accounts by a list of methods",
    wrap: (store) => ({ ...store, orders: guarded(store.orders), accounts: listed(store.accounts) }),
    isGuarded: true,
  },
  {
    how: "both are wrapped, and the accounts name the wrapper, on which they perform operations",
    wrap: (store) => {
      const orders = guarded(store.orders);
      return { ...store, orders, accounts: performingOn(orders, store.accounts) };
    },
    isGuarded: true,
    isAsked: "always",
  },
  {
    how: "the orders are wrapped again after the accounts have named a wrapper",
    wrap: (store) => {
      const once = guarded(store.orders);
      return { ...store, orders: { ...once }, accounts: performingOn(once, store.accounts) };
    },
    isGuarded: true,
  },
  {
    how: "the accounts of another store are used",
    wrap: async (store) => {
      const { accounts } = createSqliteStore({ path: ":memory:" });
      await accounts.create((await store.accounts.find("shop")) ?? expect.fail());
      return { ...store, orders: guarded(store.orders), accounts: spread(accounts) };
    },
    isGuarded: true,
  },
  {
    how: "metrics wrap the store",
    wrap: (store) => ({
      ...store,
      ...createMetrics({ registry: new Registry() }).instrument({
        ...store,
        accounts: spread(store.accounts),
      }),
    }),
    isGuarded: false,
    isAsked: true,
  },
  {
    how: "metrics wrap a store whose orders are wrapped",
    wrap: (store) => ({
      ...store,
      ...createMetrics({ registry: new Registry() }).instrument({
        ...store,
        orders: guarded(store.orders),
        accounts: spread(store.accounts),
      }),
    }),
    isGuarded: true,
  },
  {
    how: "the orders that metrics have wrapped are wrapped",
    wrap: (store) => {
      const counted = createMetrics({ registry: new Registry() }).instrument({
        ...store,
        accounts: spread(store.accounts),
      });
      return { ...store, ...counted, orders: guarded(counted.orders) };
    },
    isGuarded: true,
  },
  {
    how: "each object has a proxy",
    wrap: (store) => proxied({ ...store, accounts: spread(store.accounts) }),
    isGuarded: false,
    isAsked: true,
  },
  {
    how: "proxies wrap a store whose orders are wrapped",
    wrap: (store) => proxied({ ...store, orders: guarded(store.orders), accounts: spread(store.accounts) }),
    isGuarded: true,
  },
  {
    how: "the store wraps its orders whenever they are read",
    wrap: (store) => ({
      ...store,
      accounts: spread(store.accounts),
      get orders() {
        return guarded(store.orders);
      },
    }),
    isGuarded: true,
  },
  {
    how: "an admission returns an outcome that nobody has asked for",
    wrap: (store) => ({
      ...store,
      orders: guarded(store.orders),
      accounts: {
        ...store.accounts,
        async admit(key, at, policy) {
          const admission = await store.accounts.admit(key, at, policy);
          if (!admission.ok) return admission;
          const outcome = await performStoreOperation(store.orders, { type: "list" }, at);
          return { ...admission, outcome };
        },
      },
    }),
    isGuarded: true,
  },
];

describe.each(["memory", "sqlite", "postgres", "dynamodb"] as const)(
  "a handler over %s uses the orders that it was given",
  (kind) => {
    const isTransactional = kind === "sqlite" || kind === "postgres";
    const emulator = kind === "dynamodb" ? useEmulator() : undefined;
    let pglite: Awaited<ReturnType<typeof startPglite>>;
    let opened = 0;
    if (kind === "postgres")
      beforeAll(async () => {
        pglite = await startPglite();
      });

    async function openStore(): Promise<Store> {
      if (kind === "memory") return createMemoryStore();
      if (kind === "sqlite") return createSqliteStore({ path: ":memory:" });
      if (kind === "postgres")
        return createPostgresStore({ pool: pglite.pool, schema: `wrapped_${opened++}` });
      const { client } = emulator ?? expect.fail();
      const prefix = `wrapped-${opened++}`;
      await createDynamodbTables({ prefix, client, buckets: 1 });
      return createDynamodbStore({ prefix, client });
    }

    test.each(WRAPPINGS)("if $how", async ({ wrap, isGuarded, isAsked = false }) => {
      const store = await openStore();
      const { key, keyId } = await createHandlerFixture({ store });
      const handler = createHandler({ store: await wrap(store), clock: () => NOON });
      const send = async (method: string, id = "") => {
        const request = new Request(`http://localhost/v1/store/orders${id}`, {
          ...{ method, headers: { authorization: `Bearer ${key}` } },
        });
        const response = await handler(request);
        return [response.status, await response.text()] as const;
      };

      const [status, list] = await send("GET");
      expect(status).toBe(200);
      expect(list.match(/(?<="id":)\d+/g)).toEqual(isGuarded ? OWN : ALL);
      expect((await send("DELETE", "/1"))[0]).toBe(isGuarded ? 404 : 204);
      expect((await store.orders.find(1n))?.status).toBe(isGuarded ? "pending" : "cancelled");
      expect((await send("DELETE", `/${MAX}`))[0]).toBe(204);
      expect((await store.orders.find(MAX))?.history.at(-1)).toMatchObject({
        event: "cancel",
        at: NOON,
        by: keyId,
      });
      expect((await store.orders.find(MAX))?.history).toHaveLength(2);

      const isPerformed = isAsked === "always" || (isAsked && isTransactional);
      expect(asked).toEqual(isPerformed ? ["list", "apply", "apply"] : []);
    });
  },
);

test.each(["sqlite", "postgres"] as const)(
  "a method cannot be put into the own orders of a store on %s, which an admission would not call",
  (kind) => {
    const pool = { connect: () => Promise.reject(new Error("It is not used.")) };
    const { orders } =
      kind === "sqlite" ? createSqliteStore({ path: ":memory:" }) : createPostgresStore({ pool });
    for (const name of ["apply", "list"] as const) {
      expect(() => Object.assign(orders, { [name]: guarded(orders)[name] })).toThrow(/read only property/);
    }
  },
);

const { newPath } = temporaryDirectory();

test("orders in a transaction of the caller are cancelled in that, and not in the admission's", async () => {
  const path = newPath();
  const store = createSqliteStore({ path });
  const { key } = await createHandlerFixture({ store });
  const connection = new DatabaseSync(path);
  const orders = store.orders.using(connection);
  const handler = createHandler({ store: { ...store, orders }, clock: () => NOON });
  connection.exec("BEGIN");
  const headers = { authorization: `Bearer ${key}` };
  const request = new Request("http://localhost/v1/store/orders/1", { method: "DELETE", headers });
  expect((await handler(request)).status).toBe(204);
  expect((await orders.find(1n))?.status).toBe("cancelled");
  connection.exec("ROLLBACK");
  expect((await store.orders.find(1n))?.status).toBe("pending");
  connection.close();
  await store.close();
});
