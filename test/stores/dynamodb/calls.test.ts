import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createAccounts, type IssuedKey } from "../../../lib/accounts/accounts.ts";
import { keyIdOf } from "../../../lib/accounts/api-key.ts";
import { hashKey } from "../../../lib/accounts/hash-key.ts";
import { CALL_TIMEOUT_MS } from "../../../lib/core/time.ts";
import type { StoredOrder } from "../../../lib/orders/lifecycle.ts";
import { MAX_PAGE_ORDERS, type OrderQueryPage } from "../../../lib/orders/order-query.ts";
import { orderToJson } from "../../../lib/orders/wire.ts";
import { DAY_MS } from "../../../lib/plans/windows.ts";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { BUCKETS, bucketOf, ORDERS_SETTINGS_KEY } from "../../../lib/stores/dynamodb/schema.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { clientFor } from "../../support/dynamodb/emulator.ts";
import { fillOrders } from "../../support/dynamodb/fill.ts";
import { useProxiedEmulator } from "../../support/dynamodb/use-proxied-emulator.ts";

const AT = Date.UTC(2026, 10, 20, 12) + 250;

const dynamodb = useProxiedEmulator();
let store: Store;
let prefix: string;
let cases = 0;

beforeEach(async () => {
  prefix = `calls-${cases++}`;
  await createDynamodbTables({ prefix, client: dynamodb.client });
  store = createDynamodbStore({ prefix, client: dynamodb.client });
  dynamodb.proxy.takeOperations();
});

/** Runs `work` and returns its result, and the requests that it sent. */
async function measure<T>(work: () => Promise<T>) {
  dynamodb.proxy.takeOperations();
  const result = await work();
  return { result, calls: dynamodb.proxy.takeOperations() };
}

const cost = async (work: () => Promise<unknown>) => (await measure(work)).calls;

/** The read or write units since the last call. */
const takeTotal = () => dynamodb.proxy.takeUnits().reduce((sum, units) => sum + units, 0);

/** The tables with orders that are not changed. */
function useFilled(prefix: string, count: number, orderAt: (index: number) => StoredOrder) {
  beforeAll(async () => {
    await createDynamodbTables({ prefix, client: dynamodb.client });
    await fillOrders(dynamodb.client, prefix, count, orderAt);
  });
  beforeEach(() => {
    store = createDynamodbStore({ prefix, client: dynamodb.client });
  });
}

test("what warms up is one read of each table", async () => {
  const cold = createDynamodbStore({ prefix, client: dynamodb.client });
  expect(await cost(() => cold.warmUp())).toEqual(["GetItem", "GetItem"]);
});

test("an admission is one write unit for an account with 20 keys, and so is each write of a rejection", async () => {
  const keys = Array.from({ length: 20 }, (_, index) => ({
    ...{ id: keyIdOf("full", hashKey(`${index}`)), hash: hashKey(`${index}`) },
    ...{ createdAt: AT, expiresAt: AT + 400 * DAY_MS + index },
  }));
  const customLimits = { perMinute: 2, perDay: 100 };
  await store.accounts.create({ id: "full", plan: "enterprise", customLimits, keys });
  const admitFull = () => store.accounts.admit({ accountId: "full", hash: hashKey("7") }, AT);
  dynamodb.proxy.takeUnits();
  expect(await cost(admitFull)).toHaveLength(2);
  expect(dynamodb.proxy.takeUnits()).toEqual([1, 1]);
  expect(await cost(admitFull)).toHaveLength(1);
  expect(dynamodb.proxy.takeUnits()).toEqual([1]);
  dynamodb.proxy.takeUnits();
  for (let request = 0; request < 21; request++) expect((await admitFull()).ok).toBe(false);
  expect(new Set(dynamodb.proxy.takeUnits())).toEqual(new Set([1]));
});

describe("requests for an order", () => {
  test("a cancel is one request, whatever its outcome", async () => {
    await store.orders.place([
      { record: { id: 1n }, status: "pending" },
      { record: { id: 2n }, status: "shipped" },
    ]);
    for (const id of [1n, 1n, 2n, 3n])
      expect(await cost(() => store.orders.apply(id, "cancel", AT))).toEqual(["UpdateItem"]);
  });

  test("orders with the same identifier in one call are one request, so that the first of them is placed", async () => {
    const order = { record: { id: 1n }, status: "pending" } as const;
    await store.orders.place([{ record: { id: 0n }, status: "pending" }]);
    const other = { ...order, status: "shipped" } as const;
    const { result, calls } = await measure(() => store.orders.place([order, other, order]));
    expect(result).toEqual(["placed", "conflict", "unchanged"]);
    expect(calls).toEqual(["PutItem"]);
  });

  test("placing an order is one request, and shipping it is two, because its wire form must be read", async () => {
    const order = { record: { id: 1n }, status: "pending" } as const;
    // The process asks once a second whether there is an outbox.
    await store.orders.place([{ record: { id: 0n }, status: "pending" }]);
    expect(await cost(() => store.orders.place([order]))).toEqual(["PutItem"]);
    expect(await cost(() => store.orders.apply(1n, "ship", AT))).toEqual(["GetItem", "UpdateItem"]);
  });
});

test("each change by an operator is the requests that the documentation states", async () => {
  const accounts = createAccounts({ store: store.accounts, environment: "live", clock: () => AT });
  expect(await cost(() => store.accounts.recordEnvironment("live"))).toEqual(["PutItem"]);
  // Once an engine has returned an item with a failed condition, it need not be read.
  await store.accounts.recordEnvironment("live");
  // The details come first: they have no effect until the admission item names them.
  const details = ["UpdateItem", "PutItem", "UpdateItem"];
  const create = () => accounts.create("acme", { plan: "free" });
  expect(await cost(create)).toEqual(["GetItem", ...details, "PutItem"]);
  const change = ["GetItem", "GetItem", "UpdateItem", "UpdateItem"];
  const { result, calls } = await measure(() => accounts.issueKey("acme"));
  expect(calls).toEqual(["GetItem", ...change]);
  const issued = result as IssuedKey;
  const key = { accountId: "acme", hash: hashKey(issued.key) };
  const changePlan = () =>
    store.accounts.update("acme", (account) => ({ ok: true, account: { ...account, plan: "pro" } }));
  expect(await cost(changePlan)).toEqual(["GetItem", "GetItem", "UpdateItem"]);
  expect(await cost(() => store.accounts.recordRejections(key, 1, AT))).toEqual(["GetItem", "UpdateItem"]);
  const unban = () => store.accounts.unban("acme", issued.keyId);
  expect(await cost(unban)).toEqual(["GetItem", "UpdateItem"]);
  expect(await cost(unban)).toEqual(["GetItem"]);
  expect(await cost(() => store.accounts.resetUsage("acme"))).toEqual(["UpdateItem", "BatchGetItem"]);
  expect(await cost(() => accounts.revokeKey(issued.keyId))).toEqual(change);
  const deleted = ["BatchGetItem", "DeleteItem", "DeleteItem", "GetItem"];
  expect(await cost(() => accounts.delete("acme"))).toEqual(deleted);
  // The first import also writes that there are imported keys.
  for (const name of ["other", "third"]) {
    await accounts.create(name, { plan: "free" });
    const hash = hashKey(name);
    const imported = ["BatchGetItem", "PutItem", "PutItem", ...change, "GetItem"];
    expect(await cost(() => accounts.importKey(name, { hash }))).toEqual(imported);
    const find = () => store.accounts.importedKeys?.findAccount(hash) ?? expect.fail();
    expect(await cost(find)).toEqual(["GetItem"]);
  }
  expect(await cost(() => accounts.delete("third"))).toEqual([...deleted, "GetItem", "DeleteItem"]);
});

describe("requests to list a table of one page", () => {
  const orderAt = (index: number): StoredOrder => ({
    record: { id: 250n - BigInt(index) },
    status: "pending",
  });
  const listed = async (from: Store) => (await collect(from.orders.list())).map(({ json }) => json).join(",");

  test("a list of 500 orders is one request, also the first one of a process, and one of 501 is not", async () => {
    await fillOrders(dynamodb.client, prefix, 500, orderAt);
    // The settings of the outbox are one more item.
    const settings = {
      TableName: `${prefix}-orders`,
      Item: { ...ORDERS_SETTINGS_KEY, outbox: { BOOL: false } },
    };
    await dynamodb.client.send(new PutItemCommand(settings));
    store = createDynamodbStore({ prefix, client: dynamodb.client });
    const expected = Array.from({ length: 500 }, (_, index) =>
      orderToJson({ id: BigInt(index) - 249n }),
    ).join(",");
    expect(await cost(async () => expect(await listed(store)).toBe(expected))).toEqual(["Scan"]);
    dynamodb.proxy.takeUnits();
    expect(await cost(() => listed(store))).toEqual(["Scan"]);
    // About 50 bytes an order, and 4 KB a unit.
    expect(dynamodb.proxy.takeUnits()[0]).toBeLessThanOrEqual(Math.ceil((500 * 60) / 4_096));

    await store.orders.place([{ record: { id: 251n }, status: "pending" }]);
    const longer = `${expected},${orderToJson({ id: 251n })}`;
    const calls = await cost(async () => expect(await listed(store)).toBe(longer));
    expect(calls.toSorted()).toEqual([...Array(BUCKETS).fill("Query"), "Scan"]);
    expect(await cost(() => listed(store))).toEqual(Array(BUCKETS).fill("Query"));
  });
});

describe("a list of a longer table", () => {
  const count = 2_100;
  /** All in two buckets, which then have three pages. */
  const ids = Array.from({ length: 10 * count }, (_, index) => BigInt(index) - 10_000n)
    .filter((id) => bucketOf(id) < 2)
    .slice(0, count);
  const orderAt = (index: number): StoredOrder => ({
    record: { id: ids[index] ?? 0n, quantity: 1 },
    status: "pending",
  });
  useFilled("calls-longer", count, orderAt);
  // The first list of a process finds that the table has more than one page.
  beforeEach(async () => void (await collect(store.orders.list())));
  afterEach(() => {
    dynamodb.proxy.chooseFault = () => "pass";
  });

  test("a list reads each page of each bucket once", async () => {
    const { result: pages, calls } = await measure(() => collect(store.orders.list()));
    expect(calls).toEqual(Array(BUCKETS + 2 * 2).fill("Query"));
    const expected = Array.from({ length: count }, (_, index) => orderToJson(orderAt(index).record));
    expect(pages.map(({ json }) => json).join(",")).toBe(expected.join(","));
  });

  test("pages are read on demand, at most one ahead in each bucket, until the consumer stops", async () => {
    const pages = store.orders.list()[Symbol.asyncIterator]();
    const calls: string[] = [];
    dynamodb.proxy.takeOperations();
    /** Waits until the proxy has got what was sent before. */
    const settle = async () => {
      await store.orders.find(0n);
      calls.push(...dynamodb.proxy.takeOperations().filter((operation) => operation === "Query"));
    };
    await pages.next();
    await vi.waitUntil(async () => {
      await settle();
      return calls.length >= BUCKETS + 2;
    });
    await settle();
    await pages.return?.();
    await settle();
    expect(calls).toHaveLength(BUCKETS + 2);
  });

  test("a list fails as unavailable after a request that gets no response in the time of a call, and waits for its consumer as long as that takes", async () => {
    const slow = store.orders.list()[Symbol.asyncIterator]();
    await slow.next();
    dynamodb.proxy.chooseFault = ({ operation }) => (operation === "Query" ? "hang" : "pass");
    const { setTimeout: start } = globalThis;
    const timers = vi
      .spyOn(globalThis, "setTimeout")
      .mockImplementation(((run: () => void, ms: number) =>
        start(run, ms === CALL_TIMEOUT_MS ? 400 : ms)) as typeof setTimeout);
    await expect(collect(store.orders.list())).rejects.toMatchObject({ code: "store_unavailable" });
    expect(timers).toHaveBeenCalledWith(expect.any(Function), CALL_TIMEOUT_MS);
    timers.mockRestore();
    dynamodb.proxy.chooseFault = () => "pass";
    const rest = await collect({ [Symbol.asyncIterator]: () => slow });
    expect(rest.at(-1)).toMatchObject({ last: true });
    expect(rest).toHaveLength(4);
  });
});

describe("requests for pages of orders", () => {
  const count = 2_500;
  const prefix = "calls-pages";
  // Identifiers without a pattern, so that buckets differ. One order in 250 is cancelled.
  const orderAt = (index: number): StoredOrder => ({
    record: { id: BigInt(`0x${hashKey(`${index}`).slice(0, 15)}`), quantity: index },
    status: index % 250 === 0 ? "cancelled" : "pending",
  });
  const ids = Array.from({ length: count }, (_, index) => orderAt(index).record.id).sort((a, b) =>
    a < b ? -1 : 1,
  );
  useFilled(prefix, count, orderAt);
  beforeEach(async () => {
    await store.orders.find(0n);
    dynamodb.proxy.takeUnits();
  });

  test("a page of 50 orders is complete after one read of each bucket, in both directions, and states its cost", async () => {
    for (const order of ["asc", "desc"] as const) {
      const sorted = order === "asc" ? ids : ids.toReversed();
      const query = { limit: 50, order, after: sorted[99] };
      const { result: page, calls } = await measure(() => store.orders.page(query));
      expect(calls).toEqual(Array(BUCKETS).fill("Query"));
      expect(page.orders.map(({ record }) => record.id)).toEqual(sorted.slice(100, 150));
      expect(page.next).toBe(sorted[149]);
      // Less than 4 KB of each bucket.
      expect(dynamodb.proxy.takeUnits()).toEqual(Array(BUCKETS).fill(1));
      expect(page.readUnits).toBe(BUCKETS);
    }
  });

  test("a walk over all orders costs less than twice as much as the list", async () => {
    const found: bigint[] = [];
    let walk = 0;
    for (let after: bigint | undefined, more = true; more; more = after !== undefined) {
      const { orders, next, readUnits = 0 } = await store.orders.page({ after, limit: MAX_PAGE_ORDERS });
      found.push(...orders.map(({ record }) => record.id));
      walk += readUnits;
      after = next;
    }
    expect(found).toEqual(ids);
    dynamodb.proxy.takeUnits();
    await collect(store.orders.list());
    expect(walk).toBeLessThan(2 * takeTotal());
  });

  test("a page of a rare status reads each bucket up to four times, and leads on", async () => {
    const found: StoredOrder[] = [];
    let pages = 0;
    for (let after: bigint | undefined, more = true; more; more = after !== undefined) {
      const query = { after, limit: 5, status: "cancelled" } as const;
      const { result: page, calls }: Awaited<ReturnType<typeof measure<OrderQueryPage>>> = await measure(() =>
        store.orders.page(query),
      );
      expect(calls.length).toBeLessThanOrEqual(4 * BUCKETS);
      expect(page.readUnits).toBe(takeTotal());
      expect(page.readUnits).toBeLessThanOrEqual(4 * BUCKETS);
      found.push(...page.orders);
      after = page.next;
      pages++;
    }
    expect(found.map(({ record }) => record.id)).toEqual(
      ids.filter((id) => found.some(({ record }) => record.id === id)),
    );
    expect(found).toHaveLength(count / 250);
    expect(found.every(({ status }) => status === "cancelled")).toBe(true);
    // With one read of each bucket per page it would be over 100.
    expect(pages).toBeGreaterThan(2);
    expect(pages).toBeLessThan(10);
  });

  test("at most 32 pages are read at once, and others wait for these", async () => {
    const client = clientFor(dynamodb.proxy.endpoint);
    const reading = { now: 0, most: 0 };
    client.middlewareStack.add(
      (next) => async (request) => {
        reading.most = Math.max(reading.most, ++reading.now);
        return next(request).finally(() => reading.now--);
      },
      { step: "initialize" },
    );
    const { orders } = createDynamodbStore({ prefix, client });
    await orders.find(0n);
    for (let time = 0; time < 2; time++) {
      reading.most = 0;
      dynamodb.proxy.takeOperations();
      const counts = await Promise.all([1, 2, 3].map(() => orders.countByStatus()));
      expect(counts).toMatchObject(Array(3).fill({ pending: 2_490, shipped: 0, cancelled: 10 }));
      expect(reading).toEqual({ now: 0, most: 32 });
      expect(dynamodb.proxy.takeOperations()).toEqual(Array(3 * BUCKETS).fill("Query"));
    }
    client.destroy();
  });
});

test("a check is one write to each table that is never done", async () => {
  await store.accounts.recordEnvironment("live");
  // Once an engine has returned an item with a failed condition, it need not be read.
  for (let call = 0; call < 2; call++) await store.orders.place([{ record: { id: 1n }, status: "pending" }]);
  const calls = await cost(() => store.check());
  expect(calls.toSorted()).toEqual(["UpdateItem", "UpdateItem"]);
  expect(await store.accounts.recordEnvironment("test")).toBe("live");
  dynamodb.proxy.chooseFault = ({ operation }) => (operation === "UpdateItem" ? "deny" : "pass");
  await expect(store.check()).rejects.toMatchObject({ code: "store_unavailable" });
  dynamodb.proxy.chooseFault = () => "pass";
});
