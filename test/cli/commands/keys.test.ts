import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { useCommandLine } from "../../support/command-line.ts";
import { parseKey } from "../../support/parse-key.ts";

const cli = useCommandLine();

test("a new key that nobody can have seen is an error, which names the key to revoke", async () => {
  await cli.run(["accounts", "create", "acme", "--plan", "free"]);
  const ids = async () =>
    (await cli.json<{ keyId: string }[]>("keys", "list", "--account", "acme")).map(({ keyId }) => keyId);
  const issued = await cli.run(["keys", "issue", "--account", "acme"], { isUnread: true });
  const [first = ""] = await ids();
  const rotated = await cli.run(["keys", "rotate", first, "--json"], { isUnread: true });
  const successor = (await ids()).find((id) => id !== first) ?? "";
  const messageOf = (id: string) =>
    `${id}: The new key could not be written, so nobody has seen it. Revoke it with 'keys revoke ${id}', and issue another one.`;
  expect(issued).toMatchObject({ status: 1, stderr: `error: ${messageOf(first)}\n` });
  expect(rotated.status).toBe(1);
  expect(JSON.parse(rotated.stderr)).toEqual({ code: "key_not_shown", message: messageOf(successor) });
  expect((await cli.run(["keys", "revoke", successor])).status).toBe(0);
});

const live = { env: { STORE_ORDERS_ENVIRONMENT: "live" } };

test("a command that would issue a key for the other environment than the store's exits with 2 and changes nothing", async () => {
  const database = ["--database", "test.db"];
  await cli.run(["accounts", "create", "acme", "--plan", "free", ...database]);
  const { keyId } = await cli.json<{ keyId: string }>("keys", "issue", "--account", "acme", ...database);
  const before = await cli.json("keys", "list", ...database);
  for (const command of [
    ["keys", "issue", "--account", "acme"],
    ["keys", "rotate", keyId],
  ]) {
    expect(await cli.run([...command, ...database], live)).toEqual({
      status: 2,
      stdout: "",
      stderr:
        "error: STORE_ORDERS_ENVIRONMENT: The keys of this store are for 'test', since its first one was, so none can be issued for 'live'. Set STORE_ORDERS_ENVIRONMENT, in code 'environment', to test, or use another store.\n",
    });
  }
  expect(await cli.json("keys", "list", ...database)).toEqual(before);
  expect((await cli.run(["keys", "revoke", keyId, ...database], live)).status).toBe(0);
});

test("the first key that is issued fixes the environment of a database, and no command before it", async () => {
  const database = ["--database", "live.db"];
  await cli.run(["accounts", "create", "acme", "--plan", "free", ...database]);
  await cli.run(["keys", "import", "-", ...database], { input: `hash,account\n${"a".repeat(64)},acme\n` });
  const issue = ["keys", "issue", "--account", "acme", ...database];
  const first = await cli.run(issue, live);
  expect(first.stdout).toMatch(/so_live_acme_/);
  expect(first.stderr).toContain("It is the first key of this store, whose keys are all for 'live' now.");
  const second = await cli.run(issue);
  expect(second.stdout).toMatch(/so_live_acme_/);
  expect(second.stderr).not.toContain("first key");
  const refused = await cli.run(issue, { env: { STORE_ORDERS_ENVIRONMENT: "test" } });
  expect(refused).toMatchObject({ status: 2, stdout: "" });
});

describe("a key on standard input", () => {
  const unknown = "so_test_demo_RkZaBiUJI02fVPGuODTgPDlsxanO84Li3Ya1Rp";
  const store = ["--database", "leaked.db"];
  let key = "";
  let keyId = "";
  beforeAll(async () => {
    await cli.run(["accounts", "create", "leaky", "--plan", "pro", ...store]);
    ({ key, keyId } = await cli.json<{ key: string; keyId: string }>(
      "keys",
      "issue",
      "--account",
      "leaky",
      ...store,
    ));
  });

  test.each<[string, (key: string) => string]>([
    ["alone", (text) => text],
    ["in a header", (text) => `Authorization: Bearer ${text}\r\n`],
    ["twice, in JSON", (text) => JSON.stringify({ key: text, again: text })],
  ])("is named with its account, %s", async (_where, write) => {
    const { status, stdout, stderr } = await cli.run(["keys", "find", "-", "--json", ...store], {
      input: write(key),
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ account: "leaky", keyId, state: "active" });
    expect(stdout).not.toContain(key.slice(-10));
  });

  test("that no account has is not found", async () => {
    for (const input of [unknown, unknown.replace("demo", "leaky")]) {
      const { status, stdout, stderr } = await cli.run(["keys", "find", "-", ...store], { input });
      expect(stdout + stderr).not.toContain(input);
      expect(status).toBeGreaterThan(0);
    }
    expect(await cli.run(["keys", "find", "-", ...store], { input: unknown })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("There is no key with this identifier. 'keys list' shows all."),
    });
  });

  test.each<[string, (key: string) => string, string]>([
    ["nothing", () => "", "Pass exactly one whole API key"],
    ["a part of a key", (text) => text.slice(0, -1), "the input has no key, or only a part of one."],
    ["two keys", (text) => `${text} ${unknown}`, "the input has several keys."],
    ["more than is read", (text) => " ".repeat(70_000) + text, "The input is longer than 65,536 characters."],
  ])("%s is an error that says so and does not repeat it", async (_name, write, message) => {
    for (const args of [
      ["find", "-"],
      ["revoke", "--key", "-"],
    ]) {
      const { status, stdout, stderr } = await cli.run(["keys", ...args, ...store], { input: write(key) });
      expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
      expect(stderr).toContain(message);
      expect(stderr).not.toContain(key.slice(0, -4));
    }
  });

  test("is an error as an argument, which does not repeat it", async () => {
    for (const args of [
      ["find", key],
      ["revoke", "--key", key],
      ["revoke"],
      ["revoke", keyId, "--key", "-"],
    ]) {
      const { status, stdout, stderr } = await cli.run(["keys", ...args, ...store], { input: key });
      expect({ args, status, stdout }).toEqual({ args, status: 2, stdout: "" });
      expect(stderr).not.toContain(key.slice(-20));
    }
  });

  test("is revoked, and its last use is shown", async () => {
    const { accounts, close } = createSqliteStore({ path: join(cli.directory, "leaked.db") });
    await accounts.admit(parseKey(key) ?? expect.fail(), Date.now());
    await close();
    const revoked = await cli.run(["keys", "revoke", "--key", "-", "--json", ...store], {
      input: `${key}\n`,
    });
    expect(JSON.parse(revoked.stdout)).toMatchObject({
      ...{ keyId, state: "revoked" },
      lastUsed: expect.stringMatching(/:00\.000Z$/),
    });
    const found = await cli.run(["keys", "find", "-", "--json", ...store], { input: key });
    expect(JSON.parse(found.stdout)).toMatchObject({ state: "revoked", revoked: expect.any(String) });
  });
});

test("keys list --state lists only the keys in that state", async () => {
  const store = ["--database", "states.db"];
  await cli.run(["accounts", "create", "acme", "--plan", "pro", ...store]);
  const issue = async (...args: string[]) =>
    (await cli.json<{ keyId: string }>("keys", "issue", "--account", "acme", ...args, ...store)).keyId;
  const soon = await issue("--expires", new Date(Date.now() + 86_400_000).toISOString());
  const later = await issue("--expires", new Date(Date.now() + 86_400_000 * 31).toISOString());
  const [forever, revoked] = [await issue(), await issue()];
  await cli.run(["keys", "revoke", revoked, ...store]);
  const list = async (state: string) =>
    (await cli.json<{ keyId: string }[]>("keys", "list", "--state", state, ...store)).map(
      ({ keyId }) => keyId,
    );
  expect(await list("active")).toEqual([soon, later, forever]);
  expect(await list("expiring")).toEqual([soon]);
  expect(await list("revoked")).toEqual([revoked]);
  expect([await list("banned"), await list("expired")]).toEqual([[], []]);
});

test("a time in the past and an overlap that is too long are errors of their flags, and issue no key", async () => {
  const database = ["--database", "limits.db"];
  await cli.run(["accounts", "create", "acme", "--plan", "free", ...database]);
  const issued = await cli.json<{ keyId: string }>("keys", "issue", "--account", "acme", ...database);
  const past = ["issue", "--account", "acme", "--expires", "2001-01-01T00:00:00Z"];
  for (const [args, message] of [
    [past, "--expires: Give a time in the future."],
    [["rotate", issued.keyId, "--overlap", "91d"], "--overlap: Use an overlap from 0 to 90 days."],
  ] as const) {
    const { status, stderr } = await cli.run(["keys", ...args, ...database]);
    expect([status, stderr]).toEqual([2, `error: ${message}\n`]);
  }
  expect(await cli.json("keys", "list", ...database)).toMatchObject([
    { keyId: issued.keyId, state: "active" },
  ]);
});

test("a key has the name that it was issued with, also its successor, and one that is no name is rejected", async () => {
  const database = ["--database", "named.db"];
  await cli.run(["accounts", "create", "acme", "--plan", "free", ...database]);
  const issue = (name: string) =>
    cli.run(["keys", "issue", "--account", "acme", "--name", name, "--json", ...database]);
  const { keyId, key } = JSON.parse((await issue("Lager 7 €")).stdout);
  await cli.run(["keys", "rotate", keyId, ...database]);
  expect(await cli.json("keys", "list", ...database)).toMatchObject([
    { keyId, name: "Lager 7 €", lastUsed: null },
    { name: "Lager 7 €", lastUsed: null },
  ]);
  for (const name of ["", " ", "a\nb", "x".repeat(65), key]) {
    const { status, stderr } = await issue(name);
    expect([status, stderr.includes(key)], name).toEqual([2, false]);
  }
});
