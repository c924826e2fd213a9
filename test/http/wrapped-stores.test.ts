import { DatabaseSync } from "node:sqlite";
import { Registry } from "prom-client";
import { afterEach, describe, expect, test } from "vitest";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { createMetrics } from "../../lib/metrics/metrics.ts";
import type { OrderStore } from "../../lib/orders/order-store.ts";
import { performStoreOperation, type StoreOperation } from "../../lib/orders/store-operation.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createPostgresStore } from "../../lib/stores/postgres/index.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import type { Store } from "../../lib/stores/store.ts";
import { temporaryDirectory } from "../stores/sqlite/fixture.ts";
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

/** An object like an instance of a class: its methods are not its own, and work on nothing else. */
function instanceOf<T extends object>(target: T): T {
  const methods = Object.entries(target).map(([name, value]) => {
    const method = function (this: unknown, ...args: unknown[]) {
      expect(this).toBe(instance);
      return value(...args);
    };
    return [name, typeof value === "function" ? method : value] as const;
  });
  const instance: T = Object.create(Object.fromEntries(methods));
  return instance;
}

const measured = (store: Store): Store => ({
  ...store,
  ...createMetrics({ registry: new Registry() }).instrument(store),
});
const counted = (store: Store) => measured({ ...store, accounts: spread(store.accounts) });
const guardedStore = (store: Store): Store => ({ ...store, orders: guarded(store.orders) });

/**
 * Ways in which a program wraps a store before it passes it to the handler: "guarded" if the tenant's guard has to be
 * asked, and "asked" if an admission performs operations, in a store with transactions, or in every store.
 */
const WRAPPINGS: readonly (readonly [
  how: string,
  expected: "guarded" | "open" | "open, asked" | "guarded, always asked",
  wrap: (store: Store) => Store | Promise<Store>,
])[] = [
  ["nothing is wrapped", "open", (store) => store],
  ["a spread wraps the accounts", "open, asked", (store) => ({ ...store, accounts: spread(store.accounts) })],
  [
    "a list of methods wraps the accounts",
    "open",
    (store) => ({ ...store, accounts: listed(store.accounts) }),
  ],
  ["the orders are wrapped", "guarded", guardedStore],
  [
    "the orders are wrapped by inheritance",
    "guarded",
    (store) => {
      const { apply, list } = guarded(store.orders);
      const orders: OrderStore = Object.create(store.orders, {
        apply: { value: apply },
        list: { value: list },
      });
      return { ...store, orders, accounts: spread(store.accounts) };
    },
  ],
  [
    "both are wrapped, and the accounts name the wrapper, on which they perform operations",
    "guarded, always asked",
    (store) => {
      const orders = guarded(store.orders);
      return { ...store, orders, accounts: performingOn(orders, store.accounts) };
    },
  ],
  [
    "the orders are wrapped again after the accounts have named a wrapper",
    "guarded",
    (store) => {
      const once = guarded(store.orders);
      return { ...store, orders: { ...once }, accounts: performingOn(once, store.accounts) };
    },
  ],
  [
    "the accounts of another store are used",
    "guarded",
    async (store) => {
      const { accounts } = createSqliteStore({ path: ":memory:" });
      await accounts.create((await store.accounts.find("shop")) ?? expect.fail());
      return { ...guardedStore(store), accounts: spread(accounts) };
    },
  ],
  ["metrics wrap the store", "open, asked", counted],
  ["metrics wrap a store whose orders are wrapped", "guarded", (store) => counted(guardedStore(store))],
  [
    "metrics wrap a store that consists of instances of classes",
    "open",
    ({ orders, accounts, ...rest }) =>
      measured(instanceOf({ ...rest, orders: instanceOf(orders), accounts: instanceOf(accounts) })),
  ],
  [
    "each object has a proxy",
    "open, asked",
    (store) => proxied({ ...store, accounts: spread(store.accounts) }),
  ],
  [
    "the store wraps its orders whenever they are read",
    "guarded",
    (store) => ({
      ...store,
      accounts: spread(store.accounts),
      get orders() {
        return guarded(store.orders);
      },
    }),
  ],
  [
    "an admission returns an outcome that nobody has asked for",
    "guarded",
    (store) => ({
      ...guardedStore(store),
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
  ],
];

// The contract says that an admission performs operations on the own orders of its store, whatever the engine.
describe.each([
  ["memory", createMemoryStore],
  ["sqlite", () => createSqliteStore({ path: ":memory:" })],
] as const)("a handler over %s uses the orders that it was given", (kind, open) => {
  test.each(WRAPPINGS)("if %s", async (_how, expected, wrap) => {
    const store = open();
    const { key, keyId } = await createHandlerFixture({ store });
    const handler = createHandler({ store: await wrap(store), clock: () => NOON });
    const send = async (method: string, id = "") => {
      const request = new Request(`http://localhost/v1/store/orders${id}`, {
        ...{ method, headers: { authorization: `Bearer ${key}` } },
      });
      const response = await handler(request);
      return [response.status, await response.text()] as const;
    };

    const isGuarded = expected.startsWith("guarded");
    const [status, list] = await send("GET");
    expect(status).toBe(200);
    expect(list.match(/(?<="id":)\d+/g)).toEqual(isGuarded ? OWN : ALL);
    expect((await send("DELETE", "/1"))[0]).toBe(isGuarded ? 404 : 204);
    expect((await store.orders.find(1n))?.status).toBe(isGuarded ? "pending" : "cancelled");
    expect((await send("DELETE", `/${MAX}`))[0]).toBe(204);
    const { history = [] } = (await store.orders.find(MAX)) ?? {};
    expect(history).toHaveLength(2);
    expect(history.at(-1)).toMatchObject({ event: "cancel", at: NOON, by: keyId });

    const isPerformed = expected.includes("always") || (expected.includes("asked") && kind === "sqlite");
    expect(asked).toEqual(isPerformed ? ["list", "apply", "apply"] : []);
  });
});

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
