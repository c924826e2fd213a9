import { spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { storeEnvironment } from "../../infra/functions/functions.ts";
import {
  chooseStore,
  readPostgresUrl,
  STORE_NAMES,
  STORES,
  type StoreKind,
  toCommandLine,
} from "../../lib/cli/stores.ts";
import { tableNames } from "../../lib/stores/dynamodb/schema.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import { baseEnvironment, useCommandLine, waitForExit } from "../support/command-line.ts";
import { notRoot, skipsBecause } from "../support/skip-reason.ts";

const cli = useCommandLine();
const bin = fileURLToPath(new URL("../../lib/cli/bin.ts", import.meta.url));
const pathOf = (name: string) => join(cli.directory, name);

test.each(STORE_NAMES)("%s is selected by its option and its variable", (name) => {
  const { option, variable }: StoreKind = STORES[name];
  const choice = { kind: name, location: "x" };
  expect(chooseStore({ [option]: "x" }, {})).toEqual(choice);
  expect(chooseStore({}, { [variable]: "x" })).toEqual(choice);
  expect(toCommandLine(["keys", "list"], { [option]: "x" })).toMatch(new RegExp(` keys list --${option} x$`));
  const others = STORE_NAMES.filter((other) => other !== name).map((other) => STORES[other].option);
  for (const other of others) {
    expect(() => chooseStore({ [option]: "x", [other]: "y" }, {})).toThrow("Set only one of them.");
  }
  expect(() => chooseStore({ [option]: "" }, {})).toThrow("The value must not be empty.");
});

test("the size of the pool is that of the option, otherwise of the variable, and only PostgreSQL has one", () => {
  const postgres = "postgres://localhost/db";
  const env = { STORE_ORDERS_POSTGRES_POOL: "3" };
  const chosen = { kind: "postgres", location: postgres };
  expect(chooseStore({ postgres, postgresPool: "20" }, env)).toEqual({ ...chosen, poolSize: 20 });
  expect(chooseStore({ postgres }, env)).toEqual({ ...chosen, poolSize: 3 });
  expect(chooseStore({}, { ...env, STORE_ORDERS_POSTGRES: postgres })).toEqual({ ...chosen, poolSize: 3 });
  expect(chooseStore({ postgres }, { STORE_ORDERS_POSTGRES_POOL: "" })).toEqual(chosen);
  expect(chooseStore({ database: "x" }, env)).toEqual({ kind: "sqlite", location: "x" });
  for (const postgresPool of ["0", "", "1e3", "-1", "x", "9".repeat(20)])
    expect(() => chooseStore({ postgres, postgresPool }, env)).toThrow(
      "--postgres-pool: Use a whole number of connections, at least 1.",
    );
  expect(() => chooseStore({ postgres }, { STORE_ORDERS_POSTGRES_POOL: "0" })).toThrow(
    "STORE_ORDERS_POSTGRES_POOL: Use a whole number",
  );
  expect(() => chooseStore({ database: "x", postgresPool: "3" }, {})).toThrow(
    "--postgres-pool: Only a PostgreSQL database has a pool.",
  );
});

test("two DynamoDB tables of any name are named with a comma between them", () => {
  const location = "restored,shop-accounts";
  expect(chooseStore({ dynamodb: location }, {})).toEqual({ kind: "dynamodb", location });
  expect(toCommandLine(["keys", "list"], { dynamodb: location })).toMatch(
    / keys list --dynamodb restored,shop-accounts$/,
  );
  const namesOf = (prefix: string) => tableNames({ prefix });
  expect(namesOf(location)).toEqual({ orders: "restored", accounts: "shop-accounts" });
  expect(namesOf("shop")).toEqual({ orders: "shop-orders", accounts: "shop-accounts" });
  for (const incomplete of ["a,", ",b"]) expect(() => namesOf(incomplete)).toThrow("Name this table, too");
  expect(() => namesOf("a,a")).toThrow("Both tables are named a.");
  // The variable of a function whose stack names its tables.
  const stack = storeEnvironment({ tables: { orders: "restored" } }, "shop", "shop");
  expect(stack).toEqual({ STORE_ORDERS_DYNAMODB: location, STORE_ORDERS_NAMESPACE: "shop" });
});

test("the password of a PostgreSQL URL is shown neither in a command to copy, nor in a result or an error", async () => {
  const url = "postgres://app:s3cret@127.0.0.1:1/shop?schema=pets&sslpassword=s3cret";
  expect(toCommandLine(["keys", "list"], { postgres: url })).toMatch(
    / keys list --postgres 'postgres:\/\/app@127\.0\.0\.1:1\/shop\?schema=pets'$/,
  );
  expect(toCommandLine(["keys", "list"], { postgres: "app:s3cret@db" })).toMatch(/--postgres URL$/);
  expect(readPostgresUrl(url)).toEqual({
    connectionString: "postgres://app:s3cret@127.0.0.1:1/shop?sslpassword=s3cret",
    schema: "pets",
    name: "PostgreSQL, 127.0.0.1:1/shop, schema pets",
  });
  const commands = [
    "keys list",
    "serve --port 0",
    "database migrate",
    "accounts create a --plan free --json",
  ];
  await Promise.all(
    commands.map(async (command) => {
      const result = await cli.run(command.split(" "), { env: { STORE_ORDERS_POSTGRES: url } });
      expect({ command, ...result }).toEqual({
        command,
        status: 3,
        stdout: "",
        stderr: expect.stringContaining("The database cannot be used. (connect ECONNREFUSED 127.0.0.1:1)"),
      });
      expect(result.stderr).not.toContain("s3cret");
    }),
  );
  const excess = await cli.run(["keys", "list", url, "--database", "x.db"]);
  expect(excess).toMatchObject({ status: 2, stderr: expect.stringContaining("postgres://app@127.0.0.1:1/") });
  const excessJson = await cli.run(["keys", "list", url, "--json"]);
  expect(JSON.parse(excessJson.stderr)).toMatchObject({ code: "usage_error" });
  for (const { stderr } of [excess, excessJson]) expect(stderr).not.toContain("s3cret");
  const invalid = await cli.run(["keys", "list", "--postgres", "app:s3cret@db"]);
  expect(invalid).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("Use a URL such as postgres://"),
  });
  expect(invalid.stderr).not.toContain("s3cret");
});

test("a URL is not the path of a SQLite database", async () => {
  const create = ["accounts", "create", "acme", "--plan", "free"];
  const url = "postgres://app:s3cret@127.0.0.1:1/shop";
  const runs = [
    await cli.run([...create, "--database", url]),
    await cli.run(create, { env: { STORE_ORDERS_DATABASE: url.replace("postgres", "POSTGRESQL") } }),
  ];
  for (const { status, stderr } of runs) {
    expect(status).toBe(2);
    expect(stderr).toMatch(
      /(DATABASE|--database): This is a URL, .* use --postgres or STORE_ORDERS_POSTGRES\.$/m,
    );
    expect(stderr).not.toContain("s3cret");
  }
  expect(existsSync(pathOf("postgres:")) || existsSync(pathOf("POSTGRESQL:"))).toBe(false);
});

test("only commands that add data create a missing database; the others exit with 2", async () => {
  const commands = [
    "accounts list",
    "accounts set-plan acme --plan pro",
    "accounts show acme",
    "accounts reset acme",
    "keys list",
    "orders get 1",
    "orders list",
    "keys issue --account acme",
    "orders export",
    "orders ship 1",
  ];
  await Promise.all(
    commands.map(async (command) => {
      const { status, stderr } = await cli.run([...command.split(" "), "--database", "mistyped.db"]);
      expect({ command, status }).toEqual({ command, status: 2 });
      expect(stderr).toContain("error: --database: There is no database at mistyped.db. Check the path, or");
    }),
  );
  expect(existsSync(pathOf("mistyped.db"))).toBe(false);
  symlinkSync("endless.db", pathOf("endless.db"));
  const endless = await cli.run(["accounts", "list", "--database", "endless.db"]);
  expect(endless.stderr).toContain("endless.db cannot be opened. Its symbolic links have no end (ELOOP).");
  expect((await cli.run(["orders", "place", "--id", "1", "--database", "created.db"])).status).toBe(0);
});

test.skipIf(skipsBecause("a database of another user", notRoot))(
  "a warning is printed for a database of another user that everyone can access, and a fix if nobody else can",
  async () => {
    const directory = pathOf("shared");
    mkdirSync(directory);
    for (const path of [cli.directory, directory]) chmodSync(path, 0o777);
    const path = join(directory, "shared.db");
    await createSqliteStore({ path }).close();
    const nobody = { uid: 65_534, gid: 65_534 };
    const run = (command: string, user = {}) => {
      const options = { env: baseEnvironment(), cwd: "/", ...user };
      return waitForExit(spawn(process.execPath, [bin, ...command.split(" "), "--database", path], options));
    };
    chmodSync(path, 0o666);
    const other = await run("accounts list", nobody);
    expect(other).toMatchObject({ status: 0, stderr: expect.stringContaining(`Run 'chmod 600 ${path}'`) });
    expect(await run("accounts list")).toMatchObject({ status: 0, stderr: "" });
    const denied = `${path} cannot be opened. You have no permission: the file cannot be read (EACCES). Run this as its owner`;
    for (const command of ["accounts list", `database rehearse ${path}`]) {
      const { status, stderr } = await run(command, nobody);
      expect([command, status, stderr]).toEqual([command, 3, expect.stringContaining(denied)]);
    }
    // The user that opens it owns it now, and can only read it.
    chownSync(path, 65_534, 65_534);
    chmodSync(path, 0o444);
    chmodSync(directory, 0o555);
    const reader = await run("accounts list", nobody);
    expect(reader).toMatchObject({ status: 0, stderr: expect.not.stringContaining("another user") });
  },
);

test("an import that the store interrupts reports its last line, and continues when it is repeated", async () => {
  const lines = Array.from({ length: 3_000 }, (_, id) => `{"id":${id},"petId":${id}}\n`).join("");
  await createSqliteStore({ path: pathOf("limited.db") }).close();
  const db = new DatabaseSync(pathOf("limited.db"));
  db.exec(
    "CREATE TRIGGER full BEFORE INSERT ON orders WHEN NEW.id = 2000 BEGIN SELECT RAISE(FAIL, 'x'); END",
  );
  db.close();
  const { status, stdout, stderr } = await cli.run(["orders", "import", "-", "--database", "limited.db"], {
    input: lines,
  });
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toMatch(
    /^The import stopped after line 2000\. Fix the cause, then import the same file again/m,
  );
  expect(stderr).not.toMatch(/^\s+at /m);
  const repaired = new DatabaseSync(pathOf("limited.db"));
  repaired.exec("DROP TRIGGER full");
  repaired.close();
  const again = await cli.run(["orders", "import", "-", "--json", "--database", "limited.db"], {
    input: lines,
  });
  expect(JSON.parse(again.stdout)).toEqual({ placed: 1_000, unchanged: 2_000, rejected: 0 });
});
