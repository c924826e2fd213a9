import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import {
  type AttributeValue,
  DeleteItemCommand,
  PutItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { beforeAll, expect, test } from "vitest";
import { createAccounts } from "../../lib/accounts/accounts.ts";
import type { OrderStatus } from "../../lib/orders/lifecycle.ts";
import { PLAN_LIMITS } from "../../lib/plans/plan-limits.ts";
import { checkDatabase, type Inspection } from "../../lib/stores/check.ts";
import { createDynamodbStore, createDynamodbTables } from "../../lib/stores/dynamodb/index.ts";
import { inspectDynamodb } from "../../lib/stores/dynamodb/inspect.ts";
import { bucketOf } from "../../lib/stores/dynamodb/schema.ts";
import { createPostgresStore } from "../../lib/stores/postgres/index.ts";
import { inspectPostgres } from "../../lib/stores/postgres/inspect.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { inspectSqlite } from "../../lib/stores/sqlite/inspect.ts";
import { switchTriggers } from "../../lib/stores/sqlite/outbox.ts";
import type { Store } from "../../lib/stores/store.ts";
import { clientFor } from "../support/dynamodb/emulator.ts";
import { useEmulator } from "../support/dynamodb/use-emulator.ts";
import { type Pglite, startPglite } from "./postgres/pglite.ts";
import { openFiles, temporaryDirectory } from "./sqlite/fixture.ts";

const AT = Date.UTC(2026, 10, 20, 12);
/** More than a page of each store on SQL. */
const ORDERS = 1_200;

/** The findings as lines, sorted, and the counts. */
async function findings(inspection: Inspection) {
  const found: string[] = [];
  const { newest: _, ...counts } = await checkDatabase(inspection, {
    ...{ at: AT, plans: PLAN_LIMITS, update: () => {} },
    report: ({ subject, problem, repair }) => {
      expect(repair).toMatch(/\.$|[)]$/);
      found.push(`${subject}: ${problem}`);
    },
  });
  await inspection.close();
  return { found: found.sort(), ...counts };
}

/** Orders of every status and identifier, and accounts with keys in every state. */
async function fill(store: Store, orders = ORDERS): Promise<void> {
  const others = Array.from({ length: orders - 2 }, (_, index) => BigInt(index));
  const ids = [-(2n ** 63n), 2n ** 63n - 1n, ...others];
  const statuses: readonly OrderStatus[] = ["pending", "shipped", "cancelled"];
  await store.orders.place(
    ids.map((id, index) => ({ record: { id, quantity: 2 }, status: statuses[index % 3] ?? "pending" })),
  );
  await store.orders.apply(1n, "cancel", AT);
  for (const event of ["ship", "fulfil"] as const) await store.orders.apply(4n, event, AT);
  const accounts = createAccounts({ store: store.accounts, environment: "test", clock: () => AT });
  await store.accounts.recordEnvironment("test");
  for (const id of ["acme", "beta"]) await accounts.create(id, { plan: "free" });
  await accounts.create("big", { plan: "enterprise", customLimits: { perMinute: 5, perDay: 9 } });
  for (const id of ["acme", "beta", "big"]) {
    const keys = [await accounts.issueKey(id), await accounts.issueKey(id, { expiresAt: AT + 1 })];
    const [first] = keys;
    if (first?.ok !== true) throw new Error("no key");
    await accounts.rotateKey(first.keyId, { overlapMs: 0 });
    const [key] = (await store.accounts.find(id))?.keys ?? [];
    const hash = (await store.accounts.find(id))?.keys.at(-1)?.hash ?? "";
    for (let call = 0; call < 8; call++) await store.accounts.admit({ accountId: id, hash }, AT);
    await store.accounts.recordRejections({ accountId: id, hash }, 25, AT);
    await accounts.revokeKey(key?.id ?? "");
  }
}

/** A copy of a healthy SQLite database, which SQL has changed by hand. */
function changedCopy(change: (db: DatabaseSync) => void): string {
  const copy = newPath();
  cpSync(small, copy);
  const db = new DatabaseSync(copy, { enableForeignKeyConstraints: false });
  change(db);
  db.close();
  return copy;
}

const HEALTHY = { found: [], orders: ORDERS, accounts: 3, findings: 0 };
const FEW = 60;

const emulator = useEmulator();
const { newPath } = temporaryDirectory();
const [path, small] = [newPath(), newPath()];
let pglite: Pglite;

beforeAll(async () => {
  for (const file of [path, small]) {
    const store = createSqliteStore({ path: file });
    await fill(store, file === small ? FEW : ORDERS);
    await store.close();
  }
  pglite = await startPglite();
  await fill(createPostgresStore({ pool: pglite.pool }));
  await createDynamodbTables({ prefix: "check", client: emulator.client });
  await fill(createDynamodbStore({ prefix: "check", client: emulator.client }), FEW);
});

/** Mistakes in the tables of both SQL stores: one for each column. `check-findings.test.ts` has what can be wrong with it. */
const SQL_MISTAKES = [
  ["UPDATE orders SET status = 'lost' WHERE id = 0", /^order 0: The status 'lost'/],
  ["UPDATE orders SET record = '{\"id\":1' WHERE id = 1", /^order 1: The record cannot be read/],
  ["UPDATE orders SET status = 'cancelled' WHERE id = 4", /^order 4: The status is 'cancelled', to which no/],
  ["UPDATE accounts SET per_day = NULL WHERE id = 'big'", /^account big: It has only one/],
  ["UPDATE accounts SET plan = 'gold' WHERE id = 'acme'", /^account acme: The plan 'gold'/],
  ["UPDATE accounts SET minute_count = -1 WHERE id = 'acme'", /^account acme: The window of its minute, -1/],
  ["UPDATE accounts SET day_count = 1 WHERE id = 'big'", /^account big: It has 5 requests in a minute/],
  ["UPDATE accounts SET day_start = day_start + 1 WHERE id = 'acme'", /^account acme: The window of its day/],
  ["UPDATE api_keys SET hash = 'x' WHERE position = 1 AND account = 'beta'", /^key beta\..*hash/],
  [
    "UPDATE api_keys SET rejections_start = rejections_start + 1 WHERE account = 'big' AND rejections_start > 0",
    /^key big.*rejections or its ban are imp/,
  ],
  ["UPDATE api_keys SET id = 'other.1' WHERE position = 2 AND account = 'beta'", /^key other\.1: /],
  [
    "UPDATE api_keys SET banned_until = 9e14 WHERE account = 'beta' AND banned_until > 0",
    /^key beta.*ban are imp/,
  ],
] as const;

test("a healthy database has no findings, in every store", async () => {
  expect(await findings(inspectSqlite(path))).toEqual(HEALTHY);
  expect(await findings(inspectPostgres(pglite.pool))).toEqual(HEALTHY);
  const dynamodb = inspectDynamodb({ prefix: "check" }, emulator.client);
  expect(await findings(dynamodb)).toEqual({ ...HEALTHY, orders: FEW });
});

test("each mistake in a SQLite database is found alone, as are rows without their account", async () => {
  const mistakes = [
    ...SQL_MISTAKES,
    [
      "UPDATE accounts SET minute_start = 9223372036854775807 WHERE id = 'acme'",
      /^account acme: The window of its minute/,
    ],
    [
      "UPDATE api_keys SET account = 'gone' WHERE account = 'beta' AND position = 0",
      /^table api_keys: A row belongs to a row of accounts that does not exist\.$/,
    ],
    [
      "INSERT INTO outbox (id, delivered, since) VALUES (-5, 0, 0)",
      /^table outbox: A row \(-5\) belongs to a row of orders that does not exist\.$/,
    ],
  ] as const;
  for (const [sql, expected] of mistakes) {
    const copy = changedCopy((db) => expect(db.prepare(sql).run().changes, sql).toBeGreaterThan(0));
    const { found } = await findings(inspectSqlite(copy));
    expect(found.join("\n"), sql).toMatch(new RegExp(expected, "m"));
    expect(found.length, found.join("\n")).toBeLessThanOrEqual(2);
  }
});

test("a table of somebody else is checked too, and hinders nothing whatever its name is or what it needs", async () => {
  const copy = changedCopy((db) => {
    db.function("shout", { deterministic: true }, (text) => `${text}!`);
    db.exec(`CREATE TABLE "a""b'c;" (id INTEGER REFERENCES orders (id)); INSERT INTO "a""b'c;" VALUES (-5);
    CREATE TABLE parents (name TEXT); CREATE TABLE children (name TEXT REFERENCES parents (name));
    INSERT INTO children VALUES ('x'); CREATE TABLE "7" (id); CREATE VIRTUAL TABLE texts USING fts5 (text);
    CREATE TABLE shouts (text); CREATE INDEX shouted ON shouts (shout(text)); INSERT INTO shouts VALUES ('a')`);
  });
  expect(await findings(inspectSqlite(copy))).toEqual({
    ...HEALTHY,
    ...{
      orders: FEW,
      findings: 1,
      found: [`table a"b'c;: A row (1) belongs to a row of orders that does not exist.`],
    },
  });
});

test.each([
  ["DROP TABLE outbox", ["table outbox: It is missing."]],
  ["DROP INDEX api_keys_of_account", ["index api_keys_of_account: It is missing."]],
  ["DROP TRIGGER outbox_changed", ["trigger outbox_changed: It is missing."]],
  ["DROP TRIGGER outbox_placed; DROP TRIGGER outbox_changed", []],
  [
    "DROP TRIGGER outbox_placed; DROP TRIGGER outbox_changed; CREATE TRIGGER toString DELETE ON settings BEGIN SELECT 1; END",
    [],
  ],
  ["ALTER TABLE orders ADD COLUMN note TEXT", []],
])("a SQLite file with its outbox on has these findings after '%s'", async (sql, found) => {
  const copy = changedCopy((db) => {
    switchTriggers(db, true);
    db.exec(sql);
  });
  expect(await findings(inspectSqlite(copy))).toMatchObject({ found });
});

test("a damaged table of a SQLite file is named, and no row is read", async () => {
  // Leaves no copies of changed rows.
  const copy = changedCopy((db) => db.exec("VACUUM"));
  const bytes = readFileSync(copy);
  // The identifier of a key is in its row and in an index. Now they disagree.
  bytes.write("X", bytes.lastIndexOf("acme."));
  writeFileSync(copy, bytes);
  const damaged: unknown[] = [];
  const inspection = inspectSqlite(copy);
  expect(await inspection.inspect((...finding) => damaged.push(finding))).toBe(false);
  expect(openFiles()).toEqual(process.platform === "linux" ? expect.arrayContaining([copy]) : []);
  await inspection.close();
  expect(openFiles()).not.toContain(copy);
  expect(damaged[0]).toEqual([
    "table api_keys",
    expect.stringMatching(/^It is damaged: .*index/),
    "Restore a backup, and import what was exported since. See lib/stores/sqlite/README.md#restore.",
  ]);
  expect(await findings(inspectSqlite(copy))).toMatchObject({ orders: 0, accounts: 0 });
});

test("the account with the least identifier is read too", async () => {
  const first = newPath();
  const store = createSqliteStore({ path: first });
  await store.accounts.create({ id: "0", plan: "free", keys: [] });
  await store.close();
  expect(await findings(inspectSqlite(first))).toEqual({ found: [], orders: 0, accounts: 1, findings: 0 });
});

test("a damaged SQLite file is a finding, and its rows are not read", async () => {
  // The first page is the header, the second one the root of the orders.
  for (const offset of [0, 4096]) {
    const copy = newPath();
    const bytes = readFileSync(path);
    bytes.fill(0xff, offset, offset + 3_000);
    writeFileSync(copy, bytes);
    const { found, orders } = await findings(inspectSqlite(copy));
    expect(found.join("\n")).toMatch(/damaged: /);
    expect(orders).toBe(0);
  }
});

test("each mistake in a PostgreSQL database is found", async () => {
  await pglite.database.exec("SET search_path = store_orders");
  // The mistakes stay, and are found beside each other.
  for (const [sql] of SQL_MISTAKES) await pglite.database.exec(sql);
  const { found } = await findings(inspectPostgres(pglite.pool));
  for (const [sql, expected] of SQL_MISTAKES)
    expect(found.join("\n"), sql).toMatch(new RegExp(expected, "m"));
});

test("each mistake in DynamoDB tables is found: wrong buckets, items that disagree, a missing item, settings", async () => {
  const { client } = emulator;
  const [orders, accounts] = ["check-orders", "check-accounts"];
  const order = (bucket: string, id: string) => ({ bucket: { N: bucket }, id: { N: id } });
  const Item = { ...order("3", "0"), status: { S: "lost" }, wire: { S: '{"id":0}' } };
  await client.send(new PutItemCommand({ TableName: orders, Item }));
  await client.send(
    new UpdateItemCommand({
      ...{ TableName: orders, Key: order(`${bucketOf(1n)}`, "1") },
      ...{ UpdateExpression: "SET #status = :status", ExpressionAttributeNames: { "#status": "status" } },
      ExpressionAttributeValues: { ":status": { S: "shipped" } },
    }),
  );
  const set = (id: string, expression: string, values: Record<string, AttributeValue>) =>
    client.send(
      new UpdateItemCommand({
        ...{ TableName: accounts, Key: { id: { S: id } } },
        ...(expression.includes("#") ? { ExpressionAttributeNames: { "#keys": "keys" } } : {}),
        ...{ UpdateExpression: `SET ${expression}`, ExpressionAttributeValues: values },
      }),
    );
  await client.send(new DeleteItemCommand({ TableName: accounts, Key: { id: { S: "acme/keys" } } }));
  await set("beta", "dayCount = :one, #keys = :none", { ":one": { N: "1" }, ":none": { M: {} } });
  await client.send(new DeleteItemCommand({ TableName: accounts, Key: { id: { S: "big" } } }));
  await set("/settings", "layout = :zero", { ":zero": { N: "0" } });
  const { found } = await findings(inspectDynamodb({ prefix: "check" }, client));
  const expected = [
    /^account acme: Its details item lacks/,
    /^account beta: It has 8 requests/,
    /^account beta: Its two items disagree/,
    /^account big: It has details of keys, but/,
    /^order 0: It is in bucket 3, .* its bucket is 0/,
    /^order 0: The status 'lost'/,
    /^order 1: The status is 'shipped', to which no/,
    /^table accounts: Its item \/settings/,
  ];
  expect(found).toEqual(expected.map((line) => expect.stringMatching(line)));
});

test("an account that is deleted while it is checked is reported once, as one to check again", async () => {
  const { client, endpoint } = emulator;
  await createDynamodbTables({ prefix: "deleted", client });
  const accounts = createDynamodbStore({ prefix: "deleted", client }).accounts;
  await accounts.create({ id: "acme", plan: "free", keys: [] });
  const checking = clientFor(endpoint);
  checking.middlewareStack.add(
    (next, { commandName }) =>
      async (request) => {
        if (commandName === "BatchGetItemCommand") await accounts.delete("acme");
        return next(request);
      },
    { step: "initialize" },
  );
  const { found } = await findings(inspectDynamodb({ prefix: "deleted" }, checking));
  checking.destroy();
  expect(found.filter((line) => line.startsWith("account"))).toEqual([
    "account acme: It has details of keys, but does not exist. It may have been created just now.",
  ]);
});
