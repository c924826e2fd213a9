import { describe, expect, test } from "vitest";
import { type AccountSettings, type ApiKey, addKey, revokeKey } from "../../lib/accounts/account.ts";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import type { Admission } from "../../lib/accounts/admission.ts";
import { withRejectionCache } from "../../lib/accounts/rejection-cache.ts";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

const AT = Date.UTC(2026, 10, 20, 12);

const apiKey = (name: string): ApiKey => ({
  id: `acme.${name}`,
  hash: name.padStart(64, "0"),
  createdAt: AT,
});
const [FIRST, NEW] = [apiKey("first"), apiKey("new")];
const validity = (admission: Admission) =>
  admission.ok || admission.code !== "invalid_api_key" ? "valid" : admission.reason;

/** A cache over a store that counts its calls, after 10 forged keys at `AT`. */
async function createFloodFixture() {
  const { accounts } = createMemoryStore();
  await accounts.create({ id: "acme", plan: "pro", keys: [FIRST] });
  let calls = 0;
  let isDown = false;
  const call = async <T>(run: () => Promise<T>) => {
    calls++;
    if (isDown) throw new StoreUnavailableError("The store is down.");
    return run();
  };
  const cached = withRejectionCache({
    ...accounts,
    admit: (...args) => call(() => accounts.admit(...args)),
    find: (id) => call(() => accounts.find(id)),
  });
  const admit = async (hash: string, at: number, accountId = "acme") =>
    validity(await cached.admit({ accountId, hash }, at));
  const flood = (at: number, accountId?: string) =>
    Promise.all(Array.from({ length: 100 }, (_, key) => admit(`forged ${key}`, at, accountId)));
  for (let key = 0; key < 10; key++) await admit(`forged ${key}`, AT);
  return {
    accounts,
    cached,
    admit,
    flood,
    calls: () => calls,
    setDown: (down: boolean) => {
      isDown = down;
    },
    issue: (store: AccountStore) => store.update("acme", (account) => addKey(account, NEW, AT)),
  };
}

describe("a flood of forged keys", () => {
  test("costs at most one store call a second after the first few", async () => {
    const { flood, calls } = await createFloodFixture();
    expect(calls(), "three decided by the store, one read").toBe(4);
    expect(new Set(await flood(AT + 999))).toEqual(new Set(["unknown_key"]));
    expect(calls()).toBe(4);
    expect(new Set(await flood(AT + 1_000))).toEqual(new Set(["unknown_key"]));
    expect(calls()).toBe(5);
  });

  test("a flood of keys for an account that does not exist is limited in the same way", async () => {
    const { flood, admit, calls } = await createFloodFixture();
    for (let key = 0; key < 4; key++) await admit(`forged ${key}`, AT, "nobody");
    const before = calls();
    expect(new Set(await flood(AT, "nobody"))).toEqual(new Set(["unknown_key"]));
    expect(calls()).toBe(before);
  });

  test("a flood of forged keys never affects a valid key of the account", async () => {
    const { flood, admit, calls, accounts } = await createFloodFixture();
    expect(await admit(FIRST.hash, AT)).toBe("valid");
    await flood(AT + 5_000);
    const before = calls();
    expect(await admit(FIRST.hash, AT + 9_000)).toBe("valid");
    expect(calls()).toBe(before + 1);
    expect((await accounts.find("acme"))?.usage.minute.count).toBe(2);
  });

  test("a flood of forged keys is not served from memory while the account cannot be read", async () => {
    const { admit, setDown } = await createFloodFixture();
    setDown(true);
    await expect(admit("forged", AT + 1_000)).rejects.toThrow(StoreUnavailableError);
    setDown(false);
    expect(await admit("forged", AT + 1_000)).toBe("unknown_key");
  });
});

describe("during a flood of forged keys, a new key", () => {
  test("during a flood of forged keys, a new key works at once when it is issued through the same store", async () => {
    const { cached, admit, issue } = await createFloodFixture();
    expect(await admit(NEW.hash, AT)).toBe("unknown_key");
    await issue(cached);
    expect(await admit(NEW.hash, AT)).toBe("valid");
  });

  test("during a flood of forged keys, a new key works within a second when another process issues it", async () => {
    const { accounts, admit, issue } = await createFloodFixture();
    await issue(accounts);
    expect(await admit(NEW.hash, AT + 999)).toBe("unknown_key");
    expect(await admit(NEW.hash, AT + 1_000)).toBe("valid");
  });
});

test("during a flood of forged keys, an account is read again after the clock was set back", async () => {
  const { accounts, admit, issue } = await createFloodFixture();
  await issue(accounts);
  expect(await admit(NEW.hash, AT - 60_000)).toBe("valid");
});

test("during a flood of forged keys, a key that another process revokes stops working at once", async () => {
  const { accounts, admit, calls } = await createFloodFixture();
  await accounts.update("acme", (account) => revokeKey(account, FIRST.id, AT));
  expect(await admit(FIRST.hash, AT)).toBe("unknown_key");
  await admit("forged", AT + 1_000);
  const before = calls();
  for (let request = 0; request < 50; request++)
    expect(await admit(FIRST.hash, AT + 1_500)).toBe("unknown_key");
  expect(calls()).toBe(before);
});

test("at most 1,000 accounts are remembered", async () => {
  const { admit, calls } = await createFloodFixture();
  for (let account = 0; account < 1_000; account++) await admit("forged", AT, `other-${account}`);
  const before = calls();
  expect(await admit("forged", AT)).toBe("unknown_key");
  expect(await admit("forged", AT)).toBe("unknown_key");
  expect(calls(), "the store decides again").toBe(before + 2);
});

describe("keys of a caller who guesses", () => {
  const hashOf = (index: number) => `${index}`.padStart(64, "0");
  const settingsOf = (index: number): AccountSettings => ({
    id: `shop-${index}`,
    plan: "free",
    keys: [{ id: `shop-${index}.1`, hash: hashOf(index), createdAt: AT }],
  });

  /** Accounts with one key each, and a cache that counts its calls. `lookups` are those that the caller has left. */
  async function createAccountsFixture({ count = 200, isForbidden = false } = {}) {
    const { accounts } = createMemoryStore();
    for (let index = 0; index < count; index++) await accounts.create(settingsOf(index));
    const calls = { find: 0, list: 0, admit: 0 };
    const caller = { lookups: 0 };
    const cached = withRejectionCache({
      ...accounts,
      find: (id) => {
        calls.find++;
        return accounts.find(id);
      },
      list: (...range) => {
        calls.list++;
        if (isForbidden) throw new Error("This process may not list accounts.");
        return accounts.list(...range);
      },
      admit: (...args) => {
        calls.admit++;
        return accounts.admit(...args);
      },
    });
    const takeReserve = () => caller.lookups-- > 0;
    const isInvalid = async (accountId: string, hash: string, at = AT) =>
      (await cached.findInvalid({ accountId, hash }, at, undefined, takeReserve)) !== undefined;
    const guess = (at: number) =>
      Promise.all(
        Array.from({ length: 3_000 }, (_, index) => isInvalid(`made-up-${at}-${index}`, `${index}`, at)),
      );
    return { accounts, cached, calls, caller, isInvalid, guess };
  }

  test("of accounts that do not exist cost one list of the accounts in five seconds, however many there are", async () => {
    const { calls, guess } = await createAccountsFixture();
    expect(new Set(await guess(AT))).toEqual(new Set([true]));
    await guess(AT + 4_999);
    expect(calls).toEqual({ find: 0, list: 1, admit: 0 });
    await guess(AT + 5_000);
    expect(calls).toEqual({ find: 0, list: 2, admit: 0 });
  });

  test("of accounts that exist cost one read of each a second", async () => {
    const { calls, isInvalid } = await createAccountsFixture();
    for (let round = 0; round < 5; round++)
      for (let index = 0; index < 200; index++)
        expect(await isInvalid(`shop-${index}`, `forged ${round}`)).toBe(true);
    expect(calls).toEqual({ find: 200, list: 1, admit: 0 });
  });

  test("of accounts that exist cost at most 1,000 reads a second, also if they are sent at once", async () => {
    const { calls, isInvalid } = await createAccountsFixture({ count: 1_100 });
    const atOnce = Array.from({ length: 1_100 }, (_, index) => isInvalid(`shop-${index}`, "forged"));
    expect(new Set(await Promise.all(atOnce))).toEqual(new Set([true]));
    expect(calls.find).toBe(1_000);
  });

  test("of accounts that exist cost at most 1,000 reads a second, and as many more as the caller has lookups", async () => {
    const { calls, caller, isInvalid } = await createAccountsFixture({ count: 1_100 });
    for (let round = 0; round < 3; round++)
      for (let index = 0; index < 1_100; index++) await isInvalid(`shop-${index}`, `forged ${round}`);
    expect(calls).toEqual({ find: 1_000, list: 1, admit: 0 });
    caller.lookups = 1;
    expect(await isInvalid("shop-1099", hashOf(1_099))).toBe(false);
    expect(await isInvalid("shop-1098", hashOf(1_098), AT + 1_000)).toBe(false);
  });

  test("are not invalid if they are valid, also if they were never seen, or have just been issued elsewhere", async () => {
    const { accounts, cached, isInvalid } = await createAccountsFixture();
    expect(await isInvalid("shop-7", hashOf(7))).toBe(false);
    await isInvalid("made-up", "1");
    await cached.create(settingsOf(300));
    expect(await isInvalid("shop-300", hashOf(300))).toBe(false);
    await accounts.create(settingsOf(301));
    expect(await isInvalid("shop-301", hashOf(301), AT + 4_999)).toBe(true);
    expect(await isInvalid("shop-301", hashOf(301), AT + 5_000)).toBe(false);
    await accounts.update("shop-7", (account) => addKey(account, { ...FIRST, id: "shop-7.2" }, AT));
    expect(await isInvalid("shop-7", FIRST.hash, AT + 5_000)).toBe(false);
  });

  test("of a new account are valid after the clock was set back, and if it was created during a list", async () => {
    const { accounts, cached, isInvalid } = await createAccountsFixture();
    const listed = isInvalid("made-up", "1");
    await cached.create(settingsOf(401));
    await listed;
    expect(await isInvalid("shop-401", hashOf(401))).toBe(false);
    await accounts.create(settingsOf(402));
    expect(await isInvalid("shop-402", hashOf(402), AT - 60_000)).toBe(false);
  });

  const unlisted = [
    ["there are too many accounts to list", { count: 10_001 }, 60_000],
    ["the process may not list accounts", { isForbidden: true }, 5_000],
  ] as const;

  test.each(unlisted)("cost only the lookups that the caller has if %s", async (_name, options, pauseMs) => {
    const { calls, caller, guess } = await createAccountsFixture(options);
    expect(new Set(await guess(AT))).toEqual(new Set([true]));
    expect(calls).toEqual({ find: 0, list: 1, admit: 0 });
    caller.lookups = 2;
    await guess(AT + pauseMs - 1);
    expect(calls).toEqual({ find: 2, list: 1, admit: 0 });
    await guess(AT + pauseMs);
    expect(calls, "the accounts are listed again after a pause").toEqual({ find: 2, list: 2, admit: 0 });
  });

  test.each(unlisted)(
    "are not invalid if a key of the account was admitted or looked up before, and %s",
    async (_name, options) => {
      const { cached, caller, isInvalid } = await createAccountsFixture(options);
      expect(await isInvalid("shop-7", hashOf(7))).toBe(true);
      expect(await cached.admit({ accountId: "shop-7", hash: hashOf(7) }, AT)).toMatchObject({ ok: true });
      expect(await isInvalid("shop-7", hashOf(7))).toBe(false);
      expect(await isInvalid("shop-7", "forged")).toBe(true);
      caller.lookups = 1;
      for (let request = 0; request < 3; request++) expect(await isInvalid("shop-8", hashOf(8))).toBe(false);
    },
  );

  test("are not invalid if they are valid and have no request left: the store counts the rejection", async () => {
    const { accounts, isInvalid } = await createAccountsFixture();
    for (let request = 0; request < 60; request++)
      expect(await accounts.admit({ accountId: "shop-7", hash: hashOf(7) }, AT)).toMatchObject({ ok: true });
    expect(await isInvalid("shop-7", hashOf(7))).toBe(false);
  });

  test("are not invalid if they are valid, also once there are too many accounts to remember", async () => {
    const { cached, caller, isInvalid } = await createAccountsFixture({ count: 10_000 });
    expect(await isInvalid("made-up", "1")).toBe(true);
    await cached.create(settingsOf(10_000));
    caller.lookups = 1;
    expect(await isInvalid("shop-5", hashOf(5))).toBe(false);
  });

  test("are read without a limit for a caller that has none", async () => {
    const { cached, calls } = await createAccountsFixture({ isForbidden: true });
    expect(await cached.findInvalid({ accountId: "shop-7", hash: hashOf(7) }, AT)).toBeUndefined();
    expect(await cached.findInvalid({ accountId: "shop-8", hash: "forged" }, AT)).toBeDefined();
    expect(calls).toMatchObject({ find: 2 });
    expect(
      await (await createAccountsFixture()).cached.findInvalid({ accountId: "none", hash: "1" }, AT),
    ).toEqual({
      ok: false,
      code: "invalid_api_key",
      reason: "unknown_key",
    });
  });

  test("of an account that was looked up and does not exist cost a lookup again", async () => {
    const { caller, calls, isInvalid } = await createAccountsFixture({ isForbidden: true });
    caller.lookups = 1;
    expect(await isInvalid("made-up", "1")).toBe(true);
    expect(await isInvalid("made-up", "1", AT + 1_000)).toBe(true);
    expect(calls).toMatchObject({ find: 1 });
  });

  test("of an account that was looked up just before its creation are valid at once", async () => {
    const { cached, caller, isInvalid } = await createAccountsFixture({ isForbidden: true });
    caller.lookups = 2;
    expect(await isInvalid("shop-300", hashOf(300))).toBe(true);
    await cached.create(settingsOf(300));
    expect(await isInvalid("shop-300", hashOf(300))).toBe(false);
  });
});
