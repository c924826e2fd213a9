import { expect, test } from "vitest";
import { MAX_OVERLAP_MS } from "../../lib/accounts/account.ts";
import { createAccounts, type KeyResult } from "../../lib/accounts/accounts.ts";
import { isInvalidInput } from "../../lib/core/errors.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";

const START = Date.UTC(2026, 10, 20, 12);
const HOUR = 3_600_000;

async function createFixture() {
  const store = createMemoryStore().accounts;
  let now = START;
  const accounts = createAccounts({ store, environment: "test", clock: () => now });
  await accounts.create("acme", { plan: "free" });
  return {
    accounts,
    store,
    tick: (ms: number) => {
      now += ms;
    },
  };
}

function issued(result: KeyResult) {
  if (!result.ok) throw new Error(result.code);
  return result;
}

test("an overlap is a whole number of milliseconds from 0 to 90 days; any other value changes nothing", async () => {
  const { accounts, store } = await createFixture();
  expect(MAX_OVERLAP_MS).toBe(90 * 24 * HOUR);
  const { keyId } = issued(await accounts.issueKey("acme"));
  const before = await store.find("acme");
  for (const overlapMs of [MAX_OVERLAP_MS + 1, 1e6 * 365 * 24 * HOUR, Infinity, Number.NaN, -1, 0.5]) {
    const error = await accounts.rotateKey(keyId, { overlapMs }).catch((reason: unknown) => reason);
    expect(isInvalidInput(error) && error.message).toBe("overlapMs: Use an overlap from 0 to 90 days.");
  }
  expect(await store.find("acme")).toEqual(before);
  expect(await accounts.rotateKey(keyId, { overlapMs: MAX_OVERLAP_MS })).toMatchObject({ ok: true });
});

test("a key in its overlap cannot be rotated again, and the error names its successor", async () => {
  const { accounts, store, tick } = await createFixture();
  const old = issued(await accounts.issueKey("acme"));
  const successor = issued(await accounts.rotateKey(old.keyId, { overlapMs: HOUR }));
  tick(HOUR / 2);
  const before = await store.find("acme");
  const conflict = { ok: false, code: "key_already_rotated", successorId: successor.keyId };
  expect(await accounts.rotateKey(old.keyId, { overlapMs: 0 })).toEqual(conflict);
  expect(await store.find("acme")).toEqual(before);
  expect(await accounts.rotateKey(successor.keyId, { overlapMs: 0 })).toMatchObject({ ok: true });
});

test("exactly one of several concurrent rotations of a key succeeds", async () => {
  const { accounts } = await createFixture();
  const { keyId } = issued(await accounts.issueKey("acme"));
  const rotations = Array.from({ length: 5 }, () => accounts.rotateKey(keyId, { overlapMs: HOUR }));
  const codes = (await Promise.all(rotations)).map((result) => (result.ok ? "ok" : result.code));
  expect(codes.toSorted()).toEqual([...Array(4).fill("key_already_rotated"), "ok"]);
});

test("every successor in a chain of rotations has the expiry of the original key", async () => {
  const { accounts, tick } = await createFixture();
  const expiresAt = START + 100 * HOUR;
  let key = issued(await accounts.issueKey("acme", { expiresAt }));
  for (let rotation = 0; rotation < 3; rotation++) {
    tick(HOUR);
    key = issued(await accounts.rotateKey(key.keyId, { overlapMs: 10 * HOUR }));
    expect(key.expiresAt).toBe(expiresAt);
  }
});

test("an expiry that no date can represent is invalid", async () => {
  const { accounts } = await createFixture();
  for (const expiresAt of [8.64e15 + 1, Infinity, START + 0.5]) {
    await expect(accounts.issueKey("acme", { expiresAt })).rejects.toThrow("expiresAt: ");
  }
});
