import { expect } from "vitest";
import { isInvalidInput } from "../../lib/core/errors.ts";
import type { Store } from "../../lib/stores/store.ts";

const keyOf = (account: string, digit: string) => ({
  id: `${account}.${digit}`,
  hash: digit.repeat(64),
  createdAt: 0,
});

/** Expects that a key with the hash of another account's is an error that changes nothing, on an empty store. */
export async function expectKeysOfOneAccount({ accounts }: Store): Promise<void> {
  const settings = { id: "other", plan: "free", keys: [keyOf("other", "2")] };
  await accounts.create({ ...settings, id: "acme", keys: [keyOf("acme", "1")] });
  await accounts.create(settings);
  const before = await accounts.find("other");
  const copied = { ...settings, plan: "pro", keys: [keyOf("other", "1")] };
  const calls = [
    accounts.create({ ...copied, id: "third" }),
    accounts.update("other", () => ({ ok: true, account: copied })),
  ];
  for (const call of calls) await expect(call).rejects.toSatisfy(isInvalidInput);
  expect([await accounts.find("third"), await accounts.find("other")]).toEqual([undefined, before]);
  const admission = await accounts.admit({ accountId: "acme", hash: "1".repeat(64) }, 0);
  expect(admission.ok).toBe(true);
}
