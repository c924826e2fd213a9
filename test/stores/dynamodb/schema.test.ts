import {
  type AttributeValue,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { createAccounts, type IssuedKey } from "../../../lib/accounts/accounts.ts";
import { hashKey } from "../../../lib/accounts/hash-key.ts";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import {
  createDynamodbStore,
  createDynamodbTables,
  deleteDynamodbTables,
} from "../../../lib/stores/dynamodb/index.ts";
import { bucketOf, LAYOUT_VERSION, orderKey, SETTINGS_KEY } from "../../../lib/stores/dynamodb/schema.ts";
import type { Item } from "../../../lib/stores/dynamodb/table.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { clientFor } from "../../support/dynamodb/emulator.ts";
import { useEmulator } from "../../support/dynamodb/use-emulator.ts";

const NEWER = { N: `${LAYOUT_VERSION + 1}` };
const UNAVAILABLE = {
  code: "store_unavailable",
  retryable: false,
  message: expect.stringMatching(/^A newer version of store-orders has changed the table '.*'\. Upgrade/),
  cause: {
    code: "newer_schema",
    message: `The table has layout ${LAYOUT_VERSION + 1}; this version supports up to ${LAYOUT_VERSION}.`,
  },
};

const emulator = useEmulator();
let store: Store;
let prefix: string;
let cases = 0;
let issued: IssuedKey;

beforeEach(async () => {
  prefix = `layout-${cases++}`;
  await createDynamodbTables({ prefix, client: emulator.client });
  store = createDynamodbStore({ prefix, client: emulator.client });
  const accounts = createAccounts({ store: store.accounts, environment: "live" });
  await accounts.create("acme", { plan: "free" });
  issued = (await accounts.issueKey("acme")) as IssuedKey;
  await store.orders.place([1n, 2n].map((id) => ({ record: { id }, status: "pending" })));
});

/** Changes an item as a newer version may do: its attributes have other names. */
async function changeLayout(table: "orders" | "accounts", Key: Item, content: string): Promise<void> {
  const renamed: Record<string, AttributeValue> = { ":layout": NEWER };
  await emulator.client.send(
    new UpdateItemCommand({
      ...{ TableName: `${prefix}-${table}`, Key },
      UpdateExpression: `SET #layout = :layout REMOVE #content`,
      ExpressionAttributeNames: { "#layout": "layout", "#content": content },
      ExpressionAttributeValues: renamed,
    }),
  );
}

describe.each(["keys", "nothing"])(
  "an account in which a newer version has renamed %s while this one serves it",
  (content) => {
    beforeEach(() => changeLayout("accounts", { id: { S: "acme" } }, content));

    test("no call changes or misreads it, and other accounts are served", async () => {
      const { accounts } = store;
      const hash = "1".repeat(64);
      await accounts.create({ id: "other", plan: "free", keys: [{ id: "other.1", hash, createdAt: 0 }] });
      expect(await accounts.admit({ accountId: "other", hash }, Date.now())).toMatchObject({ ok: true });
      const key = { accountId: "acme", hash: hashKey(issued.key) };
      for (const call of [
        () => accounts.admit(key, Date.now()),
        () => accounts.recordRejections(key, 1, Date.now()),
        () => accounts.find("acme"),
        () => accounts.update("acme", (account) => ({ ok: true, account: { ...account, plan: "pro" } })),
        () => accounts.create({ id: "acme", plan: "free", keys: [] }),
        () => accounts.resetUsage("acme"),
        () => accounts.delete("acme"),
        () => accounts.unban("acme", issued.keyId),
        () => collect(accounts.list()),
      ])
        await expect(call()).rejects.toMatchObject(UNAVAILABLE);
    });
  },
);

test("an order that a newer version has changed is neither changed nor misread", async () => {
  await changeLayout("orders", orderKey(1n), "wire");
  const { orders } = store;
  for (const call of [
    () => orders.apply(1n, "cancel", Date.now()),
    () => orders.apply(1n, "ship", Date.now()),
    () => orders.find(1n),
    () => orders.place([{ record: { id: 1n }, status: "pending" }]),
    () => collect(orders.list()),
    () => orders.page({ limit: 10 }),
    () => orders.countByStatus(),
  ])
    await expect(call()).rejects.toMatchObject(UNAVAILABLE);
  expect(await orders.apply(2n, "cancel", Date.now())).toMatchObject({ ok: true });
});

test("a process that meets newer settings is not ready and issues no key, and serves what it knows", async () => {
  await store.check();
  await changeLayout("accounts", SETTINGS_KEY, "environment");
  await expect(store.check()).rejects.toMatchObject(UNAVAILABLE);
  await expect(store.accounts.recordEnvironment("live")).rejects.toMatchObject(UNAVAILABLE);
  const admission = await store.accounts.admit({ accountId: "acme", hash: hashKey(issued.key) }, Date.now());
  expect(admission.ok).toBe(true);
});

test("orders and accounts are stored as earlier versions read them", async () => {
  const buckets = [1n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 1_000n].map(bucketOf);
  expect(buckets).toEqual([9, 6, 14, 8, 0]);
  const read = async (table: "orders" | "accounts", Key: Item) =>
    (await emulator.client.send(new GetItemCommand({ TableName: `${prefix}-${table}`, Key }))).Item;
  const [at, hash] = [1_800_000_000_000, "0123456789abcdef".repeat(4)];
  const origin = { by: "orders import" };
  await store.orders.place([{ record: { id: 7n, petId: 3n }, status: "pending" }], at, origin);
  await store.orders.apply(7n, "ship", at + 1);
  const key = { id: "shop.first", hash, createdAt: at, expiresAt: at + 2, name: "till" };
  const revoked = { id: "shop.old", hash, createdAt: at, revokedAt: at + 1, successorId: key.id };
  await store.accounts.create({
    ...{ id: "shop", plan: "enterprise", customLimits: { perMinute: 5, perDay: 9 } },
    keys: [key, revoked],
  });
  await store.accounts.admit({ accountId: "shop", hash }, at);
  await store.accounts.recordRejections({ accountId: "shop", hash }, 3, at);
  expect(await read("orders", { bucket: { N: "5" }, id: { N: "7" } })).toEqual({
    ...{ bucket: { N: "5" }, id: { N: "7" }, status: { S: "shipped" } },
    wire: { S: '{"id":7,"petId":3,"shipDate":"2027-01-15T08:00:00.001Z"}' },
    p: { S: expect.stringMatching(/^mywpiww0\.[0-9A-Za-z]{10},:import$/) },
    s: { S: expect.stringMatching(/^mywpiww1\.[0-9A-Za-z]{10}$/) },
  });
  const account = (await read("accounts", { id: { S: "shop" } })) ?? {};
  const token = { S: expect.stringMatching(/^[\w-]{6}$/) };
  expect(account).toEqual({
    ...{ id: { S: "shop" }, plan: { S: "enterprise" }, perMinute: { N: "5" }, perDay: { N: "9" } },
    ...{ minute: { N: "1800000000000" }, minuteCount: { N: "1" } },
    ...{ day: { N: "1799971200000" }, dayCount: { N: "1" } },
    ...{ ids: { L: [{ S: ".first" }] }, tokens: { L: expect.arrayContaining([token]) } },
    ...{ keys: { M: { "1UgOzaSPybLSecBAYV39": { N: "18000000000023000000000003" } } } },
    ...{ details: token, revision: token },
  });
  const dates = { createdAt: { N: "1800000000000" } };
  const keys = [
    {
      ...{ id: { S: "shop.first" }, hash: { S: hash }, ...dates, expiresAt: { N: "1800000000002" } },
      name: { S: "till" },
    },
    {
      ...{ id: { S: "shop.old" }, hash: { S: hash }, ...dates, revokedAt: { N: "1800000000001" } },
      successorId: { S: "shop.first" },
    },
  ];
  const version = { M: { after: { S: "" }, keys: { L: keys.map((M) => ({ M })) } } };
  expect(await read("accounts", { id: { S: "shop/keys" } })).toEqual({
    ...{ id: { S: "shop/keys" }, versions: { M: { [account["details"]?.S ?? ""]: version } } },
  });
  expect(await read("accounts", SETTINGS_KEY)).toEqual({
    ...{ id: { S: "/settings" }, environment: { S: "live" }, layout: { N: "1" } },
  });
});

test("tables that exist keep their items when they are created again", async () => {
  await createDynamodbTables({ prefix, client: emulator.client });
  const again = createDynamodbStore({ prefix, client: emulator.client });
  expect(await again.orders.find(2n)).toMatchObject({ status: "pending" });
  expect(await again.accounts.find("acme")).toMatchObject({ plan: "free" });
});

test("an account that a newer version changes while it is deleted stays", async () => {
  const send = async (command: DeleteItemCommand, options: object) => {
    if (command instanceof DeleteItemCommand)
      await changeLayout("accounts", { id: { S: "acme" } }, "nothing");
    return emulator.client.send(command, options);
  };
  const slow = createDynamodbStore({ prefix, client: { send } as unknown as DynamoDBClient });
  await expect(slow.accounts.delete("acme")).rejects.toMatchObject(UNAVAILABLE);
  await expect(store.accounts.find("acme")).rejects.toMatchObject(UNAVAILABLE);
});

test("tables that are deleted are gone, and can be deleted again; with a mistyped option, nothing is", async () => {
  const tables = { prefix, client: emulator.client };
  const mistyped = deleteDynamodbTables({ ...tables, clinet: 1 } as never);
  await expect(mistyped).rejects.toThrow("Did you mean 'client'?");
  await store.orders.find(1n);
  for (let time = 0; time < 2; time++) await deleteDynamodbTables(tables);
  await expect(store.orders.find(1n)).rejects.toThrow(/table '.*' does not exist/);
  const client = clientFor("http://127.0.0.1:1");
  for (const change of [createDynamodbTables, deleteDynamodbTables])
    await expect(change({ prefix, client })).rejects.toThrow("DynamoDB is unreachable or timed out.");
});

test("tables have any names: a restored one beside one of the prefix, or two that share nothing", async () => {
  const { client } = emulator;
  const names = { orders: `${prefix}-orders-restored`, accounts: "people" };
  for (const naming of [{ prefix, tables: { orders: names.orders } }, { tables: names }]) {
    await createDynamodbTables({ ...naming, client });
    const named = createDynamodbStore({ ...naming, client });
    await named.orders.place([{ record: { id: 7n }, status: "pending" }]);
    expect(await named.orders.find(7n)).toMatchObject({ status: "pending" });
    await named.close();
  }
  expect(await store.orders.find(7n)).toBeUndefined();
  const beside = createDynamodbStore({ prefix, tables: { orders: names.orders }, client });
  expect(await beside.accounts.find("acme")).toBeDefined();
  await deleteDynamodbTables({ tables: names, client });
  await expect(beside.orders.find(7n)).rejects.toThrow(/table '.*' does not exist/);
  expect(await store.accounts.find("acme")).toBeDefined();
});

test("tables without a name, or with the same, are an error before the first call", () => {
  const open = (naming: object) => () => createDynamodbStore(naming as { prefix: string });
  expect(open({})).toThrow("tables.orders: Name this table, too, or set the prefix of both.");
  expect(open({ tables: { orders: "a" } })).toThrow("tables.accounts: Name this table, too");
  expect(open({ prefix: "" })).toThrow("tables.orders: Name this table, too");
  expect(open({ tables: { orders: "a", accounts: "a" } })).toThrow("tables: Both tables are named a.");
});

test("a client that is given to the store stays usable when the store is closed", async () => {
  const client = clientFor(emulator.endpoint);
  const destroy = vi.spyOn(client, "destroy");
  await createDynamodbStore({ prefix, client }).close();
  expect(destroy).not.toHaveBeenCalled();
});
