import { GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ApiKey } from "../../../lib/accounts/account.ts";
import { type Accounts, createAccounts, type IssuedKey } from "../../../lib/accounts/accounts.ts";
import { keyIdOf } from "../../../lib/accounts/api-key.ts";
import { hashKey } from "../../../lib/accounts/hash-key.ts";
import { DAY_MS, MINUTE_MS } from "../../../lib/plans/windows.ts";
import { detailsIdOf } from "../../../lib/stores/dynamodb/accounts.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import type { Item } from "../../../lib/stores/dynamodb/table.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { clientFor } from "../../support/dynamodb/emulator.ts";
import { itemSize } from "../../support/dynamodb/item-size.ts";
import { sharedEmulator } from "../../support/dynamodb/use-emulator.ts";
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

const keysOf = (accountId: string, names: readonly string[], times: Partial<ApiKey>): ApiKey[] =>
  names.map((name) => ({
    ...{ id: keyIdOf(accountId, hashKey(name)), hash: hashKey(name), createdAt: AT },
    ...times,
  }));
const named = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${name} ${index}`);

describe("the item that admission writes", () => {
  test("the item that admission writes stays below 1 KB with 20 keys that expire, rejections and bans of all keys, and the tokens of writes", async () => {
    const names = named("key", 20);
    const keys = names.flatMap((name, index) =>
      keysOf(ACCOUNT, [name], { expiresAt: AT + 400 * DAY_MS + index }),
    );
    await store.accounts.create({ id: ACCOUNT, ...LARGEST, keys });
    const presented = names.map((key) => ({ accountId: ACCOUNT, key }));
    const issued = itemSize(await read(ACCOUNT));
    const reject = (hash: string, count: number) =>
      store.accounts.recordRejections({ accountId: ACCOUNT, hash }, count, now);
    expect(await outcome(presented[19] ?? expect.fail())).toBe(`admitted ${keys[19]?.id}`);
    for (const { hash } of keys) await reject(hash, 20);
    const rejected = itemSize(await read(ACCOUNT));
    for (const { hash } of keys.slice(1)) await reject(hash, 1);
    now += 1;
    expect(await outcome(presented[0] ?? expect.fail())).toBe(`admitted ${keys[0]?.id}`);
    const item = await read(ACCOUNT);
    expect(item["tokens"]?.L?.length).toBeGreaterThan(1);
    const bans = Object.values((await store.accounts.find(ACCOUNT))?.rejections ?? {});
    expect(bans.filter(({ bannedUntil = 0 }) => bannedUntil > now)).toHaveLength(19);
    expect(Math.max(issued, rejected, itemSize(item))).toBeLessThan(1_024);
  });

  test("the item that admission writes does not grow with the number of keys that an account has had", async () => {
    const active = keysOf("acme", ["active"], {});
    const revoked = keysOf("acme", named("revoked", 20), { revokedAt: AT });
    await store.accounts.create({ id: "acme", plan: "free", keys: active });
    const before = itemSize(await read("acme"));
    const keys = [...revoked, ...active];
    await store.accounts.update("acme", (account) => ({ ok: true, account: { ...account, keys } }));
    expect(Math.abs(itemSize(await read("acme")) - before)).toBeLessThan(8);
    expect((await store.accounts.find("acme"))?.keys).toHaveLength(21);
  });

  test("holds no more than the 20 keys that expire last, so that expired keys leave it", async () => {
    const expired = keysOf("acme", named("expired", 3), { expiresAt: now + MINUTE_MS });
    const active = keysOf("acme", named("active", 19), { expiresAt: now + DAY_MS });
    await store.accounts.create({ id: "acme", plan: "free", keys: [...expired, ...active] });
    now += MINUTE_MS;
    const last = await issue("acme", now + DAY_MS);
    expect(Object.keys((await read("acme"))["keys"]?.M ?? {})).toHaveLength(20);
    expect(await outcome({ accountId: "acme", key: "expired 0" })).toBe("unknown_key");
    expect(await outcome({ accountId: "acme", key: "active 0" })).toBe(`admitted ${active[0]?.id}`);
    const known = (await store.accounts.find("acme"))?.keys.map(({ id }) => id);
    expect(known).toEqual([...[...expired, ...active].map(({ id }) => id), last.keyId]);
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

  test("a change that is interrupted between its two writes does not issue a key, and the next change succeeds", async () => {
    const before = await store.accounts.find("acme");
    const item = await read("acme");
    await interruptAfter(1, () => accounts.issueKey("acme"));
    expect(await store.accounts.find("acme")).toEqual(before);
    expect(await read("acme")).toEqual(item);
    const second = await issue("acme");
    const keys = (await store.accounts.find("acme"))?.keys.map(({ id }) => id);
    expect(keys).toEqual([first.keyId, second.keyId]);
    expect(await outcome(second)).toBe(`admitted ${second.keyId}`);
  });

  test("a change that is interrupted between its two writes neither revokes nor rotates a key, and can be repeated", async () => {
    await interruptAfter(1, () => accounts.rotateKey(first.keyId, { overlapMs: 1_000 }));
    await interruptAfter(1, () => accounts.revokeKey(first.keyId));
    const [key, ...others] = (await store.accounts.find("acme"))?.keys ?? [];
    expect([key?.id, key?.revokedAt, others]).toEqual([first.keyId, undefined, []]);
    expect(await outcome(first)).toBe(`admitted ${first.keyId}`);
    const successor = await accounts.rotateKey(first.keyId, { overlapMs: 1_000 });
    await accounts.revokeKey(first.keyId);
    const successorId = successor.ok && successor.keyId;
    const revoked = { id: first.keyId, expiresAt: AT + 1_000, revokedAt: AT, successorId };
    expect((await store.accounts.find("acme"))?.keys).toMatchObject([revoked, {}]);
    expect(await outcome(first)).toBe("unknown_key");
  });

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

describe("when the first response to each write is lost", () => {
  /** Another process, which no proxy disturbs. */
  let other: Store;
  let client: ReturnType<typeof clientFor>;
  beforeEach(async () => {
    client = clientFor((await sharedEmulator("all-old")).endpoint);
    other = createDynamodbStore({ prefix, client });
    dynamodb.proxy.chooseFault = ({ operation, attempt }) =>
      /UpdateItem|PutItem/.test(operation) && attempt === 1 ? "lose" : "pass";
  });
  afterEach(() => {
    dynamodb.proxy.beforeLoss = undefined;
    client.destroy();
  });

  test("each change of an account succeeds once, even if another process has changed the account since", async () => {
    expect(await accounts.create("acme", { plan: "free" })).toMatchObject({ ok: true });
    let known = 0;
    dynamodb.proxy.beforeLoss = async () => {
      const { keys = [] } = (await other.accounts.find("acme")) ?? {};
      if (keys.length === known) return;
      known = keys.length;
      await other.accounts.update("acme", (account) => ({ ok: true, account: { ...account, plan: "pro" } }));
    };
    const first = await issue("acme");
    const second = await accounts.rotateKey(first.keyId, { overlapMs: 1_000 });
    expect(await accounts.revokeKey(first.keyId)).toMatchObject({ ok: true });
    expect([second.ok, known]).toEqual([true, 2]);
    expect(await other.accounts.find("acme")).toMatchObject({
      plan: "pro",
      keys: [
        { id: first.keyId, revokedAt: AT, successorId: second.ok && second.keyId },
        { id: second.ok && second.keyId },
      ],
    });
  });

  test("shipping an order succeeds, even if another process has fulfilled it since", async () => {
    await other.orders.place([{ record: { id: 3n }, status: "pending" }]);
    dynamodb.proxy.beforeLoss = () => other.orders.apply(3n, "fulfil", AT);
    const record = { id: 3n, shipDate: new Date(AT).toISOString() };
    const shipped = { record, status: "shipped" };
    expect(await store.orders.apply(3n, "ship", AT)).toEqual({ ok: true, order: shipped });
    const fulfilled = { ...shipped, record: { ...record, complete: true } };
    expect(await other.orders.find(3n)).toMatchObject(fulfilled);
  });
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
