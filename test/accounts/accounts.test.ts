import { expect, test } from "vitest";
import { MAX_OVERLAP_MS } from "../../lib/accounts/account.ts";
import { createAccounts, type IssuedKey, type KeyResult } from "../../lib/accounts/accounts.ts";
import type { Environment } from "../../lib/accounts/api-key.ts";
import { isInvalidInput } from "../../lib/core/errors.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { parseKey } from "../support/parse-key.ts";

const HOUR = 3_600_000;
const START = Date.UTC(2026, 10, 20, 12);

async function open() {
  let now = START;
  const { accounts: store } = createMemoryStore();
  const accounts = createAccounts({ store, environment: "test", clock: () => now });
  await accounts.create("shop", { plan: "free" });
  return {
    store,
    accounts,
    tick: (milliseconds: number) => {
      now += milliseconds;
    },
    use: async ({ key }: IssuedKey) => {
      const admission = await store.admit(parseKey(key) ?? expect.fail("not a key"), now);
      if (admission.ok) return "admitted";
      return admission.code === "invalid_api_key" ? admission.reason : admission.code;
    },
  };
}

const failure = (code: string) => ({ ok: false, code });

function issued(result: KeyResult): IssuedKey {
  return result.ok ? result : expect.fail(result.code);
}

async function openWithKey() {
  const opened = await open();
  return { ...opened, key: issued(await opened.accounts.issueKey("shop")) };
}

test.each(["", "Shop", "-shop", "a_b", "ü", "a".repeat(33), "a/b", "__proto__"])(
  "%j is rejected as an account identifier",
  async (id) => {
    const { accounts, store } = await open();
    const message = "accountId: Use 1 to 32 lower-case letters";
    await expect(accounts.create(id, { plan: "free" })).rejects.toThrow(message);
    expect(await store.find(id)).toBeUndefined();
  },
);

test("a key can have a name that is safe to show, and never contains a key", async () => {
  const { accounts, store } = await open();
  const { key } = issued(await accounts.issueKey("shop", { name: "checkout, live \u{1f6d2}" }));
  issued(await accounts.issueKey("shop", { name: "é".repeat(64) }));
  const names = ["", "a".repeat(65), " a", "a ", "a\nb", "a\u202eb", "\ud800", `old ${key}`];
  const message = "name: Use 1 to 64 characters";
  for (const name of names)
    await expect(accounts.issueKey("shop", { name }), `${name}`).rejects.toThrow(message);
  const account = (await store.find("shop")) ?? expect.fail();
  expect(account.keys.map(({ name }) => name)).toEqual(["checkout, live \u{1f6d2}", "é".repeat(64)]);
});

test("a ban is lifted from the key that is named, and nothing else is", async () => {
  const { accounts, store, use, key } = await openWithKey();
  await store.recordRejections(parseKey(key.key) ?? expect.fail(), 25, START);
  expect(await use(key)).toBe("api_key_banned");
  expect(await accounts.unbanKey("nobody.1")).toEqual(failure("account_not_found"));
  expect(await accounts.unbanKey("shop.none")).toEqual(failure("key_not_found"));
  expect(await use(key)).toBe("api_key_banned");
  expect(await accounts.unbanKey(key.keyId)).toMatchObject({ ok: true, account: { id: "shop" } });
  expect(await use(key)).toBe("admitted");
});

test("an enterprise account needs custom limits that one database item can sustain", async () => {
  const { accounts } = await open();
  const create = (customLimits?: { perMinute: number; perDay: number }) =>
    accounts.create("big", { plan: "enterprise", ...(customLimits === undefined ? {} : { customLimits }) });
  for (const [limits, message] of [
    [undefined, "An account with the enterprise plan needs its limits per minute and per day."],
    [{ perMinute: 60_001, perDay: 1 }, "perMinute: Give at most 60000"],
    [{ perMinute: 0, perDay: 1 }, "perMinute: Give a whole number of at least 1."],
    [{ perMinute: 1, perDay: 1.5 }, "perDay: Give a whole number of at least 1."],
  ] as const)
    await expect(create(limits)).rejects.toThrow(message);
  expect(await create({ perMinute: 60_000, perDay: 10 ** 9 })).toMatchObject({ ok: true });
});

test("an unknown plan, or custom limits for a fixed plan, are rejected", async () => {
  const { accounts } = await open();
  await expect(accounts.setPlan("shop", { plan: "gold" as never })).rejects.toThrow(
    "Choose one of free, pro",
  );
  const customLimits = { perMinute: 1, perDay: 1 };
  await expect(accounts.setPlan("shop", { plan: "pro", customLimits })).rejects.toThrow(
    "Only enterprise has custom limits",
  );
});

test("a key is returned once, and only its hash is stored; without a name or an expiry it has no such field", async () => {
  const { accounts, store } = await open();
  const { key, keyId, ...others } = issued(await accounts.issueKey("shop"));
  expect(Object.keys(others)).toEqual(["ok", "accountId"]);
  const kept = JSON.stringify(await store.find("shop"));
  expect(kept).toContain(keyId);
  expect(kept).toContain(parseKey(key)?.hash);
  expect(kept).not.toContain(key.slice(-38, -6));
  const [stored = {}] = (await store.find("shop"))?.keys ?? [];
  expect(Object.keys(stored).sort()).toEqual(["createdAt", "hash", "id"]);
});

test("a rotation issues a successor and keeps the old key active for the overlap", async () => {
  const { accounts, use, tick, key: old } = await openWithKey();
  const successor = issued(await accounts.rotateKey(old.keyId, { overlapMs: HOUR }));
  expect(successor.expiresAt).toBeUndefined();
  tick(HOUR - 1);
  expect([await use(old), await use(successor)]).toEqual(["admitted", "admitted"]);
  tick(1);
  expect([await use(old), await use(successor)]).toEqual(["expired", "admitted"]);
});

test("a rotation never extends the expiry of a key or of its successor", async () => {
  const { accounts, store } = await open();
  const old = issued(await accounts.issueKey("shop", { expiresAt: START + HOUR }));
  const successor = issued(await accounts.rotateKey(old.keyId, { overlapMs: 24 * HOUR }));
  expect(successor.expiresAt).toBe(START + HOUR);
  const expiries = (await store.find("shop"))?.keys.map(({ expiresAt }) => expiresAt);
  expect(expiries).toEqual([START + HOUR, START + HOUR]);
});

test("a store that cannot import keys is named", async () => {
  const { importKey } = createAccounts({
    store: { ...createMemoryStore().accounts, importedKeys: undefined },
  });
  await expect(importKey("shop", { hash: "" })).rejects.toThrow(
    "store: It cannot import keys: it has no imp",
  );
});

test("a revoked key is rejected at the next request and cannot be rotated", async () => {
  const { accounts, use, key } = await openWithKey();
  expect(await use(key)).toBe("admitted");
  await accounts.revokeKey(key.keyId);
  expect(await use(key)).toBe("unknown_key");
  expect(await accounts.rotateKey(key.keyId, { overlapMs: HOUR })).toEqual(failure("key_not_active"));
});

test("an account has at most 20 active keys, and the oldest revoked keys are deleted", async () => {
  const { accounts, store } = await open();
  const keys: IssuedKey[] = [];
  for (let count = 0; count < 20; count++) keys.push(issued(await accounts.issueKey("shop")));
  const rotation = accounts.rotateKey(keys[0]?.keyId ?? "", { overlapMs: HOUR });
  for (const call of [accounts.issueKey("shop"), rotation])
    expect(await call).toEqual(failure("too_many_keys"));
  for (const { keyId } of keys) {
    await accounts.revokeKey(keyId);
    issued(await accounts.issueKey("shop"));
  }
  const all = (await store.find("shop"))?.keys ?? [];
  expect(all.filter(({ revokedAt }) => revokedAt === undefined)).toHaveLength(20);
  expect(all).toHaveLength(40);
  await accounts.revokeKey(all.at(-1)?.id ?? "");
  issued(await accounts.issueKey("shop"));
  const kept = (await store.find("shop"))?.keys ?? [];
  expect(kept.slice(0, 19)).toEqual(all.slice(1, 20));
  expect(kept).toHaveLength(40);
});

test("a clock that is ahead deletes no key that it takes for expired, and can revoke one", async () => {
  const { accounts, tick, use } = await open();
  const issue = async (options = {}) => issued(await accounts.issueKey("shop", options));
  const keys: IssuedKey[] = [];
  while (keys.length < 20) keys.push(await issue({ expiresAt: START + HOUR }));
  tick(HOUR);
  for (let count = 0; count < 5; count++) await accounts.revokeKey((await issue()).keyId);
  await accounts.revokeKey(keys[0]?.keyId ?? "");
  tick(-HOUR);
  expect(await Promise.all(keys.map(use))).toEqual(["unknown_key", ...Array(19).fill("admitted")]);
});

test.each([
  [START, "Give a time in the future."],
  [Number.NaN, "It is NaN. Use whole milliseconds since 1970"],
  [8.64e15 + 1, ""],
  [Infinity, ""],
  [START + 0.5, ""],
])("a key cannot be issued with the expiry %d", async (expiresAt, message) => {
  const { accounts } = await open();
  await expect(accounts.issueKey("shop", { expiresAt })).rejects.toThrow(`expiresAt: ${message}`);
});

test("operations on a missing account or key fail with account_not_found or key_not_found", async () => {
  const { accounts } = await open();
  expect(await accounts.create("shop", { plan: "pro" })).toEqual(failure("account_exists"));
  expect(await accounts.setPlan("nobody", { plan: "pro" })).toEqual(failure("account_not_found"));
  for (const method of ["resetUsage", "delete", "issueKey"] as const)
    expect(await accounts[method]("nobody"), method).toEqual(failure("account_not_found"));
  for (const id of ["shop.nothing", "nobody.1", "garbage", ""]) {
    const missing = failure(id.startsWith("shop.") ? "key_not_found" : "account_not_found");
    expect(await accounts.revokeKey(id)).toEqual(missing);
    expect(await accounts.rotateKey(id, { overlapMs: 0 })).toEqual(missing);
    expect(await accounts.unbanKey(id)).toEqual(missing);
  }
});

test("a key whose expiry has another name is not issued, and not imported", async () => {
  const { accounts, store } = await open();
  const settings = { name: "checkout", expires: START + 60_000 };
  const message = "expires: There is no option of this name. Did you mean 'expiresAt'?";
  await expect(accounts.issueKey("shop", settings)).rejects.toThrow(message);
  await expect(accounts.importKey("shop", { hash: "0".repeat(64), ...settings })).rejects.toThrow(message);
  expect((await store.find("shop"))?.keys).toEqual([]);
});

test("plans of a service's own that are invalid are rejected before any account has one", () => {
  const { accounts: store } = createMemoryStore();
  const plans = { gold: { perMinute: 0, perDay: 1 } };
  const message = "plans.gold.perMinute: Give a whole number of at least 1.";
  expect(() => createAccounts({ store, environment: "test", plans })).toThrow(message);
});

test("with a clock that returns no instant, no key is issued, rotated or revoked", async () => {
  const { store, accounts } = await open();
  const { keyId } = issued(await accounts.issueKey("shop"));
  const before = await store.find("shop");
  for (const clock of [() => new Date(START) as never, () => Number.NaN, () => START + 0.5]) {
    const broken = createAccounts({ store, environment: "test", clock });
    for (const change of [
      () => broken.issueKey("shop"),
      () => broken.issueKey("shop", { expiresAt: START + HOUR }),
      () => broken.rotateKey(keyId, { overlapMs: HOUR }),
      () => broken.revokeKey(keyId),
    ])
      await expect(change()).rejects.toThrow(/^clock: It is .*whole milliseconds/);
  }
  expect(await store.find("shop")).toEqual(before);
});

test("an overlap is a whole number of milliseconds from 0 to 90 days; any other value changes nothing", async () => {
  const { accounts, store } = await open();
  expect(MAX_OVERLAP_MS).toBe(90 * 24 * HOUR);
  const { keyId } = issued(await accounts.issueKey("shop"));
  const before = await store.find("shop");
  for (const overlapMs of [MAX_OVERLAP_MS + 1, 1e6 * 365 * 24 * HOUR, Infinity, Number.NaN, -1, 0.5]) {
    const error = await accounts.rotateKey(keyId, { overlapMs }).catch((reason: unknown) => reason);
    expect(isInvalidInput(error) && error.message).toBe("overlapMs: Use an overlap from 0 to 90 days.");
  }
  expect(await store.find("shop")).toEqual(before);
  expect(await accounts.rotateKey(keyId, { overlapMs: MAX_OVERLAP_MS })).toMatchObject({ ok: true });
});

test("a key in its overlap cannot be rotated again, and the error names its successor", async () => {
  const { accounts, store, tick, key: old } = await openWithKey();
  const successor = issued(await accounts.rotateKey(old.keyId, { overlapMs: HOUR }));
  tick(HOUR / 2);
  const before = await store.find("shop");
  const conflict = { ok: false, code: "key_already_rotated", successorId: successor.keyId };
  expect(await accounts.rotateKey(old.keyId, { overlapMs: 0 })).toEqual(conflict);
  expect(await store.find("shop")).toEqual(before);
  expect(await accounts.rotateKey(successor.keyId, { overlapMs: 0 })).toMatchObject({ ok: true });
});

test("an environment other than test and live is rejected before the store records it for good", async () => {
  const { accounts: store } = createMemoryStore();
  const production = "production" as Environment;
  expect(() => createAccounts({ store, environment: production })).toThrow("Choose one of test, live.");
  const accounts = createAccounts({ store });
  await accounts.create("acme", { plan: "free" });
  await expect(accounts.issueKey("acme")).rejects.toThrow("environment: Choose test or live");
  expect(await store.findEnvironment()).toBeUndefined();
});

test("the environment of a store is that of the first key that is issued; nothing before it counts, nor a key that is not issued", async () => {
  const { accounts: store } = createMemoryStore();
  const [test, live] = (["test", "live"] as const).map((environment) =>
    createAccounts({ store, environment, clock: () => START }),
  );
  await test?.create("acme", { plan: "free" });
  const imported = await test?.importKey("acme", { hash: "a".repeat(64) });
  expect(imported?.ok).toBe(true);
  expect(await test?.issueKey("nobody")).toEqual(failure("account_not_found"));
  const rotate = () => test?.rotateKey("acme.k123456789", { overlapMs: 0 });
  expect(await rotate()).toMatchObject({ code: "key_not_found" });
  expect(await store.findEnvironment()).toBeUndefined();
  expect(await live?.issueKey("acme")).toMatchObject({ key: expect.stringMatching(/^so_live_acme_/) });
  await expect(test?.issueKey("acme")).rejects.toThrow(
    "environment: The keys of this store are for 'live', since its first one was, so none can be issued for 'test'. " +
      "Set STORE_ORDERS_ENVIRONMENT, in code 'environment', to live, or use another store.",
  );
  await expect(rotate()).rejects.toThrow("environment: The keys");
  expect((await store.find("acme"))?.keys).toHaveLength(2);
  // Keys can still be imported, whatever the environment: they have none.
  expect((await test?.importKey("acme", { hash: "b".repeat(64) }))?.ok).toBe(true);
  const key = expect.stringMatching(/^so_live_/);
  expect(await createAccounts({ store }).issueKey("acme")).toMatchObject({ key });
});
