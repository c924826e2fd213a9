import { DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import { beforeEach, expect, test } from "vitest";
import { type Accounts, createAccounts, type IssuedKey } from "../../../lib/accounts/accounts.ts";
import { hashKey } from "../../../lib/accounts/hash-key.ts";
import { DAY_MS } from "../../../lib/plans/windows.ts";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import { createAccountStore, detailsIdOf } from "../../../lib/stores/dynamodb/accounts.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { createTableClient, type Item, type TableClient } from "../../../lib/stores/dynamodb/table.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { useEmulator } from "../../support/dynamodb/use-emulator.ts";

const AT = Date.UTC(2026, 10, 20, 12, 34, 56, 789);

const emulator = useEmulator();
let store: Store;
let accounts: Accounts;
let prefix: string;
let cases = 0;

beforeEach(async () => {
  prefix = `lost-${cases++}`;
  await createDynamodbTables({ prefix, client: emulator.client });
  store = createDynamodbStore({ prefix, client: emulator.client });
  accounts = createAccounts({ store: store.accounts, environment: "live", clock: () => AT });
  await accounts.create("acme", { plan: "free" });
});

async function issue(expiresAt?: number): Promise<IssuedKey> {
  return (await accounts.issueKey("acme", expiresAt === undefined ? {} : { expiresAt })) as IssuedKey;
}

async function loseDetails(): Promise<void> {
  const Key = { id: { S: detailsIdOf("acme") } };
  await emulator.client.send(new DeleteItemCommand({ TableName: `${prefix}-accounts`, Key }));
}

test("an account whose details item is lost is admitted, and an error to operators", async () => {
  const { accountId, key, keyId } = await issue(AT + DAY_MS);
  await loseDetails();
  const admission = await store.accounts.admit({ accountId, hash: hashKey(key) }, AT);
  expect(admission).toMatchObject({ ok: true, caller: { keyId } });
  await expect(store.accounts.find("acme")).rejects.toThrow(
    "Account acme keeps changing, or its details are",
  );
});

test("an account whose keys change while accounts are listed is listed with its keys", async () => {
  await issue();
  const table = createTableClient(emulator.client, `${prefix}-accounts`);
  const contended: TableClient = {
    ...table,
    async read(range, keep, signal) {
      const { kept: before, ...page } = await table.read(range, (items) => items, signal);
      for (let change = 0; change < 2; change++) await issue();
      const details = await table.get({ id: { S: detailsIdOf("acme") } }, signal);
      const isDetails = ({ id }: Item) => id?.S === detailsIdOf("acme");
      return { ...page, kept: keep(before.map((item) => (isDetails(item) && details) || item)) };
    },
  };
  const [listed, ...others] = await collect(createAccountStore(contended, contended).list());
  expect(others).toEqual([]);
  expect(listed).toEqual(await store.accounts.find("acme"));
  expect(listed?.keys.map(({ createdAt }) => createdAt)).toEqual([AT, AT, AT]);
});

test("an account whose keys change between the reads of its two items is found with its keys", async () => {
  const table = createTableClient(emulator.client, `${prefix}-accounts`);
  let changes = 0;
  const contended: TableClient = {
    ...table,
    async getAll(keys, signal) {
      const before = await table.getAll(keys, signal);
      if (changes++ < 3) await issue(AT + DAY_MS);
      const after = await table.getAll(keys, signal);
      const isDetails = ({ id }: Item) => id?.S === detailsIdOf("acme");
      return [...before.filter(isDetails), ...after.filter((item) => !isDetails(item))];
    },
  };
  const found = await createAccountStore(contended, contended).find("acme");
  expect(found?.keys.map(({ createdAt }) => createdAt)).toEqual([AT, AT, AT]);
});

test("a change never takes the details for lost, although other processes change the keys between its two reads again and again", async () => {
  const first = await issue(AT + DAY_MS);
  await accounts.revokeKey(first.keyId);
  const table = createTableClient(emulator.client, `${prefix}-accounts`);
  let reads = 0;
  const contended: TableClient = {
    ...table,
    async get(key, signal) {
      const item = await table.get(key, signal);
      const isDetails = key["id"]?.S === detailsIdOf("acme");
      if (isDetails && reads++ < 6) await issue();
      return item;
    },
  };
  const slow = createAccounts({
    store: createAccountStore(contended, contended),
    environment: "live",
    clock: () => AT,
  });
  expect(await slow.issueKey("acme")).toMatchObject({ ok: true });
  const keys = (await store.accounts.find("acme"))?.keys ?? [];
  expect(keys).toHaveLength(8);
  expect(keys[0]).toMatchObject({ id: first.keyId, createdAt: AT, revokedAt: AT });
});
