import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAccounts } from "../../../lib/accounts/accounts.ts";
import { parseKey } from "../../../lib/accounts/api-key.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { createCommandLine } from "../../support/command-line.ts";

const cli = createCommandLine();
afterAll(() => cli[Symbol.dispose]());

interface ShownWindow {
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  readonly resets: string;
}

interface ShownAccount {
  readonly account: string;
  readonly plan: string;
  readonly minute: ShownWindow;
  readonly day: ShownWindow;
  readonly keys: readonly {
    readonly keyId: string;
    readonly state: string;
    readonly bannedUntil: string | null;
  }[];
}

let keyId = "";

/** Sends requests of one key until it is banned: 12 admitted, 21 rejected. */
beforeAll(async () => {
  const store = createSqliteStore({ path: join(cli.directory, ".data/store-orders.db") });
  const accounts = createAccounts({ store: store.accounts, environment: "test" });
  const customLimits = { perMinute: 12, perDay: 25_000 };
  await accounts.create("acme", { plan: "enterprise", customLimits });
  await accounts.create("globex", { plan: "free" });
  const issued = await accounts.issueKey("acme");
  await accounts.issueKey("globex");
  const key = issued.ok ? parseKey(issued.key) : undefined;
  if (!issued.ok || key === undefined) throw new Error("The fixture needs a key.");
  ({ keyId } = issued);
  const at = Date.now();
  for (let request = 0; request < 33; request++) await store.accounts.admit(key, at);
  await store.close();
});

test("accounts show prints the plan, both windows with their reset times, and the keys with their bans", async () => {
  const shown = await cli.json<ShownAccount>("accounts", "show", "acme");
  expect(shown).toEqual({
    account: "acme",
    plan: "enterprise",
    minute: {
      limit: 12,
      used: expect.any(Number),
      remaining: expect.any(Number),
      resets: expect.any(String),
    },
    day: { limit: 25_000, used: 12, remaining: 24_988, resets: expect.any(String) },
    keys: [
      expect.objectContaining({ keyId, state: "banned", bannedUntil: expect.stringMatching(/^\d{4}-.*Z$/) }),
    ],
  });
  // The minute in which the requests were made may have ended.
  expect([0, 12]).toContain(shown.minute.used);
  expect(shown.minute.remaining).toBe(12 - shown.minute.used);
  expect(Date.parse(shown.minute.resets) % 60_000).toBe(0);
  expect(Date.parse(shown.day.resets) % 86_400_000).toBe(0);
  expect(Date.parse(shown.minute.resets)).toBeGreaterThan(Date.now() - 60_000);

  const { stdout } = await cli.run(["accounts", "show", "acme"]);
  const cells = stdout.split("\n").map((line) => line.split(/ {2,}/));
  expect(cells.slice(0, 4)).toEqual([
    ["account", "acme"],
    ["plan", "enterprise"],
    [""],
    ["window", "limit", "used", "remaining", "resets"],
  ]);
  expect(cells[5]).toEqual(["day", "25,000", "12", "24,988", shown.day.resets]);
  expect(cells[7]?.slice(0, 2)).toEqual(["key id", "state"]);
  expect(cells[8]?.slice(0, 2)).toEqual([keyId, "banned"]);
});

test("keys list without --account lists the keys of all accounts", async () => {
  const all = await cli.json<{ account: string; keyId: string }[]>("keys", "list");
  expect(all).toMatchObject([
    { account: "acme", keyId, state: "banned" },
    { account: "globex", keyId: expect.stringMatching(/^globex\./), state: "active" },
  ]);
  const { stdout } = await cli.run(["keys", "list"]);
  expect(stdout).toMatch(/^account +key id +state +banned until/);
  expect(stdout.trimEnd().split("\n")).toHaveLength(3);
  expect(await cli.json("keys", "list", "--account", "globex")).toEqual(all.slice(1));
});

test("accounts reset sets the counters to zero, and leaves bans and other accounts unchanged", async () => {
  const reset = await cli.json<ShownAccount>("accounts", "reset", "acme");
  expect(reset).toMatchObject({
    account: "acme",
    minute: { limit: 12, used: 0, remaining: 12 },
    day: { limit: 25_000, used: 0, remaining: 25_000 },
    keys: [{ keyId, state: "banned" }],
  });
  expect(await cli.json("accounts", "show", "acme")).toMatchObject({ day: { used: 0 } });
});

test("an account that does not exist exits with 1", async () => {
  for (const args of ["accounts show", "accounts reset", "keys list --account"]) {
    expect(await cli.run([...args.split(" "), "nobody"])).toEqual({
      status: 1,
      stdout: "",
      stderr: "error: nobody: There is no account with this identifier.\n",
    });
  }
});
