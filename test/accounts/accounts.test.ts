import { expect, test } from "vitest";
import { createAccounts, type IssuedKey } from "../../lib/accounts/accounts.ts";
import { parseKey } from "../../lib/accounts/api-key.ts";
import type { Refusal } from "../../lib/errors.ts";
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
    tell: async ({ key }: IssuedKey) => {
      const admission = await store.admit(parseKey(key) ?? expect.fail("not a key"), now);
      return admission.outcome === "unknown" ? admission.reason : admission.outcome;
    },
  };
}

function issued(result: IssuedKey | Refusal): IssuedKey {
  return "refused" in result ? expect.fail(result.refused) : result;
}

test.each(["", "Shop", "-shop", "a_b", "ü", "a".repeat(33), "a/b", "__proto__"])(
  "%j is no identifier of an account (decision 8)",
  async (id) => {
    const { accounts, store } = await open();
    await expect(accounts.create(id, { plan: "free" })).rejects.toThrow(
      "account: Use 1 to 32 lower-case letters",
    );
    expect(await store.find(id)).toBeUndefined();
  },
);

test("an enterprise account without limits is refused at creation, and so is one above what an item can take (decision 13)", async () => {
  const { accounts } = await open();
  const create = (customLimits?: { perMinute: number; perDay: number }) =>
    accounts.create("big", { plan: "enterprise", ...(customLimits === undefined ? {} : { customLimits }) });
  await expect(create()).rejects.toThrow("An enterprise account needs its limits per minute and per day.");
  await expect(create({ perMinute: 60_001, perDay: 1 })).rejects.toThrow("perMinute: At most 60000");
  await expect(create({ perMinute: 0, perDay: 1 })).rejects.toThrow(
    "perMinute: Give a whole number of at least 1.",
  );
  await expect(create({ perMinute: 1, perDay: 1.5 })).rejects.toThrow(
    "perDay: Give a whole number of at least 1.",
  );
  expect(await create({ perMinute: 60_000, perDay: 10 ** 9 })).toMatchObject({ id: "big" });
});

test("a plan that is not in the table, or fixed limits that are overridden, are refused", async () => {
  const { accounts } = await open();
  await expect(accounts.setPlan("shop", { plan: "gold" as never })).rejects.toThrow(
    "Choose one of free, pro",
  );
  const customLimits = { perMinute: 1, perDay: 1 };
  await expect(accounts.setPlan("shop", { plan: "pro", customLimits })).rejects.toThrow(
    "only enterprise takes its own",
  );
});

test("a key is told once, at issue; the store has its hash alone (decision 9)", async () => {
  const { accounts, store } = await open();
  const { key, keyId, account, expires } = issued(await accounts.issueKey("shop"));
  expect([account, expires]).toEqual(["shop", null]);
  const kept = JSON.stringify(await store.find("shop"));
  expect(kept).toContain(keyId);
  expect(kept).toContain(parseKey(key)?.hash);
  expect(kept).not.toContain(key.slice(-38, -6));
});

test("a rotation issues a successor and leaves the old key alive for the overlap (decision 9)", async () => {
  const { accounts, tell, tick } = await open();
  const old = issued(await accounts.issueKey("shop"));
  const successor = issued(await accounts.rotateKey(old.keyId, { overlap: HOUR }));
  expect(successor.expires).toBeNull();
  tick(HOUR - 1);
  expect([await tell(old), await tell(successor)]).toEqual(["admitted", "admitted"]);
  tick(1);
  expect([await tell(old), await tell(successor)]).toEqual(["expired", "admitted"]);
});

test("a rotation never widens an expiry, of the old key or of its successor (decision 9)", async () => {
  const { accounts, store } = await open();
  const old = issued(await accounts.issueKey("shop", { expiresAt: START + HOUR }));
  const successor = issued(await accounts.rotateKey(old.keyId, { overlap: 24 * HOUR }));
  expect(successor.expires).toBe(START + HOUR);
  expect((await store.find("shop"))?.keys.map(({ expiresAt }) => expiresAt)).toEqual([
    START + HOUR,
    START + HOUR,
  ]);
});

test("a rotation without overlap ends the old key at once", async () => {
  const { accounts, tell } = await open();
  const old = issued(await accounts.issueKey("shop"));
  issued(await accounts.rotateKey(old.keyId, { overlap: 0 }));
  expect(await tell(old)).toBe("expired");
});

test("a revoked key fails at its very next request, and cannot be rotated back to life (decision 9)", async () => {
  const { accounts, tell } = await open();
  const key = issued(await accounts.issueKey("shop"));
  expect(await tell(key)).toBe("admitted");
  await accounts.revokeKey(key.keyId);
  expect(await tell(key)).toBe("revoked");
  expect(await accounts.rotateKey(key.keyId, { overlap: HOUR })).toEqual({ refused: "key_not_active" });
});

test("an account owns up to 20 living keys; dead ones make room, and the oldest dead ones are forgotten (decision 8)", async () => {
  const { accounts, store } = await open();
  const keys: IssuedKey[] = [];
  for (let count = 0; count < 20; count++) keys.push(issued(await accounts.issueKey("shop")));
  expect(await accounts.issueKey("shop")).toEqual({ refused: "too_many_keys" });
  expect(await accounts.rotateKey(keys[0]?.keyId ?? "", { overlap: HOUR })).toEqual({
    refused: "too_many_keys",
  });
  for (const { keyId } of keys) {
    await accounts.revokeKey(keyId);
    issued(await accounts.issueKey("shop"));
  }
  const all = (await store.find("shop"))?.keys ?? [];
  expect(all.filter(({ revokedAt }) => revokedAt === undefined)).toHaveLength(20);
  expect(all.length).toBeLessThanOrEqual(40);
});

test("a key that expires in the past is refused", async () => {
  const { accounts } = await open();
  await expect(accounts.issueKey("shop", { expiresAt: START })).rejects.toThrow(
    "expires: Give an instant in the future.",
  );
  await expect(accounts.issueKey("shop", { expiresAt: Number.NaN })).rejects.toThrow("future");
});

test("what does not exist is told by its name", async () => {
  const { accounts } = await open();
  expect(await accounts.create("shop", { plan: "pro" })).toEqual({ refused: "account_exists" });
  expect(await accounts.setPlan("nobody", { plan: "pro" })).toEqual({ refused: "account_not_found" });
  expect(await accounts.issueKey("nobody")).toEqual({ refused: "account_not_found" });
  for (const id of ["shop.nothing", "nobody.1", "garbage", ""]) {
    const refused = { refused: id.startsWith("shop.") ? "key_not_found" : "account_not_found" };
    expect(await accounts.revokeKey(id)).toEqual(refused);
    expect(await accounts.rotateKey(id, { overlap: 0 })).toEqual(refused);
    expect(await accounts.unbanKey(id)).toEqual(refused);
  }
});
