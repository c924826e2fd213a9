import { beforeEach, describe, expect, test } from "vitest";
import { type Accounts, createAccounts } from "../../lib/accounts/accounts.ts";
import type { Environment } from "../../lib/accounts/api-key.ts";
import { isInvalidInput } from "../../lib/core/errors.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import type { Store } from "../../lib/stores/store.ts";

const NOT_A_TEXT = [undefined, null, 5, ["acme"], {}] as unknown[] as string[];
const PLAN = { plan: "free" } as const;

describe.each([
  ["memory", createMemoryStore],
  ["sqlite", () => createSqliteStore({ path: ":memory:" })],
] as const)("an input of the wrong type, over the %s store", (_name, open) => {
  let store: Store;
  let accounts: Accounts;
  beforeEach(async () => {
    store = open();
    accounts = createAccounts({ store: store.accounts, environment: "test" });
    await accounts.create("acme", PLAN);
    return () => store.close();
  });

  /** The path of the issue with which the call rejects. */
  async function pathOf(call: () => Promise<unknown>): Promise<string | undefined> {
    const error: unknown = await call().catch((reason: unknown) => reason);
    return isInvalidInput(error) ? error.issues[0]?.path : `no InvalidInputError: ${error}`;
  }

  test.each(NOT_A_TEXT.map((id) => [id]))(
    "an identifier that is %j instead of a string is rejected and changes nothing",
    async (id) => {
      const before = await store.accounts.find("acme");
      expect(await pathOf(() => accounts.create(id, PLAN))).toBe("accountId");
      expect(await pathOf(() => accounts.setPlan(id, { plan: "pro" }))).toBe("accountId");
      expect(await pathOf(() => accounts.resetUsage(id))).toBe("accountId");
      expect(await pathOf(() => accounts.delete(id))).toBe("accountId");
      expect(await pathOf(() => accounts.issueKey(id))).toBe("accountId");
      expect(await pathOf(() => accounts.rotateKey(id, { overlapMs: 0 }))).toBe("keyId");
      expect(await pathOf(() => accounts.revokeKey(id))).toBe("keyId");
      expect(await pathOf(() => accounts.unbanKey(id))).toBe("keyId");
      await expect(accounts.unbanKey(id)).rejects.toThrow("keyId: Give a string.");
      expect(await store.accounts.find("acme")).toEqual(before);
    },
  );

  test("a plan, limits and an overlap that are missing are rejected", async () => {
    const nothing = undefined as never;
    expect(await pathOf(() => accounts.create("other", nothing))).toBe("plan");
    expect(await pathOf(() => accounts.setPlan("acme", nothing))).toBe("plan");
    const withoutLimits = { plan: "enterprise", customLimits: null } as never;
    expect(await pathOf(() => accounts.setPlan("acme", withoutLimits))).toBe("plan");
    expect(await pathOf(() => accounts.rotateKey("acme.key", nothing))).toBe("overlapMs");
  });

  test("an environment other than test and live is rejected before the store records it for good", async () => {
    for (const environment of [undefined, "production"] as unknown[] as Environment[]) {
      expect(() => createAccounts({ store: store.accounts, environment })).toThrow(
        "environment: Choose one of test, live.",
      );
    }
    expect(await store.accounts.recordEnvironment("live")).toBe("live");
  });
});
