import { setTimeout as sleep } from "node:timers/promises";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ApiKey } from "../../../lib/accounts/account.ts";
import type { StoredOrder } from "../../../lib/orders/lifecycle.ts";
import type { OrderPage } from "../../../lib/orders/order-store.ts";
import { toWire } from "../../../lib/orders/wire.ts";
import { MINUTE_MS } from "../../../lib/plans/windows.ts";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { clientFor, type Emulator, startEmulator } from "../../support/dynamodb/emulator.ts";
import { fillOrders } from "../../support/dynamodb/fill.ts";
import { tapWire, type Wire } from "../../support/dynamodb/wire.ts";

const AT = Date.UTC(2026, 10, 20, 12) + 250;
const KEY: ApiKey = { id: "shop.first", hash: "1".repeat(64), createdAt: AT };
const BUCKETS = 2;

let emulator: Emulator;
let wire: Wire;
let client: DynamoDBClient;
let store: Store;
let prefix: string;
let cases = 0;

beforeAll(async () => {
  emulator = await startEmulator("all-old");
  wire = await tapWire(emulator.endpoint);
  client = clientFor(wire.endpoint);
});
afterAll(async () => {
  client.destroy();
  await wire.close();
  await emulator.stop();
});
beforeEach(async () => {
  prefix = `calls-${cases++}`;
  await createDynamodbTables({ prefix, client, buckets: BUCKETS });
  store = createDynamodbStore({ prefix, client });
  // The number of buckets is read once in the life of a process.
  await store.orders.find(0n);
  wire.calls();
});

/** The calls that something costs. */
async function cost(work: () => Promise<unknown>): Promise<readonly string[]> {
  wire.calls();
  await work();
  return wire.calls();
}

describe("calls to admit a request", () => {
  const admit = (at = AT) => store.accounts.admit({ accountId: "shop", hash: KEY.hash }, at);
  beforeEach(async () => {
    await store.accounts.create({
      id: "shop",
      plan: "enterprise",
      customLimits: { perMinute: 2, perDay: 100 },
      keys: [KEY],
    });
  });

  test("are two where a window rolled, and one in the steady state", async () => {
    expect(await cost(admit)).toEqual(["UpdateItem", "UpdateItem"]);
    expect(await cost(admit)).toEqual(["UpdateItem"]);
    expect(await cost(() => admit(AT + MINUTE_MS))).toEqual(["UpdateItem", "UpdateItem"]);
    expect(await cost(() => admit(AT + MINUTE_MS + 1))).toEqual(["UpdateItem"]);
  });

  test("are two where it is refused, the refusal that brings the ban included, and one while banned", async () => {
    await admit();
    await admit();
    for (let refusal = 1; refusal <= 21; refusal++) {
      expect(await cost(admit)).toEqual(["UpdateItem", "UpdateItem"]);
    }
    expect((await store.accounts.find("shop"))?.rejections[KEY.id]?.bannedUntil).toBeGreaterThan(AT);
    expect(await cost(admit)).toEqual(["UpdateItem"]);
  });

  test("are one where the key is not known", async () => {
    const unknown = { accountId: "shop", hash: "2".repeat(64) };
    expect(await cost(() => store.accounts.admit(unknown, AT))).toEqual(["UpdateItem"]);
  });
});

describe("calls for an order", () => {
  test("are one to cancel it, whatever comes of it: with its admission two in all", async () => {
    await store.orders.place([
      { record: { id: 1n }, status: "pending" },
      { record: { id: 2n }, status: "shipped" },
    ]);
    expect(await cost(() => store.orders.apply(1n, "cancel", AT))).toEqual(["UpdateItem"]);
    expect(await cost(() => store.orders.apply(1n, "cancel", AT))).toEqual(["UpdateItem"]);
    expect(await cost(() => store.orders.apply(2n, "cancel", AT))).toEqual(["UpdateItem"]);
    expect(await cost(() => store.orders.apply(3n, "cancel", AT))).toEqual(["UpdateItem"]);
  });

  test("are two to ship it, since its wire form changes, and one to place it", async () => {
    const order = { record: { id: 1n }, status: "pending" } as const;
    expect(await cost(() => store.orders.place([order]))).toEqual(["PutItem"]);
    expect(await cost(() => store.orders.apply(1n, "ship", AT))).toEqual(["GetItem", "UpdateItem"]);
  });
});

describe("calls to list orders", () => {
  const count = 3_600;
  const orderAt = (index: number): StoredOrder => ({
    record: { id: BigInt(index) - 1_800n, quantity: 1 },
    status: "pending",
  });
  beforeEach(() => fillOrders(client, { prefix, buckets: BUCKETS }, count, orderAt));

  test("are the pages of the buckets and nothing else", async () => {
    let pages: readonly OrderPage[] = [];
    const calls = await cost(async () => {
      pages = await collect(store.orders.list());
    });
    expect(new Set(calls)).toEqual(new Set(["Query"]));
    expect(calls).toHaveLength(BUCKETS * 4);
    const whole = Array.from({ length: count }, (_, index) => toWire(orderAt(index).record));
    expect(pages.map(({ json: rows }) => rows).join(",")).toBe(whole.join(","));
  });

  test("are made as pages are asked for, one ahead in each bucket, and end with the reader", async () => {
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
