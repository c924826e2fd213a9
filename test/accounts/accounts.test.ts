import { expect, test } from "vitest";
import { createAccounts, type IssuedKey, type KeyResult } from "../../lib/accounts/accounts.ts";
import { parseKey } from "../../lib/accounts/hash-key.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

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

function issued(result: KeyResult): IssuedKey {
  return result.ok ? result : expect.fail(result.code);
}

test.each(["", "Shop", "-shop", "a_b", "ü", "a".repeat(33), "a/b", "__proto__"])(
  "%j is rejected as an account identifier",
  async (id) => {
    const { accounts, store } = await open();
    await expect(accounts.create(id, { plan: "free" })).rejects.toThrow(
      "accountId: Use 1 to 32 lower-case letters",
    );
    expect(await store.find(id)).toBeUndefined();
  },
);

test("a key can have a name that is safe to show, and never contains a key", async () => {
  const { accounts, store } = await open();
  const { key } = issued(await accounts.issueKey("shop", { name: "checkout, live \u{1f6d2}" }));
  issued(await accounts.issueKey("shop", { name: "é".repeat(64) }));
  const names = ["", "a".repeat(65), " a", "a ", "a\nb", "a\u202eb", "\ud800", `old ${key}`, 7, null];
  for (const name of names as string[])
    await expect(accounts.issueKey("shop", { name }), `${name}`).rejects.toThrow(
      "name: Use 1 to 64 characters",
    );
  const account = (await store.find("shop")) ?? expect.fail();
  expect(account.keys.map(({ name }) => name)).toEqual(["checkout, live \u{1f6d2}", "é".repeat(64)]);
});

test("an account that changes its plan keeps its keys, and has the limits of the new plan only", async () => {
  const { accounts, store, use } = await open();
  const key = issued(await accounts.issueKey("shop"));
  const limits = { perMinute: 2, perDay: 3 };
  await accounts.setPlan("shop", { plan: "enterprise", customLimits: limits });
  expect(await store.find("shop")).toMatchObject({ plan: "enterprise", customLimits: limits });
  expect([await use(key), await use(key), await use(key)]).toEqual([
    "admitted",
    "admitted",
    "rate_limit_exceeded",
  ]);
  await accounts.setPlan("shop", { plan: "free" });
  const account = (await store.find("shop")) ?? expect.fail();
  expect([account.plan, account.customLimits, account.keys.length]).toEqual(["free", undefined, 1]);
  expect(await use(key)).toBe("admitted");
  expect(await accounts.setPlan("nobody", { plan: "free" })).toMatchObject({ ok: false });
});

test("a ban is lifted from the key that is named, and nothing else is", async () => {
  const { accounts, store, use } = await open();
  const key = issued(await accounts.issueKey("shop"));
  await store.recordRejections(parseKey(key.key) ?? expect.fail(), 25, START);
  expect(await use(key)).toBe("api_key_banned");
  expect(await accounts.unbanKey("nobody.1")).toEqual({ ok: false, code: "account_not_found" });
  expect(await accounts.unbanKey("shop.none")).toEqual({ ok: false, code: "key_not_found" });
  expect(await use(key)).toBe("api_key_banned");
  expect(await accounts.unbanKey(key.keyId)).toMatchObject({ ok: true, account: { id: "shop" } });
  expect(await use(key)).toBe("admitted");
});

test("an account that is deleted is gone with its keys", async () => {
  const { accounts, store, use } = await open();
  const key = issued(await accounts.issueKey("shop"));
  expect(await accounts.delete("shop")).toMatchObject({ ok: true });
  expect(await use(key)).toBe("unknown_key");
  expect(await store.find("shop")).toBeUndefined();
  expect(await accounts.delete("shop")).toMatchObject({ ok: false, code: "account_not_found" });
});

test("an enterprise account needs custom limits that one database item can sustain", async () => {
  const { accounts } = await open();
  const create = (customLimits?: { perMinute: number; perDay: number }) =>
    accounts.create("big", { plan: "enterprise", ...(customLimits === undefined ? {} : { customLimits }) });
  await expect(create()).rejects.toThrow(
    "An account with the enterprise plan needs its limits per minute and per day.",
  );
  await expect(create({ perMinute: 60_001, perDay: 1 })).rejects.toThrow("perMinute: Give at most 60000");
  await expect(create({ perMinute: 0, perDay: 1 })).rejects.toThrow(
    "perMinute: Give a whole number of at least 1.",
  );
  await expect(create({ perMinute: 1, perDay: 1.5 })).rejects.toThrow(
    "perDay: Give a whole number of at least 1.",
  );
  expect(await create({ perMinute: 60_000, perDay: 10 ** 9 })).toMatchObject({
    ok: true,
    account: { id: "big" },
  });
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

test("a key is returned once, when it is issued, and only its hash is stored", async () => {
  const { accounts, store } = await open();
  const { key, keyId, accountId, expiresAt } = issued(await accounts.issueKey("shop"));
  expect([accountId, expiresAt]).toEqual(["shop", undefined]);
  const kept = JSON.stringify(await store.find("shop"));
  expect(kept).toContain(keyId);
  expect(kept).toContain(parseKey(key)?.hash);
  expect(kept).not.toContain(key.slice(-38, -6));
});

test("a key without an expiry or a name has no such field, neither where it is issued nor in the store", async () => {
  const { accounts, store } = await open();
  expect(Object.keys(await accounts.issueKey("shop"))).toEqual(["ok", "accountId", "keyId", "key"]);
  const [key = {}] = (await store.find("shop"))?.keys ?? [];
  expect(Object.keys(key).sort()).toEqual(["createdAt", "hash", "id"]);
});

test("a rotation issues a successor and keeps the old key active for the overlap", async () => {
  const { accounts, use, tick } = await open();
  const old = issued(await accounts.issueKey("shop"));
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
  expect((await store.find("shop"))?.keys.map(({ expiresAt }) => expiresAt)).toEqual([
    START + HOUR,
    START + HOUR,
  ]);
});

test("a rotation without overlap deactivates the old key at once", async () => {
  const { accounts, use } = await open();
  const old = issued(await accounts.issueKey("shop"));
  issued(await accounts.rotateKey(old.keyId, { overlapMs: 0 }));
  expect(await use(old)).toBe("expired");
});

test("a revoked key is rejected at the next request and cannot be rotated", async () => {
  const { accounts, use } = await open();
  const key = issued(await accounts.issueKey("shop"));
  expect(await use(key)).toBe("admitted");
  await accounts.revokeKey(key.keyId);
  expect(await use(key)).toBe("unknown_key");
  expect(await accounts.rotateKey(key.keyId, { overlapMs: HOUR })).toEqual({
    ok: false,
    code: "key_not_active",
  });
});

test("an account has at most 20 active keys, and the oldest inactive keys are deleted", async () => {
  const { accounts, store } = await open();
  const keys: IssuedKey[] = [];
  for (let count = 0; count < 20; count++) keys.push(issued(await accounts.issueKey("shop")));
  expect(await accounts.issueKey("shop")).toEqual({ ok: false, code: "too_many_keys" });
  expect(await accounts.rotateKey(keys[0]?.keyId ?? "", { overlapMs: HOUR })).toEqual({
    ok: false,
    code: "too_many_keys",
  });
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

test("a key cannot be issued with an expiry in the past", async () => {
  const { accounts } = await open();
  await expect(accounts.issueKey("shop", { expiresAt: START })).rejects.toThrow(
    "expiresAt: Give a time in the future.",
  );
  await expect(accounts.issueKey("shop", { expiresAt: Number.NaN })).rejects.toThrow("future");
});

test("operations on a missing account or key fail with account_not_found or key_not_found", async () => {
  const { accounts } = await open();
  expect(await accounts.create("shop", { plan: "pro" })).toEqual({ ok: false, code: "account_exists" });
  expect(await accounts.setPlan("nobody", { plan: "pro" })).toEqual({ ok: false, code: "account_not_found" });
  expect(await accounts.resetUsage("nobody")).toEqual({ ok: false, code: "account_not_found" });
  expect(await accounts.issueKey("nobody")).toEqual({ ok: false, code: "account_not_found" });
  for (const id of ["shop.nothing", "nobody.1", "garbage", ""]) {
    const failure = { ok: false, code: id.startsWith("shop.") ? "key_not_found" : "account_not_found" };
    expect(await accounts.revokeKey(id)).toEqual(failure);
    expect(await accounts.rotateKey(id, { overlapMs: 0 })).toEqual(failure);
    expect(await accounts.unbanKey(id)).toEqual(failure);
  }
});

test("no key is issued for another environment than that of the store's first key", async () => {
  const store = createMemoryStore().accounts;
  const [test, live] = (["test", "live"] as const).map((environment) =>
    createAccounts({ store, environment }),
  );
  await test?.create("acme", { plan: "free" });
  const issued = await test?.issueKey("acme");
  const keyId = issued?.ok === true ? issued.keyId : "";
  const before = await store.find("acme");
  const error = "environment: The keys of this store are for 'test', so none can be issued for 'live'.";
  await expect(live?.issueKey("acme")).rejects.toThrow(error);
  await expect(live?.rotateKey(keyId, { overlapMs: 0 })).rejects.toThrow(error);
  expect(await store.find("acme")).toEqual(before);
  expect(await live?.revokeKey(keyId)).toMatchObject({ ok: true });
});

test("plans of a service's own that are invalid are rejected before any account has one", () => {
  const { accounts: store } = createMemoryStore();
  const plans = { gold: { perMinute: 0, perDay: 1 } };
  expect(() => createAccounts({ store, environment: "test", plans })).toThrow(
    "plans.gold.perMinute: Give a whole number of at least 1.",
  );
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
