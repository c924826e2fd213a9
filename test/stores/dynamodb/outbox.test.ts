import {
  BatchGetItemCommand,
  type DynamoDBClient,
  PutItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Outbox } from "../../../lib/orders/order-store.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { ORDERS_SETTINGS_KEY, orderKey } from "../../../lib/stores/dynamodb/schema.ts";
import type { Item } from "../../../lib/stores/dynamodb/table.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { useProxiedEmulator } from "../../support/dynamodb/use-proxied-emulator.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const ON = { outbox: { BOOL: true } };
/** One for each bucket. */
const QUERIES = Array(16).fill("Query");
const pending = (id: bigint) => ({ record: { id }, status: "pending" }) as const;

const dynamodb = useProxiedEmulator();
let cases = 0;

interface Opened {
  readonly store: Store;
  readonly outbox: Outbox;
  readonly table: string;
}

/** Opens a store over new tables, with these settings of the outbox; without any if `undefined`. */
async function open(settings: Item | undefined): Promise<Opened> {
  const prefix = `outbox-${cases++}`;
  const table = `${prefix}-orders`;
  const { client } = dynamodb;
  await createDynamodbTables({ prefix, client });
  const Item = { ...ORDERS_SETTINGS_KEY, ...settings };
  if (settings !== undefined) await client.send(new PutItemCommand({ TableName: table, Item }));
  return { table, ...openAgain(client, table) };
}

function openAgain(client: DynamoDBClient, table: string): Omit<Opened, "table"> {
  const store = createDynamodbStore({ prefix: table.replace("-orders", ""), client });
  return { store, outbox: store.outbox ?? expect.fail() };
}

// A process asks once a second whether there is an outbox: the second does not end while requests are counted.
beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** The requests to each table since the test began. */
let requests: Map<string, string[]>;
beforeEach(() => {
  requests = new Map();
  dynamodb.proxy.chooseFault = ({ operation, table }) => {
    requests.set(table, [...(requests.get(table) ?? []), operation]);
    return "pass";
  };
});

async function cost(table: string, work: () => Promise<unknown>): Promise<readonly string[]> {
  requests.delete(table);
  await work();
  return requests.get(table) ?? [];
}

test("a lease is one request while nothing waits, otherwise one for each bucket and each leased order besides", async () => {
  const { table, store, outbox } = await open(ON);
  const lease = (limit: number) => cost(table, () => outbox.lease(limit, AT, -1));
  expect(await lease(9)).toEqual(["Scan"]);
  await store.orders.place(Array.from({ length: 9 }, (_, index) => pending(BigInt(index))));
  expect(await lease(1)).toEqual(["Scan", ...QUERIES, "UpdateItem"]);
  expect(await lease(2)).toEqual(["Scan", ...QUERIES, "UpdateItem", "UpdateItem"]);
});

test("a look at what is held is one request while nothing waits, otherwise two for each bucket, and one for each release", async () => {
  const { table, store, outbox } = await open(ON);
  const held = () => cost(table, () => outbox.held(AT, 9));
  expect(await held()).toEqual(["Scan"]);
  await store.orders.place([pending(1n), pending(2n)]);
  await outbox.lease(1, Date.now(), -1);
  expect(await held()).toEqual(["Scan", ...QUERIES, ...QUERIES]);
  const released = await outbox.held(AT, 9);
  expect(released).toMatchObject([{ hold: -1 }]);
  expect(await cost(table, () => outbox.release(released))).toEqual(["UpdateItem"]);
});

test("an order that is delivered while it is listed makes room for the next one", async () => {
  const { table, store, outbox } = await open(ON);
  for (const id of [1n, 2n, 3n]) await store.orders.place([pending(id)], AT + Number(id));
  const send = async (command: BatchGetItemCommand, options: object) => {
    if (command instanceof BatchGetItemCommand)
      await outbox.acknowledge([{ id: 1n, delivered: 1, lease: -1 }]);
    return dynamodb.client.send(command, options);
  };
  const slow = openAgain({ send } as unknown as DynamoDBClient, table);
  expect((await slow.outbox.list("waiting", 1)).map(({ id }) => id)).toEqual([2n]);
  expect((await slow.outbox.list("waiting", 10)).map(({ id }) => id)).toEqual([2n, 3n]);
  const [leased] = await outbox.lease(1, AT, -1);
  await outbox.postpone(leased?.id ?? 0n, -1, undefined);
  expect((await outbox.list("waiting", 1)).map(({ id }) => id)).toEqual([3n]);
  expect((await outbox.list("failed", 1)).map(({ id }) => id)).toEqual([2n]);
});

test("a switch writes what is not set yet, and waits for every process unless it is set already", async () => {
  const switches = [
    { settings: ON, on: true, expected: { sent: ["PutItem"], waited: false } },
    { settings: {}, on: false, expected: { sent: ["PutItem"], waited: false } },
    {
      settings: { outbox: { BOOL: false } },
      on: true,
      expected: { sent: ["PutItem", "UpdateItem"], waited: true },
    },
    { settings: {}, on: true, expected: { sent: ["PutItem", "UpdateItem"], waited: true } },
    { settings: ON, on: false, expected: { sent: ["PutItem", "UpdateItem"], waited: true } },
    { settings: undefined, on: true, expected: { sent: ["PutItem"], waited: true } },
  ];
  const opened = await Promise.all(switches.map(({ settings }) => open(settings)));
  requests.clear();
  const began = Date.now();
  const results = await Promise.all(
    switches.map(async ({ on }, index) => {
      const { outbox, table } = opened[index] ?? expect.fail();
      await outbox.switch(on);
      const waited = Date.now() - began >= 4_900;
      return { sent: requests.get(table), waited, isOn: await outbox.isOn() };
    }),
  );
  expect(results).toEqual(switches.map(({ on, expected }) => ({ ...expected, isOn: on })));
});

test("a process that could not read a setting reads it at its next call, and not once more", async () => {
  const { table, store, outbox } = await open(ON);
  const { chooseFault } = dynamodb.proxy;
  const place = (id: bigint) => store.orders.place([pending(id)]);
  dynamodb.proxy.chooseFault = ({ operation }) => (operation === "GetItem" ? "deny" : "pass");
  await expect(place(1n)).rejects.toMatchObject({ code: "store_unavailable" });
  dynamodb.proxy.chooseFault = chooseFault;
  await place(1n);
  expect(await outbox.backlog()).toMatchObject({ waiting: 1 });
  expect(await cost(table, () => store.orders.find(1n))).toEqual(["GetItem"]);
  expect(await cost(table, () => place(2n))).toEqual(["PutItem"]);
});

test("a change of an order whose history has been removed is delivered as the first one", async () => {
  const { store, outbox, table } = await open(ON);
  await store.orders.place([pending(7n)], AT);
  await dynamodb.client.send(
    new UpdateItemCommand({ TableName: table, Key: orderKey(7n), UpdateExpression: "REMOVE p, u, o, d, a" }),
  );
  expect(await store.orders.apply(7n, "cancel", AT)).toMatchObject({ ok: true });
  expect(await outbox.lease(1, AT, -1)).toMatchObject([
    { id: 7n, delivered: 0, order: { history: [{ event: "cancel" }] } },
  ]);
});
