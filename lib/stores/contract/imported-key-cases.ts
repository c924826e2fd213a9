import assert from "node:assert/strict";
import { addKey, revokeKey } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import type { ImportedKeys } from "../../accounts/imported-keys.ts";
import { isInvalidInput } from "../../core/errors.ts";
import { collect, defineCases } from "./contract-case.ts";
import { AT, FIRST, outcomeName } from "./fixture.ts";

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
