import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { createAccounts } from "../../../lib/accounts/accounts.ts";
import { createHandler } from "../../../lib/http/handler.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { createCommandLine } from "../../support/command-line.ts";

const cli = createCommandLine({ shareProcess: true });
afterAll(() => cli[Symbol.dispose]());
const database = join(cli.directory, ".data/store-orders.db");

interface Issued {
  readonly account: string;
  readonly keyId: string;
  readonly key: string;
  readonly expires: string | null;
}

interface ListedKey {
  readonly keyId: string;
  readonly state: string;
  readonly bannedUntil: string | null;
  readonly expires: string | null;
  readonly revoked: string | null;
  readonly successorId: string | null;
}

/** Sends requests with a key to a handler on the same database; returns the status of the last response. */
async function statusFor(key: string, requests = 1): Promise<number> {
  const store = createSqliteStore({ path: database });
  try {
    const handler = createHandler({ store });
    const createRequest = () =>
      new Request("http://localhost/v1/store/orders", { headers: { authorization: `Bearer ${key}` } });
    for (let sent = 1; sent < requests; sent++) await handler(createRequest());
    return (await handler(createRequest())).status;
  } finally {
    await store.close();
  }
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
    stdout: "account      globex\nplan         enterprise\nper minute   6000\nper day      2,000,000\n",
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
    ["acme", "free", "60", "1000", "0"],
    ["globex", "enterprise", "6000", "2,000,000", "0"],
    [""],
  ]);
});

test("a key is issued, banned, unbanned, rotated and revoked, and its secret is shown only once", async () => {
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

  expect(await statusFor(issued.key)).toBe(200);
  expect(await statusFor(issued.key, 100)).toBe(429);
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
  expect(await statusFor(issued.key)).toBe(200);
  expect(await statusFor(rotated.key)).toBe(200);
  const expiresAt = Date.parse((await stateOf(issued.keyId))?.expires ?? "");
  expect(Math.abs(expiresAt - Date.now() - 3_600_000)).toBeLessThan(60_000);
  expect(await stateOf(issued.keyId)).toMatchObject({ state: "active", successorId: rotated.keyId });
  expect(await cli.run(["keys", "rotate", issued.keyId])).toEqual({
    status: 1,
    stdout: "",
    stderr: `error: ${issued.keyId}: The key has already been rotated. Use its successor, ${rotated.keyId}.\n`,
  });
  const successor = await cli.json<Issued>("keys", "rotate", rotated.keyId, "--overlap", "0");
  expect(await stateOf(rotated.keyId)).toMatchObject({ state: "expired" });
  expect(await statusFor(rotated.key)).toBe(401);

  expect(await cli.json("keys", "revoke", issued.keyId)).toMatchObject({ state: "revoked" });
  expect(await statusFor(issued.key)).toBe(401);
  expect(await statusFor(successor.key)).toBe(200);
  for (const args of [`rotate ${issued.keyId}`, "revoke initech.nothing", "unban initech.nothing"]) {
    expect(await cli.run(["keys", ...args.split(" ")])).toMatchObject({ status: 1, stdout: "" });
  }

  const outputs = [
    await cli.run(["keys", "list", "--account", "initech"]),
    await cli.run(["keys", "list", "--account", "initech", "--json"]),
    await cli.run(["accounts", "list", "--json"]),
  ];
  const files = globSync(`${database}*`).map((file) => readFileSync(file, "latin1"));
  expect(files.length).toBeGreaterThan(0);
  for (const { key } of [issued, rotated, successor]) {
    const secret = key.slice("so_test_initech_".length);
    for (const { stdout, stderr } of outputs) expect(stdout + stderr).not.toContain(secret);
    for (const bytes of files) expect(bytes).not.toContain(secret);
  }
  expect(outputs.map(({ stdout }) => stdout).join()).not.toMatch(/[0-9a-f]{64}/);
});

test("a 21st active key is an error", async () => {
  await cli.json("accounts", "create", "many", "--plan", "free");
  const store = createSqliteStore({ path: database });
  const accounts = createAccounts({ store: store.accounts, environment: "test" });
  for (let count = 1; count <= 19; count++) await accounts.issueKey("many");
  await store.close();
  const issue = () => cli.run(["keys", "issue", "--account", "many", "--json"]);
  expect((await issue()).status).toBe(0);
  const rejected = await issue();
  expect(rejected).toMatchObject({ status: 1, stdout: "" });
  expect(rejected.stderr).toContain("already has 20 active keys. Revoke one first");
});

test("an overlap of more than 90 days exits with 2 and changes nothing", async () => {
  await cli.json("accounts", "create", "umbrella", "--plan", "free");
  const { keyId } = await cli.json<Issued>("keys", "issue", "--account", "umbrella");
  for (const overlap of ["91d", "1000000y"]) {
    expect(await cli.run(["keys", "rotate", keyId, "--overlap", overlap])).toEqual({
      status: 2,
      stdout: "",
      stderr: expect.stringMatching(
        new RegExp(
          `^error: option '--overlap <duration>' argument '${overlap}' is invalid. Use at most 90d.`,
        ),
      ),
    });
  }
  expect(await cli.json("keys", "list", "--account", "umbrella")).toHaveLength(1);
  expect((await cli.run(["keys", "rotate", keyId, "--overlap", "90d"])).status).toBe(0);
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
