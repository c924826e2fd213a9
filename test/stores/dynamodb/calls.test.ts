import { setTimeout as sleep } from "node:timers/promises";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ApiKey } from "../../../lib/accounts/account.ts";
import { withRejectionCache } from "../../../lib/accounts/rejection-cache.ts";
import type { StoredOrder } from "../../../lib/orders/lifecycle.ts";
import type { OrderPage } from "../../../lib/orders/order-store.ts";
import { toWire } from "../../../lib/orders/wire.ts";
import { MINUTE_MS } from "../../../lib/plans/windows.ts";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { clientFor, type Emulator, startEmulator } from "../../support/dynamodb/emulator.ts";
import { fillOrders } from "../../support/dynamodb/fill.ts";
import { type DynamodbProxy, startProxy } from "../../support/dynamodb/proxy.ts";

const AT = Date.UTC(2026, 10, 20, 12) + 250;
const KEY: ApiKey = { id: "acme.first", hash: "1".repeat(64), createdAt: AT };
const BUCKETS = 2;

let emulator: Emulator;
let proxy: DynamodbProxy;
let client: DynamoDBClient;
let store: Store;
let prefix: string;
let cases = 0;

beforeAll(async () => {
  emulator = await startEmulator("all-old");
  proxy = await startProxy(emulator.endpoint);
  client = clientFor(proxy.endpoint);
});
afterAll(async () => {
  client.destroy();
  await proxy.close();
  await emulator.stop();
});
beforeEach(async () => {
  prefix = `calls-${cases++}`;
  await createDynamodbTables({ prefix, client, buckets: BUCKETS });
  store = createDynamodbStore({ prefix, client });
  // The number of buckets is read once per process.
  await store.orders.find(0n);
  proxy.takeOperations();
});

/** Runs `work` and returns the requests that it sent. */
async function cost(work: () => Promise<unknown>): Promise<readonly string[]> {
  proxy.takeOperations();
  await work();
  return proxy.takeOperations();
}

describe("requests to admit a call", () => {
  const admit = (at = AT) => store.accounts.admit({ accountId: "acme", hash: KEY.hash }, at);
  beforeEach(async () => {
    await store.accounts.create({
      id: "acme",
      plan: "enterprise",
      customLimits: { perMinute: 2, perDay: 100 },
      keys: [KEY],
    });
  });

  test("an admission is one request, and two if a window has rolled over", async () => {
    expect(await cost(admit)).toEqual(["UpdateItem", "UpdateItem"]);
    expect(await cost(admit)).toEqual(["UpdateItem"]);
    expect(await cost(() => admit(AT + MINUTE_MS))).toEqual(["UpdateItem", "UpdateItem"]);
    expect(await cost(() => admit(AT + MINUTE_MS + 1))).toEqual(["UpdateItem"]);
  });

  test("a rejection is two requests, also the one that starts the ban, and one request during the ban", async () => {
    await admit();
    await admit();
    for (let rejection = 1; rejection <= 21; rejection++) {
      expect(await cost(admit)).toEqual(["UpdateItem", "UpdateItem"]);
    }
    expect((await store.accounts.find("acme"))?.rejections[KEY.id]?.bannedUntil).toBeGreaterThan(AT);
    expect(await cost(admit)).toEqual(["UpdateItem"]);
  });

  test("an unknown key is one request", async () => {
    const unknown = { accountId: "acme", hash: "2".repeat(64) };
    expect(await cost(() => store.accounts.admit(unknown, AT))).toEqual(["UpdateItem"]);
  });
});

test("300 forged keys of one account are at most one request a second after the first few", async () => {
  await store.accounts.create({ id: "acme", plan: "free", keys: [KEY] });
  const accounts = withRejectionCache(store.accounts);
  const forge = async (at: number) => {
    for (let key = 0; key < 300; key++) {
      const hash = `${key}`.padStart(64, "0");
      expect(await accounts.admit({ accountId: "acme", hash }, at)).toMatchObject({ reason: "unknown_key" });
    }
  };
  expect(await cost(() => forge(AT))).toEqual(["UpdateItem", "UpdateItem", "UpdateItem", "GetItem"]);
  expect(await cost(() => forge(AT + 999))).toEqual([]);
  expect(await cost(() => forge(AT + 1_000))).toEqual(["GetItem"]);
});

describe("requests for an order", () => {
  test("a cancel is one request, whatever its outcome", async () => {
    await store.orders.place([
      { record: { id: 1n }, status: "pending" },
      { record: { id: 2n }, status: "shipped" },
    ]);
    expect(await cost(() => store.orders.apply(1n, "cancel", AT))).toEqual(["UpdateItem"]);
    expect(await cost(() => store.orders.apply(1n, "cancel", AT))).toEqual(["UpdateItem"]);
    expect(await cost(() => store.orders.apply(2n, "cancel", AT))).toEqual(["UpdateItem"]);
    expect(await cost(() => store.orders.apply(3n, "cancel", AT))).toEqual(["UpdateItem"]);
  });

  test("placing an order is one request, and shipping it is two, because its wire form must be read", async () => {
    const order = { record: { id: 1n }, status: "pending" } as const;
    expect(await cost(() => store.orders.place([order]))).toEqual(["PutItem"]);
    expect(await cost(() => store.orders.apply(1n, "ship", AT))).toEqual(["GetItem", "UpdateItem"]);
  });
});

describe("requests to list orders", () => {
  const count = 3_600;
  const orderAt = (index: number): StoredOrder => ({
    record: { id: BigInt(index) - 1_800n, quantity: 1 },
    status: "pending",
  });
  beforeEach(() => fillOrders(client, { prefix, buckets: BUCKETS }, count, orderAt));

  test("a list reads each page of each bucket once", async () => {
    let pages: readonly OrderPage[] = [];
    const calls = await cost(async () => {
      pages = await collect(store.orders.list());
    });
    expect(new Set(calls)).toEqual(new Set(["Query"]));
    expect(calls).toHaveLength(BUCKETS * 4);
    const expected = Array.from({ length: count }, (_, index) => toWire(orderAt(index).record));
    expect(pages.map(({ json }) => json).join(",")).toBe(expected.join(","));
  });

  test("pages are read on demand, at most one ahead in each bucket, until the consumer stops", async () => {
    const pages = store.orders.list()[Symbol.asyncIterator]();
    const calls = await cost(async () => {
      await pages.next();
      await sleep(100);
    });
    expect(calls).toHaveLength(BUCKETS * 2);
    expect(await cost(async () => sleep(50))).toEqual([]);
    expect(
      await cost(async () => {
        await pages.return?.();
        await sleep(100);
      }),
    ).toEqual([]);
  });
});
