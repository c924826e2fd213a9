import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeAll, expect, test } from "vitest";
import { createAccounts } from "../../../lib/accounts/accounts.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { useCommandLine } from "../../support/command-line.ts";
import { parseKey } from "../../support/parse-key.ts";

const cli = useCommandLine();
const database = join(cli.directory, ".data/store-orders.db");

interface Issued {
  readonly account: string;
  readonly keyId: string;
  readonly key: string;
  readonly expires: string | null;
}

interface ListedKey {
  readonly keyId: string;
  readonly expires: string | null;
}

test("accounts are created, changed and listed; a conflict or an unknown account exits with 1", async () => {
  expect(await cli.json("accounts", "create", "acme", "--plan", "pro")).toEqual({
    account: "acme",
    plan: "pro",
    perMinute: 300,
    perDay: 10_000,
  });
  const plan = ["--plan", "enterprise", "--per-minute", "6000", "--per-day", "2000000"];
  const globex = await cli.run(["accounts", "create", "globex", ...plan]);
  expect(globex).toEqual({
    status: 0,
    stdout: "account      globex\nplan         enterprise\nper minute   6,000\nper day      2,000,000\n",
    stderr: "",
  });

  const again = await cli.run(["accounts", "create", "acme", "--plan", "free"]);
  expect(again).toEqual({
    status: 1,
    stdout: "",
    stderr: "error: acme: An account with this identifier already exists.\n",
  });
  const unknown = await cli.run(["accounts", "set-plan", "nobody", "--plan", "free"]);
  expect(unknown).toMatchObject({ status: 1, stdout: "" });

  await cli.json("accounts", "set-plan", "acme", "--plan", "free");
  expect(await cli.json("accounts", "list")).toEqual([
    { account: "acme", plan: "free", perMinute: 60, perDay: 1000, activeKeys: 0 },
    { account: "globex", plan: "enterprise", perMinute: 6000, perDay: 2_000_000, activeKeys: 0 },
  ]);
  const { stdout } = await cli.run(["accounts", "list"]);
  expect(stdout.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
    ["account", "plan", "per minute", "per day", "active keys"],
    ["acme", "free", "60", "1,000", "0"],
    ["globex", "enterprise", "6,000", "2,000,000", "0"],
    [""],
  ]);
});

test("a key is issued, banned, unbanned, rotated and revoked", async () => {
  await cli.json("accounts", "create", "initech", "--plan", "free");
  const issued = await cli.json<Issued>("keys", "issue", "--account", "initech");
  expect(issued).toEqual({
    account: "initech",
    keyId: expect.stringMatching(/^initech\.[0-9A-Za-z]{10}$/),
    key: expect.stringMatching(/^so_test_initech_[0-9A-Za-z]{38}$/),
    expires: null,
  });
  const expires = "2999-01-01T00:00:00+02:00";
  const dated = await cli.run(["keys", "issue", "--account", "initech", "--expires", expires]);
  expect(dated.stderr).toBe("Store the key now: it cannot be shown again.\n");
  expect(dated.stdout).toMatch(/^expires {3}2998-12-31T22:00:00\.000Z$/m);

  const store = createSqliteStore({ path: database });
  await store.accounts.recordRejections(parseKey(issued.key) ?? expect.fail(), 21, Date.now());
  await store.close();
  const list = () => cli.json<ListedKey[]>("keys", "list", "--account", "initech");
  const stateOf = async (keyId: string) => (await list()).find((key) => key.keyId === keyId);
  expect(await stateOf(issued.keyId)).toMatchObject({
    state: "banned",
    bannedUntil: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  const unbanned = await cli.json<ListedKey>("keys", "unban", issued.keyId);
  expect(unbanned).toMatchObject({ keyId: issued.keyId, state: "active", bannedUntil: null });
  expect(await stateOf(issued.keyId)).toMatchObject({ state: "active", bannedUntil: null });

  await cli.json("accounts", "set-plan", "initech", "--plan", "business");
  const rotated = await cli.json<Issued>("keys", "rotate", issued.keyId, "--overlap", "1h");
  expect(Object.keys(rotated)).toEqual(["account", "keyId", "key", "expires"]);
  const expiresAt = Date.parse((await stateOf(issued.keyId))?.expires ?? "");
  expect(Math.abs(expiresAt - Date.now() - 3_600_000)).toBeLessThan(60_000);
  expect(await stateOf(issued.keyId)).toMatchObject({ state: "active", successorId: rotated.keyId });
  expect(await cli.run(["keys", "rotate", issued.keyId])).toEqual({
    status: 1,
    stdout: "",
    stderr: `error: ${issued.keyId}: The key has already been rotated. Use its successor, ${rotated.keyId}.\n`,
  });
  await cli.json("keys", "rotate", rotated.keyId, "--overlap", "0");
  expect(await stateOf(rotated.keyId)).toMatchObject({ state: "expired" });

  expect(await cli.json("keys", "revoke", issued.keyId)).toMatchObject({ state: "revoked" });
  for (const args of [`rotate ${issued.keyId}`, "revoke initech.nothing", "unban initech.nothing"]) {
    expect(await cli.run(["keys", ...args.split(" ")])).toMatchObject({ status: 1, stdout: "" });
  }
});

test("accounts and keys are listed and revoked although a key has an expiry that no date can represent", async () => {
  const database = ["--database", "out-of-range.db"];
  await cli.json("accounts", "create", "hooli", "--plan", "free", ...database);
  const { keyId } = await cli.json<Issued>("keys", "issue", "--account", "hooli", ...database);
  const db = new DatabaseSync(join(cli.directory, "out-of-range.db"));
  db.exec("UPDATE api_keys SET expires_at = 8640000000000001");
  db.close();
  const keys = await cli.json<ListedKey[]>("keys", "list", "--account", "hooli", ...database);
  expect(keys).toMatchObject([{ keyId, state: "active", expires: null }]);
  expect(await cli.json("accounts", "list", ...database)).toMatchObject([{ activeKeys: 1 }]);
  expect(await cli.json("keys", "revoke", keyId, ...database)).toMatchObject({ state: "revoked" });
});

const other = useCommandLine();

type ShownWindow = Readonly<Record<"limit" | "used" | "remaining", number>> & { readonly resets: string };
interface ShownAccount {
  readonly minute: ShownWindow;
  readonly day: ShownWindow;
}

let keyId = "";

/** Sends requests of one key until it is banned: 12 admitted, 21 rejected. */
beforeAll(async () => {
  const store = createSqliteStore({ path: join(other.directory, ".data/store-orders.db") });
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
  for (let request = 0; request < 12; request++) await store.accounts.admit(key, at);
  await store.accounts.recordRejections(key, 21, at);
  await store.close();
});

test("accounts show prints the plan, both windows with their reset times, and the keys with their bans", async () => {
  const shown = await other.json<ShownAccount>("accounts", "show", "acme");
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

  const { stdout } = await other.run(["accounts", "show", "acme"]);
  const cells = stdout.split("\n").map((line) => line.split(/ {2,}/));
  expect(cells.slice(0, 4)).toEqual([
    ["account", "acme"],
    ["plan", "enterprise"],
    [""],
    ["window", "limit", "used", "remaining", "resets"],
  ]);
  expect(cells[5]).toEqual(["day", "25,000", "12", "24,988", shown.day.resets]);
  expect(cells[7]?.slice(0, 2)).toEqual(["key id", "name"]);
  expect(cells[8]?.slice(0, 2)).toEqual([keyId, "-"]);
});

test("keys list without --account lists the keys of all accounts", async () => {
  const all = await other.json<{ account: string; keyId: string }[]>("keys", "list");
  expect(all).toMatchObject([
    { account: "acme", keyId, state: "banned" },
    { account: "globex", keyId: expect.stringMatching(/^globex\./), state: "active" },
  ]);
  const { stdout } = await other.run(["keys", "list"]);
  expect(stdout).toMatch(/^account +key id +name +state +banned until/);
  expect(stdout.trimEnd().split("\n")).toHaveLength(3);
  expect(await other.json("keys", "list", "--account", "globex")).toEqual(all.slice(1));
});

test("accounts reset sets the counters to zero, and leaves bans and other accounts unchanged", async () => {
  const reset = await other.json<ShownAccount>("accounts", "reset", "acme");
  expect(reset).toMatchObject({
    account: "acme",
    minute: { limit: 12, used: 0, remaining: 12 },
    day: { limit: 25_000, used: 0, remaining: 25_000 },
    keys: [{ keyId, state: "banned" }],
  });
  expect(await other.json("accounts", "show", "acme")).toMatchObject({ day: { used: 0 } });
});

test("an account that does not exist exits with 1", async () => {
  for (const args of ["accounts show", "accounts reset", "keys list --account"]) {
    expect(await other.run([...args.split(" "), "nobody"])).toEqual({
      status: 1,
      stdout: "",
      stderr: "error: nobody: There is no account with this identifier. 'accounts list' shows all.\n",
    });
  }
});

test("an account can have a plan of a file, which a server with that file admits", async () => {
  const folder = other.directory;
  writeFileSync(join(folder, "plans.yaml"), "starter: { perMinute: 30, perDay: 500 }\npartner: custom\n");
  const run = (...args: string[]) => other.run([...args, "--database", "plans.db", "--json"]);
  const plans = ["--plans", "plans.yaml"];
  const created = await run("accounts", "create", "a", "--plan", "starter", ...plans);
  expect(JSON.parse(created.stdout)).toEqual({ account: "a", plan: "starter", perMinute: 30, perDay: 500 });
  const custom = ["--plan", "partner", "--per-minute", "5", "--per-day", "9"];
  expect((await run("accounts", "create", "b", ...custom, ...plans)).status).toBe(0);
  expect(await run("accounts", "set-plan", "b", "--plan", "gold", ...plans)).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/Choose one of free, .*enterprise, starter, partner\./),
  });

  const known = await run("accounts", "show", "a", ...plans);
  expect(known).toMatchObject({ status: 0, stderr: "" });
  expect(JSON.parse(known.stdout)).toMatchObject({ minute: { limit: 30, used: 0, remaining: 30 } });
  const unknown = await run("accounts", "show", "a");
  expect(unknown).toMatchObject({ status: 0, stderr: expect.stringContaining("--plans") });
  expect(JSON.parse(unknown.stdout)).toMatchObject({ minute: { limit: null, used: 0, remaining: null } });
  const listed = await run("accounts", "list");
  expect(JSON.parse(listed.stdout)).toMatchObject([{ perMinute: null }, { perMinute: null }]);

  const { key } = JSON.parse((await run("keys", "issue", "--account", "a")).stdout);
  for (const [env, status] of [
    [{ STORE_ORDERS_PLANS: "plans.yaml" }, 200],
    [{}, 401],
  ] as const) {
    const { url, stop } = await other.serve(["--database", "plans.db"], { env });
    const list = await fetch(`${url}/v1/store/orders`, { headers: { authorization: `Bearer ${key}` } });
    expect([list.status, list.headers.get("x-ratelimit-limit")]).toEqual([
      status,
      status === 200 ? "30" : "60",
    ]);
    await stop();
  }
  const usage = JSON.parse((await run("accounts", "list", "--usage", ...plans)).stdout);
  expect(usage).toMatchObject([
    { account: "a", activeKeys: 1, bannedKeys: 0, usedToday: 1 },
    { account: "b", activeKeys: 0, bannedKeys: 0, usedThisMinute: 0, usedToday: 0 },
  ]);
});

test("accounts delete requires --yes, and says how many keys stop with the account", async () => {
  const run = (args: string) => other.run([...args.split(" "), "--database", "gone.db"]);
  for (const id of ["a", "b"]) await run(`accounts create ${id} --plan free`);
  await run("keys issue --account a");
  const refused = { status: 2, stderr: expect.stringContaining("--yes") };
  expect(await run("accounts delete a")).toMatchObject(refused);
  expect((await run("accounts show a")).status).toBe(0);
  expect(JSON.parse((await run("accounts delete a --yes --json")).stdout)).toEqual({ deleted: "a", keys: 1 });
  expect(await run("accounts delete b --yes")).toMatchObject({ status: 0, stderr: "" });
  expect(await run("accounts delete b --yes")).toMatchObject({ status: 1, stdout: "" });
});
