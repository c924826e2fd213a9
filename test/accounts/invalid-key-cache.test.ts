import { describe, expect, test } from "vitest";
import { type ApiKey, addKey, revokeKey } from "../../lib/accounts/account.ts";
import type { AccountStore } from "../../lib/accounts/account-store.ts";
import type { Admission } from "../../lib/accounts/admission.ts";
import { withInvalidKeyCache } from "../../lib/accounts/invalid-key-cache.ts";
import { StoreUnavailableError } from "../../lib/errors.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const apiKey = (name: string): ApiKey => ({
  id: `acme.${name}`,
  hash: name.padStart(64, "0"),
  createdAt: AT,
});
const [FIRST, NEW] = [apiKey("first"), apiKey("new")];
const outcomeOf = (admission: Admission) =>
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
  const cached = withInvalidKeyCache({
    ...accounts,
    admit: (...args) => call(() => accounts.admit(...args)),
    find: (id) => call(() => accounts.find(id)),
  });
  const admit = async (hash: string, at: number, accountId = "acme") =>
    outcomeOf(await cached.admit({ accountId, hash }, at));
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
