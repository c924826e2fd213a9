import { afterAll, expect, test } from "vitest";
import { createCommandLine } from "../../support/command-line.ts";

const cli = createCommandLine({ shareProcess: true });
afterAll(() => cli[Symbol.dispose]());

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
        "error: STORE_ORDERS_ENVIRONMENT: The keys of this store are for 'test', so none can be issued for 'live'. Set STORE_ORDERS_ENVIRONMENT=test.\n",
    });
  }
  expect(await cli.json("keys", "list", ...database)).toEqual(before);
  const others = ["accounts list", "keys list", `keys revoke ${keyId}`, "accounts set-plan acme --plan pro"];
  for (const command of others)
    expect((await cli.run([...command.split(" "), ...database], live)).status).toBe(0);
});

test("the environment is recorded when a database is created, whichever command creates it", async () => {
  const database = ["--database", "live.db"];
  await cli.run(["orders", "import", "-", ...database], { ...live, input: '{"id":1}\n' });
  await cli.run(["accounts", "create", "acme", "--plan", "free", ...database]);
  const issue = ["keys", "issue", "--account", "acme", ...database];
  const refused = await cli.run(issue);
  expect(refused).toMatchObject({ status: 2, stdout: "" });
  expect(refused.stderr).toContain("Set STORE_ORDERS_ENVIRONMENT=live.");
  expect((await cli.run(issue, live)).stdout).toMatch(/so_live_acme_/);
});
