import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { commandLine } from "../support/command-line.ts";

const cli = commandLine();
afterAll(() => cli[Symbol.dispose]());
const inFolder = (name: string) => join(cli.folder, name);

test("the database is where the flag says, or else the variable, or else the default", async () => {
  const create = (id: string, words: readonly string[], env: Record<string, string> = {}) =>
    cli.run([...words, "accounts", "create", id, "--plan", "free"], { env });
  await create("plain", []);
  await create("variable", [], { STORE_ORDERS_DATABASE: "variable.db" });
  await create("flag", ["--database", "flag.db"], { STORE_ORDERS_DATABASE: "variable.db" });
  await create("over", ["--database", "flag.db"], { STORE_ORDERS_DYNAMODB: "orders" });
  await create("empty", [], { STORE_ORDERS_DATABASE: "" });

  const names = async (...words: string[]) =>
    (await cli.json<{ account: string }[]>("accounts", "list", ...words)).map(({ account }) => account);
  expect(await names()).toEqual(["empty", "plain"]);
  expect(await names("--database", "variable.db")).toEqual(["variable"]);
  expect(await names("--database", "flag.db")).toEqual(["flag", "over"]);
  expect(existsSync(inFolder(".data/store-orders.db"))).toBe(true);
});

test("a database that is not there is no empty shop: only commands that put something there make one", async () => {
  const commands = [
    "accounts list",
    "accounts set-plan shop --plan pro",
    "keys list --account shop",
    "keys issue --account shop",
    "orders export",
    "orders ship 1",
  ];
  await Promise.all(
    commands.map(async (command) => {
      const { status, stderr } = await cli.run([...command.split(" "), "--database", "mistyped.db"]);
      expect({ command, status }).toEqual({ command, status: 2 });
      expect(stderr).toMatch(/^error: --database: There is no database at mistyped\.db\. 'accounts create'/);
    }),
  );
  expect(existsSync(inFolder("mistyped.db"))).toBe(false);
  expect((await cli.run(["orders", "place", "--id", "1", "--database", "made.db"])).status).toBe(0);
});

test("a store that cannot be reached ends with 3, whatever was asked of it", async () => {
  writeFileSync(inFolder("corrupt.db"), "This is a letter to a friend and no database. ".repeat(50));
  new DatabaseSync(inFolder("foreign.db")).exec("CREATE TABLE theirs (x)");
  writeFileSync(inFolder("file"), "");
  const cases = [
    [".", /The database \. cannot be opened/],
    ["file/below.db", /cannot be opened/],
    ["corrupt.db", /file is not a database/],
    ["foreign.db", /a database of another program\. Give another path/],
  ] as const;
  const commands = ["accounts list", "orders import -", "orders export", "serve --port 0"];
  await Promise.all(
    cases.map(async ([database, told], index) => {
      const command = commands[index] ?? "";
      const { status, stdout, stderr } = await cli.run([...command.split(" "), "--database", database]);
      expect({ database, status, stdout }).toEqual({ database, status: 3, stdout: "" });
      expect(stderr).toMatch(told);
      expect(stderr).not.toMatch(/^\s+at /m);
    }),
  );
  expect(readFileSync(inFolder("corrupt.db"), "utf8")).toMatch(/^This is a letter/);
});

test("a database of a newer version is a matter of configuration: 2, and untouched", async () => {
  await createSqliteStore({ path: inFolder("newer.db") }).close();
  const db = new DatabaseSync(inFolder("newer.db"));
  db.exec("PRAGMA user_version = 99");
  db.close();
  const { status, stderr } = await cli.run(["orders", "export", "--database", "newer.db"]);
  expect(status).toBe(2);
  expect(stderr).toMatch(/schema version 99; .* Upgrade store-orders/);
});

test("an import that the store breaks off says how far it came, and goes on where it is run again", async () => {
  const lines = Array.from({ length: 20_000 }, (_, id) => `{"id":${id},"petId":${id}}\n`).join("");
  await createSqliteStore({ path: inFolder("limited.db") }).close();
  const db = new DatabaseSync(inFolder("limited.db"));
  db.exec(
    "CREATE TRIGGER full BEFORE INSERT ON orders WHEN NEW.id = 15000 BEGIN SELECT RAISE(FAIL, 'x'); END",
  );
  db.close();
  const { status, stdout, stderr } = await cli.run(["orders", "import", "-", "--database", "limited.db"], {
    input: lines,
  });
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toMatch(/^Stopped after line 15000\. Mend the cause and import again/m);
  expect(stderr).not.toMatch(/^\s+at /m);
  const mended = new DatabaseSync(inFolder("limited.db"));
  mended.exec("DROP TRIGGER full");
  mended.close();
  const again = await cli.run(["orders", "import", "-", "--json", "--database", "limited.db"], {
    input: lines,
  });
  expect(JSON.parse(again.stdout)).toEqual({ placed: 5_000, unchanged: 15_000, rejected: 0 });
});
