import { GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { beforeEach, describe, expect, test } from "vitest";
import { type Accounts, createAccounts, type IssuedKey } from "../../../lib/accounts/accounts.ts";
import { keyIdOf } from "../../../lib/accounts/api-key.ts";
import { hashKey } from "../../../lib/accounts/hash-key.ts";
import { DAY_MS, MINUTE_MS } from "../../../lib/plans/windows.ts";
import { detailsIdOf } from "../../../lib/stores/dynamodb/accounts.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import type { Item } from "../../../lib/stores/dynamodb/table.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { itemSize } from "../../support/dynamodb/item-size.ts";
import { useProxiedEmulator } from "../../support/dynamodb/use-proxied-emulator.ts";

const AT = Date.UTC(2026, 10, 20, 12, 34, 56, 789);
/** The longest identifier, and the longest numbers: this account is as large as an account can be. */
const ACCOUNT = "a".repeat(32);
const LARGEST = {
  plan: "enterprise",
  customLimits: { perMinute: 59_999, perDay: 9_007_199_254_740_991 },
} as const;

const dynamodb = useProxiedEmulator();
let store: Store;
let accounts: Accounts;
let prefix: string;
let now: number;
let cases = 0;

beforeEach(async () => {
  dynamodb.proxy.chooseFault = () => "pass";
  prefix = `items-${cases++}`;
  now = AT;
  await createDynamodbTables({ prefix, client: dynamodb.client });
  store = createDynamodbStore({ prefix, client: dynamodb.client });
  accounts = createAccounts({ store: store.accounts, environment: "live", clock: () => now });
});

async function read(id: string): Promise<Item> {
  const command = new GetItemCommand({ TableName: `${prefix}-accounts`, Key: { id: { S: id } } });
  return (await dynamodb.client.send(command)).Item ?? {};
}

async function issue(accountId = ACCOUNT, expiresAt?: number): Promise<IssuedKey> {
  const issued = await accounts.issueKey(accountId, expiresAt === undefined ? {} : { expiresAt });
  if (!issued.ok) throw new Error(issued.code);
  return issued;
}

async function outcome({ accountId, key }: Pick<IssuedKey, "accountId" | "key">, at = now): Promise<string> {
  const admission = await store.accounts.admit({ accountId, hash: hashKey(key) }, at);
  if (admission.ok) return `admitted ${admission.caller.keyId}`;
  return admission.code === "invalid_api_key" ? admission.reason : admission.code;
}

describe("the item that admission writes", () => {
  test("the item that admission writes stays below 1 KB with 20 keys that expire, rejections and bans of all keys, and the tokens of writes", async () => {
    await accounts.create(ACCOUNT, LARGEST);
    const keys: IssuedKey[] = [];
    for (let key = 0; key < 20; key++) keys.push(await issue(ACCOUNT, AT + 400 * DAY_MS + key));
    const hashes = keys.map(({ key }) => ({ accountId: ACCOUNT, hash: hashKey(key) }));
    const issued = itemSize(await read(ACCOUNT));
    expect(await outcome(keys[19] as IssuedKey)).toBe(`admitted ${keys[19]?.keyId}`);
    for (const hash of hashes) await store.accounts.recordRejections(hash, 20, now);
    const rejected = itemSize(await read(ACCOUNT));
    for (const hash of hashes.slice(1)) await store.accounts.recordRejections(hash, 1, now);
    now += 1;
    expect(await outcome(keys[0] as IssuedKey)).toBe(`admitted ${keys[0]?.keyId}`);
    const item = await read(ACCOUNT);
    expect(item["tokens"]?.L?.length).toBeGreaterThan(1);
    const bans = Object.values((await store.accounts.find(ACCOUNT))?.rejections ?? {});
    expect(bans.filter(({ bannedUntil = 0 }) => bannedUntil > now)).toHaveLength(19);
    process.stderr.write(
      `account of 20 keys: ${issued} bytes, rejected ${rejected}, banned ${itemSize(item)}\n`,
    );
    expect(Math.max(issued, rejected, itemSize(item))).toBeLessThan(1_024);
  });

  test("the item that admission writes does not grow with the number of keys that an account has had", async () => {
    await accounts.create("acme", { plan: "free" });
    const sizes: number[] = [];
    for (let key = 0; key < 24; key++) {
      const { keyId } = await issue("acme");
      sizes.push(itemSize(await read("acme")));
      await accounts.revokeKey(keyId);
    }
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThan(8);
    expect((await store.accounts.find("acme"))?.keys).toHaveLength(21);
  });

  test("holds no more than the 20 keys that expire last, so that expired keys leave it", async () => {
    await accounts.create("acme", { plan: "free" });
    const expired: IssuedKey[] = [];
    for (let key = 0; key < 3; key++) expired.push(await issue("acme", now + MINUTE_MS));
    now += MINUTE_MS;
    const active: IssuedKey[] = [];
    for (let key = 0; key < 20; key++) active.push(await issue("acme", now + DAY_MS));
    expect(Object.keys((await read("acme"))["keys"]?.M ?? {})).toHaveLength(20);
    expect(await outcome(expired[0] as IssuedKey)).toBe("unknown_key");
    expect(await outcome(active[0] as IssuedKey)).toBe(`admitted ${active[0]?.keyId}`);
    const known = (await store.accounts.find("acme"))?.keys.map(({ id }) => id);
    expect(known).toEqual([...expired, ...active].map(({ keyId }) => keyId));
  });
});

describe("a change that is interrupted between its two writes", () => {
  /** Lets so many writes of the accounts through, then none: as if the process had been killed. */
  async function interruptAfter(writes: number, change: () => Promise<unknown>): Promise<void> {
    let left = writes;
    dynamodb.proxy.chooseFault = ({ operation }) =>
      /UpdateItem|PutItem/.test(operation) && left-- <= 0 ? "deny" : "pass";
    await expect(change()).rejects.toMatchObject({ code: "store_unavailable" });
    dynamodb.proxy.chooseFault = () => "pass";
  }

  const versions = async () => Object.keys((await read(detailsIdOf("acme")))["versions"]?.M ?? {});

  let first: IssuedKey;
  beforeEach(async () => {
    await accounts.create("acme", { plan: "business" });
    first = await issue("acme");
    await outcome(first);
  });

  test.each([0, 1])(
    "a change that is interrupted between its two writes does not issue a key, if it ends after %i writes, and the next change succeeds",
    async (writes) => {
      const before = await store.accounts.find("acme");
      const item = await read("acme");
      await interruptAfter(writes, () => accounts.issueKey("acme"));
      expect(await store.accounts.find("acme")).toEqual(before);
      expect(await read("acme")).toEqual(item);
      const second = await issue("acme");
      expect((await store.accounts.find("acme"))?.keys.map(({ id }) => id)).toEqual([
        first.keyId,
        second.keyId,
      ]);
      expect(await outcome(second)).toBe(`admitted ${second.keyId}`);
    },
  );

  test.each([0, 1])(
    "a change that is interrupted between its two writes does not revoke a key, if it ends after %i writes, and can be repeated",
    async (writes) => {
      await interruptAfter(writes, () => accounts.revokeKey(first.keyId));
      expect((await store.accounts.find("acme"))?.keys[0]).not.toHaveProperty("revokedAt");
      expect(await outcome(first)).toBe(`admitted ${first.keyId}`);
      await accounts.revokeKey(first.keyId);
      expect((await store.accounts.find("acme"))?.keys).toMatchObject([{ id: first.keyId, revokedAt: AT }]);
      expect(await outcome(first)).toBe("unknown_key");
    },
  );

  test.each([0, 1])(
    "a change that is interrupted between its two writes does not rotate a key, if it ends after %i writes, and can be repeated",
    async (writes) => {
      await interruptAfter(writes, () => accounts.rotateKey(first.keyId, { overlapMs: 1_000 }));
      expect((await store.accounts.find("acme"))?.keys).toMatchObject([{ id: first.keyId }]);
      const successor = await accounts.rotateKey(first.keyId, { overlapMs: 1_000 });
      expect((await store.accounts.find("acme"))?.keys).toMatchObject([
        { id: first.keyId, expiresAt: AT + 1_000, successorId: successor.ok && successor.keyId },
        {},
      ]);
    },
  );

  test("leaves a part that the next change removes", async () => {
    for (let attempt = 0; attempt < 3; attempt++) await interruptAfter(1, () => accounts.issueKey("acme"));
    expect((await versions()).length).toBeGreaterThan(3);
    await issue("acme");
    await issue("acme");
    expect(await versions()).toHaveLength(2);
  });

  test("leaves parts that are removed a hundred at a time: DynamoDB rejects an update with a longer text", async () => {
    const details = await read(detailsIdOf("acme"));
    const known = details["versions"]?.M ?? {};
    const M = { after: { S: "an earlier one" }, keys: { L: [] } };
    const unused = Object.fromEntries(Array.from({ length: 195 }, (_, index) => [`unused${index}`, { M }]));
    const Item = { ...details, versions: { M: { ...known, ...unused } } };
    await dynamodb.client.send(new PutItemCommand({ TableName: `${prefix}-accounts`, Item }));
    await accounts.revokeKey(first.keyId);
    expect((await versions()).length).toBeGreaterThan(95);
    for (let change = 0; change < 2; change++) await issue("acme");
    expect(await versions()).toHaveLength(2);
  });

  test("an account that exists is not created again, which leaves no part", async () => {
    const before = await versions();
    for (let call = 0; call < 3; call++)
      expect(await accounts.create("acme", { plan: "free" })).toEqual({ ok: false, code: "account_exists" });
    expect(await versions()).toEqual(before);
  });

  test("a change that is interrupted between its two writes does not create an account, and creating it again succeeds", async () => {
    await interruptAfter(1, () => accounts.create("other", { plan: "free" }));
    expect(await store.accounts.find("other")).toBeUndefined();
    expect((await accounts.create("other", { plan: "pro" })).ok).toBe(true);
    expect(await store.accounts.find("other")).toMatchObject({ plan: "pro", keys: [] });
  });
});

test("each change of an account succeeds once, although the first response to each of its writes is lost", async () => {
  dynamodb.proxy.chooseFault = ({ operation, attempt }) =>
    /UpdateItem|PutItem/.test(operation) && attempt === 1 ? "lose" : "pass";
  expect(await accounts.create("acme", { plan: "free" })).toMatchObject({ ok: true });
  const first = await issue("acme");
  expect(await accounts.setPlan("acme", { plan: "pro" })).toMatchObject({ ok: true });
  const second = await issue("acme");
  expect(await accounts.revokeKey(first.keyId)).toMatchObject({ ok: true });
  dynamodb.proxy.chooseFault = () => "pass";
  expect(await accounts.create("acme", { plan: "free" })).toMatchObject({ code: "account_exists" });
  const account = await store.accounts.find("acme");
  expect(account).toMatchObject({ plan: "pro", keys: [{ id: first.keyId, revokedAt: AT }, {}] });
  expect(account?.keys.map(({ id }) => id)).toEqual([first.keyId, second.keyId]);
});

test("an account whose deletion fails stays as it was", async () => {
  await accounts.create("acme", { plan: "free" });
  const key = await issue("acme");
  const before = await store.accounts.find("acme");
  dynamodb.proxy.chooseFault = ({ operation }) => (operation === "DeleteItem" ? "deny" : "pass");
  await expect(accounts.delete("acme")).rejects.toMatchObject({ code: "store_unavailable" });
  dynamodb.proxy.chooseFault = () => "pass";
  expect(await store.accounts.find("acme")).toEqual(before);
  expect(await outcome(key)).toBe(`admitted ${key.keyId}`);
});

test("an account cannot take the place of the details of another one", async () => {
  for (const id of ["acme/keys", "/settings", "", "Acme"])
    await expect(store.accounts.create({ id, plan: "free", keys: [] })).rejects.toMatchObject({
      ...{ code: "invalid_input", message: expect.stringContaining("id: Use 1 to 32 lower-case letters") },
    });
  expect(await accounts.create("acme", { plan: "free" })).toMatchObject({ ok: true });
  expect(await outcome(await issue("acme"))).toMatch(/^admitted acme\./);
});

test("keys keep the identifiers that they were stored with, whether these follow from their hashes or not", async () => {
  const hashes = ["3", "1", "2", "5", "4"].map(hashKey);
  const keys = hashes.map((hash, index) => ({
    id: index === 2 ? keyIdOf("acme", hash) : `acme.chosen-${index}`,
    ...{ hash, createdAt: AT },
  }));
  await store.accounts.create({ id: "acme", plan: "free", keys });
  expect((await store.accounts.find("acme"))?.keys).toEqual(keys);
  for (const { id, hash } of keys)
    expect(await store.accounts.admit({ accountId: "acme", hash }, AT)).toMatchObject({
      caller: { keyId: id },
    });
});
