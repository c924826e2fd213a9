import assert from "node:assert/strict";
import {
  type AccountSettings,
  type ApiKey,
  addKey,
  MAX_ACTIVE_KEYS,
  revokeKey,
  rotateKey,
} from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import type { ImportedKeys } from "../../accounts/imported-keys.ts";
import { isInvalidInput } from "../../core/errors.ts";
import { MINUTE_MS, NO_USAGE } from "../../plans/windows.ts";
import { collect, defineCases } from "./contract-case.ts";
import { AT, apiKey, FIRST, LATER, LOW_LIMITS, limitedTo, outcomeName, replacing } from "./fixture.ts";

const NOT_FOUND = { ok: false, code: "account_not_found" };
const account: AccountSettings = { id: "acme", plan: "free", keys: [] };

export const accountCases = defineCases({ of: "accounts" }, (test) => {
  test("a created account is found unchanged, without usage and rejections, and its identifier is taken", async (accounts) => {
    const dates = { expiresAt: AT + 1, revokedAt: AT + 2 };
    const key = { ...apiKey("a"), name: "ünit 7", ...dates, successorId: "acme.b" };
    const big = { id: "big-1", ...limitedTo(60_000, 2 ** 40), keys: [key, apiKey("b")] };
    const created: AccountSettings[] = [account, big];
    for (const settings of created) {
      assert.deepEqual(await accounts.create(settings), { ok: true, account: settings });
      const second = await accounts.create({ ...settings, plan: "pro", keys: [] });
      assert.deepEqual(second, { ok: false, code: "account_exists" });
    }
    for (const settings of created) {
      assert.deepEqual(await accounts.find(settings.id), { ...settings, usage: NO_USAGE, rejections: {} });
    }
    assert.equal(await accounts.find("nobody"), undefined);
  });

  test("an identifier that no account can have names none, also if it looks like what the store keeps beside one", async (accounts) => {
    const key = apiKey("a");
    await accounts.create({ ...account, keys: [key] });
    await accounts.recordEnvironment("live");
    for (const id of ["acme/keys", "/settings", "acme/", "ACME", ""]) {
      assert.equal(await accounts.find(id), undefined, id);
      assert.deepEqual(await accounts.update(id, replacing({})), NOT_FOUND, id);
      assert.deepEqual(await accounts.resetUsage(id), NOT_FOUND, id);
      await accounts.unban(id, key.id);
    }
    assert.deepEqual((await accounts.find("acme"))?.keys, [key]);
  });

  test("a list has accounts with their keys, ascending beyond a given identifier, up to a limit", async (accounts) => {
    const numbered = Array.from({ length: 30 }, (_, index) => `a-${`${index * 2}`.padStart(2, "0")}`);
    const ids = ["0", "a", ...numbered, "a0", "b"];
    for (const id of ids.toReversed())
      await accounts.create({ ...account, id, keys: [{ ...apiKey(id), id: `${id}.1` }] });
    const listed = async (after?: string, limit?: number) => {
      const all = await collect(accounts.list(after, limit));
      for (const { id, keys } of all) assert.equal(keys[0]?.id, `${id}.1`);
      return all.map(({ id }) => id);
    };
    assert.deepEqual(await listed(), ids);
    assert.deepEqual(await listed("a-06"), ids.slice(6));
    assert.deepEqual(await listed("a-05", 3), ["a-06", "a-08", "a-10"]);
    assert.deepEqual(await listed(undefined, 2), ids.slice(0, 2));
    assert.deepEqual(await listed("a", 1_000), ids.slice(2));
    for (const beyond of ["b", "c"]) assert.deepEqual(await listed(beyond), []);
    for (let after: string | undefined, seen = 0; seen < ids.length; seen += 7) {
      const page = await listed(after, 7);
      assert.deepEqual(page, ids.slice(seen, seen + 7));
      after = page.at(-1);
    }
  });

  test("an update replaces the settings, and a failed update or a missing account changes nothing", async (accounts) => {
    await accounts.create(account);
    const enterprise = { ...account, ...limitedTo(5, 6) };
    const updated = await accounts.update("acme", () => ({ ok: true, account: enterprise }));
    assert.deepEqual(updated, { ok: true, account: enterprise });
    const failure = { ok: false, code: "too_many_keys" } as const;
    assert.deepEqual(await accounts.update("acme", () => failure), failure);
    const unchanged = (await accounts.find("acme")) ?? assert.fail();
    assert.deepEqual([unchanged.plan, unchanged.customLimits], ["enterprise", { perMinute: 5, perDay: 6 }]);
    await accounts.update("acme", () => ({ ok: true, account: { ...account, plan: "pro" } }));
    const { plan, customLimits } = (await accounts.find("acme")) ?? assert.fail();
    assert.deepEqual([plan, customLimits], ["pro", undefined]);
    assert.deepEqual(await accounts.update("nobody", replacing({})), NOT_FOUND);
  });

  test("a key that an update leaves out is gone, and one with its hash that is added later begins anew", async (accounts) => {
    const [kept, dropped] = [apiKey(1), apiKey(2)];
    await accounts.create({ ...account, keys: [kept, dropped] });
    const key = { accountId: "acme", hash: dropped.hash };
    await accounts.admit(key, AT);
    await accounts.recordRejections(key, 3, AT);
    await accounts.update("acme", replacing({ keys: [kept] }));
    assert.deepEqual((await accounts.find("acme"))?.keys, [kept]);
    assert.equal(outcomeName(await accounts.admit(key, AT)), "unknown_key");
    await accounts.update("acme", replacing({ keys: [kept, dropped] }));
    const { keys, rejections, lastUses = {} } = (await accounts.find("acme")) ?? assert.fail();
    assert.deepEqual([keys, rejections, lastUses], [[kept, dropped], {}, {}]);
    assert.equal(outcomeName(await accounts.admit(key, AT)), "admitted");
  });

  test("an account can have no key, one, or as many as are permitted, and be updated from each of them to any other", async (accounts) => {
    const keys = Array.from({ length: MAX_ACTIVE_KEYS }, (_, index) => apiKey(index + 1));
    await accounts.create(account);
    for (const count of [0, 1, MAX_ACTIVE_KEYS, 1, 0, MAX_ACTIVE_KEYS, 0]) {
      const kept = keys.slice(0, count);
      const updated = await accounts.update("acme", replacing({ keys: kept }));
      assert.ok(updated.ok);
      assert.deepEqual((await accounts.find("acme"))?.keys, kept);
      for (const { id, hash } of [apiKey(1), apiKey(MAX_ACTIVE_KEYS)]) {
        const outcome = outcomeName(await accounts.admit({ accountId: "acme", hash }, AT));
        const isKept = kept.some((key) => key.id === id);
        assert.equal(outcome, isKept ? "admitted" : "unknown_key", `${id} of ${count} keys`);
      }
    }
  });

  test("an updater that throws changes nothing and leaves the store usable", async (accounts) => {
    await accounts.create(account);
    const throwing = accounts.update("acme", () => {
      throw new RangeError("expected by the test");
    });
    const [thrown, concurrent] = await Promise.allSettled([
      throwing,
      accounts.update("acme", (current) => addKey(current, apiKey(2), AT)),
    ]);
    assert.ok(thrown.status === "rejected" && thrown.reason instanceof RangeError, "the error is passed on");
    assert.equal(concurrent.status, "fulfilled", "an update at the same time succeeds");
    const updated = await accounts.update("acme", (current) => addKey(current, apiKey(1), AT));
    assert.equal(updated.ok, true);
    assert.deepEqual((await accounts.find("acme"))?.keys, [apiKey(2), apiKey(1)]);
  });

  test("a rotated key has its successor, and of concurrent rotations exactly one succeeds", async (accounts) => {
    await accounts.create({ ...account, keys: [apiKey("old")] });
    const results = await Promise.all(
      Array.from({ length: 5 }, (_, index) =>
        accounts.update("acme", (current) => rotateKey(current, "acme.old", apiKey(index), 1_000, AT)),
      ),
    );
    const [old, successor, ...others] = (await accounts.find("acme"))?.keys ?? [];
    assert.deepEqual(others, []);
    assert.deepEqual(old, { ...apiKey("old"), expiresAt: AT + 1_000, successorId: successor?.id });
    const failure = { ok: false, code: "key_already_rotated", successorId: successor?.id };
    const failures = results.filter((result) => !result.ok);
    assert.deepEqual(failures, [failure, failure, failure, failure]);
  });

  test("an update leaves counters, rejections and bans unchanged", async (accounts) => {
    const [first, second] = [apiKey(1), apiKey(2)];
    await accounts.create({ ...account, ...LOW_LIMITS, keys: [first, second] });
    const key = { accountId: "acme", hash: first.hash };
    for (let call = 0; call < 12; call++) await accounts.admit(key, call < 10 ? AT : LATER);
    const before = await accounts.find("acme");
    assert.equal(before?.usage.minute.count, 9);
    assert.equal(before.rejections[first.id]?.count, 2);
    await accounts.update("acme", (current) => revokeKey(current, second.id, AT));
    const after = await accounts.find("acme");
    assert.deepEqual(after, { ...before, keys: [first, { ...second, revokedAt: AT }] });
  });

  test("the last use of a key, if the store keeps it, is the minute of its last admitted request", async (accounts) => {
    const [first, second] = [apiKey(1), apiKey(2)];
    await accounts.create({ ...account, ...LOW_LIMITS, keys: [first, second] });
    const key = { accountId: "acme", hash: first.hash };
    const lastUses = async () => (await accounts.find("acme"))?.lastUses;
    const minute = AT - (AT % MINUTE_MS);
    await accounts.admit(key, AT + 1_000);
    if ((await lastUses()) === undefined) return;
    assert.deepEqual(await lastUses(), { [first.id]: minute });
    for (let call = 0; call < 12; call++) await accounts.admit(key, AT + 61_000);
    await accounts.admit(key, AT + 121_000);
    await accounts.admit({ ...key, hash: second.hash }, AT + 121_000);
    await accounts.update("acme", (found) => revokeKey(found, second.id, AT + 122_000));
    await accounts.admit({ ...key, hash: second.hash }, AT + 181_000);
    await accounts.recordRejections(key, 1, AT + 121_000);
    const later = minute + 2 * MINUTE_MS;
    assert.deepEqual(await lastUses(), { [first.id]: later, [second.id]: later });
    for (let call = 0; call < 9; call++) await accounts.admit(key, AT + 241_000 - 60_000 * call);
    assert.deepEqual((await collect(accounts.list()))[0]?.lastUses, await lastUses());
  });

  test("a deleted account and its keys are gone, others stay, and one that is created again begins anew", async (accounts) => {
    const [first, second] = [apiKey(1), { ...apiKey(2), id: "other.2" }];
    await accounts.create({ ...account, ...LOW_LIMITS, keys: [first] });
    await accounts.create({ ...account, id: "other", keys: [second] });
    const admit = (accountId: string, { hash }: ApiKey) => accounts.admit({ accountId, hash }, AT);
    for (let call = 0; call < 11; call++) await admit("acme", first);
    const deleted = await accounts.delete("acme");
    assert.deepEqual(deleted.ok && [deleted.account.id, deleted.account.keys], ["acme", [first]]);
    assert.equal((await admit("acme", first)).ok, false);
    assert.equal((await admit("other", second)).ok, true);
    await accounts.recordRejections({ accountId: "acme", hash: first.hash }, 1, AT);
    await accounts.unban("acme", first.id);
    assert.equal(await accounts.find("acme"), undefined);
    const listed = (await collect(accounts.list())).map(({ id }) => id);
    assert.deepEqual(listed, ["other"]);
    assert.deepEqual(await accounts.delete("acme"), NOT_FOUND);
    assert.deepEqual(await accounts.update("acme", replacing({})), NOT_FOUND);
    for (const id of ["other/keys", "/settings", ""])
      assert.deepEqual(await accounts.delete(id), NOT_FOUND, id);

    const again = { ...account, plan: "pro", keys: [apiKey(3)] };
    await accounts.create(again);
    assert.deepEqual(await accounts.find("acme"), { ...again, usage: NO_USAGE, rejections: {} });
    assert.equal((await admit("acme", first)).ok, false, "a key of the deleted account is unknown");
    assert.equal((await admit("acme", apiKey(3))).ok, true);
    assert.equal((await accounts.update("acme", (found) => addKey(found, apiKey(4), AT))).ok, true);
    assert.equal((await admit("acme", apiKey(4))).ok, true);
  });

  test("a reset sets the counters of both windows to zero, and leaves keys, rejections and other accounts unchanged", async (accounts) => {
    const [first, second] = [apiKey(1), { ...apiKey(2), id: "other.2" }];
    await accounts.create({ ...account, ...LOW_LIMITS, keys: [first] });
    await accounts.create({ ...account, id: "other", keys: [second] });
    const admit = () => accounts.admit({ accountId: "acme", hash: first.hash }, AT);
    for (let call = 0; call < 12; call++) await admit();
    await accounts.admit({ accountId: "other", hash: second.hash }, AT);
    const before = (await accounts.find("acme")) ?? assert.fail();
    const other = await accounts.find("other");

    const reset = await accounts.resetUsage("acme");
    assert.deepEqual(reset.ok && [reset.account.id, reset.account.keys], ["acme", [first]]);
    const { minute, day } = before.usage;
    const usage = { minute: { ...minute, count: 0 }, day: { ...day, count: 0 } };
    assert.deepEqual(await accounts.find("acme"), { ...before, usage });
    assert.deepEqual(await accounts.find("other"), other);

    const results = [];
    for (let call = 0; call < 10; call++) results.push(await admit());
    assert.equal(results.filter(({ ok }) => ok).length, 9, "all of the limit is available again");
    assert.deepEqual(await accounts.resetUsage("nobody"), NOT_FOUND);
    assert.equal(await accounts.find("nobody"), undefined);
  });
});

const FOREIGN = { id: "acme.foreign", hash: "f".repeat(64), createdAt: AT };
const importedKeysOf = ({ importedKeys }: AccountStore) => importedKeys as ImportedKeys;

async function importInto(id: string, accounts: AccountStore): Promise<void> {
  await accounts.create({ id, plan: "free", keys: [] });
  await assert.doesNotReject(importedKeysOf(accounts).record(FOREIGN.hash, id));
  const result = await accounts.update(id, (account) => addKey(account, FOREIGN, AT));
  assert.equal(result.ok, true);
}

export const importedKeyCases = defineCases({ of: "accounts", part: "importedKeys" }, (test) => {
  test("no key is imported until one is recorded, which every instance learns, and it is no account", async (accounts, options) => {
    const others = importedKeysOf((await options.openAnother()).accounts);
    await accounts.create({ id: "acme", plan: "free", keys: [FIRST] });
    await accounts.recordEnvironment("live");
    assert.equal(await importedKeysOf(accounts).exist(), false);
    assert.equal(await others.exist(), false);
    assert.equal(await others.findAccount(FOREIGN.hash), undefined);
    await importInto("other", accounts);
    await importInto("other", accounts);
    assert.equal(await others.exist(), true);
    assert.equal(await others.findAccount(FOREIGN.hash), "other");
    assert.equal(await others.findAccount("0".repeat(64)), undefined);
    const listed = (await collect(accounts.list())).map(({ id }) => id);
    assert.deepEqual(listed, ["acme", "other"]);
  });

  test("an imported key is admitted like any other, and a revoked one is not, whoever looks it up", async (accounts) => {
    await importInto("acme", accounts);
    const admit = async () => {
      const accountId = (await importedKeysOf(accounts).findAccount(FOREIGN.hash)) ?? "";
      return accounts.admit({ accountId, hash: FOREIGN.hash }, AT);
    };
    const admission = await admit();
    assert.equal(outcomeName(admission), "admitted");
    const caller = { accountId: "acme", keyId: FOREIGN.id, plan: "free" };
    assert.deepEqual(admission.ok && admission.caller, caller);
    await accounts.update("acme", (account) => revokeKey(account, FOREIGN.id, AT));
    assert.equal(outcomeName(await admit()), "unknown_key");
  });

  test("a key of one account is not recorded for another, until the account is deleted", async (accounts) => {
    const keys = importedKeysOf(accounts);
    await importInto("acme", accounts);
    await accounts.create({ id: "other", plan: "free", keys: [] });
    await assert.rejects(keys.record(FOREIGN.hash, "other"), isInvalidInput);
    assert.equal(await keys.findAccount(FOREIGN.hash), "acme");
    await accounts.delete("acme");
    assert.equal(await keys.findAccount(FOREIGN.hash), undefined, "a deleted account's key is gone");
    await importInto("other", accounts);
    assert.equal(await keys.findAccount(FOREIGN.hash), "other");
  });

  test("an import that stopped before the key was added leaves it free for another account", async (accounts) => {
    await accounts.create({ id: "acme", plan: "free", keys: [FIRST] });
    await importedKeysOf(accounts).record(FOREIGN.hash, "acme");
    const key = { accountId: "acme", hash: FOREIGN.hash };
    assert.equal(outcomeName(await accounts.admit(key, AT)), "unknown_key");
    await importInto("other", accounts);
    assert.equal(await importedKeysOf(accounts).findAccount(FOREIGN.hash), "other");
  });
});
