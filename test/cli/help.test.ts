import { afterAll, expect, test } from "vitest";
import { createCommandLine } from "../support/command-line.ts";

const cli = createCommandLine({ shareProcess: true });
afterAll(() => cli[Symbol.dispose]());

const LEVELS = [
  "",
  "serve",
  "accounts",
  "accounts create",
  "accounts set-plan",
  "accounts list",
  "accounts show",
  "accounts reset",
  "keys",
  "keys issue",
  "keys list",
  "keys rotate",
  "keys revoke",
  "keys unban",
  "orders",
  "orders import",
  "orders export",
  "orders get",
  "orders list",
  "orders place",
  "orders ship",
  "orders fulfil",
  "orders cancel",
  "database",
  "database backup",
  "domains",
  "domains records",
  "domains check",
  "domains watch",
  "domains schema",
  "tables",
  "tables create",
  "tables delete",
  "release",
  "smoke",
  "openapi",
];

/** The options that select a store which a group of commands does not use. */
const UNUSED: Readonly<Record<string, readonly string[]>> = {
  database: ["--dynamodb <prefix>"],
  tables: ["--database <path>"],
  domains: ["--database <path>", "--dynamodb <prefix>"],
  openapi: ["--database <path>", "--dynamodb <prefix>"],
  release: ["--database <path>", "--dynamodb <prefix>"],
  smoke: ["--database <path>", "--dynamodb <prefix>"],
};

test("help at every level shows usage and examples, and the options of the stores that the command can use", async () => {
  await Promise.all(
    LEVELS.map(async (level) => {
      const args = level.split(" ").filter(Boolean);
      const { status, stdout, stderr } = await cli.run([...args, "--help"]);
      expect({ level, status, stderr }).toEqual({ level, status: 0, stderr: "" });
      expect(stdout).toContain(`Usage: ${["store-orders", ...args].join(" ")}`);
      expect(stdout).toMatch(/Examples:\n(?: {2}\$ .*\n)*? {2}\$ .*\bstore-orders /);
      expect(stdout).toContain("--json");
      for (const option of ["--database <path>", "--dynamodb <prefix>"]) {
        expect({ level, option, shown: stdout.includes(option) }).toEqual({
          level,
          option,
          shown: UNUSED[args[0] ?? ""]?.includes(option) !== true,
        });
      }
    }),
  );
});

test("the top-level help lists every group, the exit statuses and the environment variables", async () => {
  const { stdout } = await cli.run(["--help"]);
  for (const group of ["serve", "accounts", "keys", "orders", "database", "domains", "tables", "openapi"]) {
    expect(stdout).toMatch(new RegExp(`^ {2}${group}\\b`, "m"));
  }
  expect(stdout).toMatch(/Exit status: 0 .* 1 .* 2 .* 3 /);
  for (const name of ["STORE_ORDERS_DATABASE", "STORE_ORDERS_DYNAMODB", "STORE_ORDERS_ENVIRONMENT"]) {
    expect(stdout).toContain(name);
  }
});

test("--version prints the version of the package", async () => {
  const { version } = (await import("../../package.json", { with: { type: "json" } })).default;
  expect(await cli.run(["--version"])).toEqual({ status: 0, stdout: `${version}\n`, stderr: "" });
});

test("help marks the options that a command requires", async () => {
  const { stdout } = await cli.run(["accounts", "create", "--help"]);
  expect(stdout.replaceAll(/\s+/g, " ")).toMatch(
    /--plan <plan> the plan \(choices: free, pro, business, enterprise\) \(required\)/,
  );
  expect(stdout.match(/\(required\)/g)).toHaveLength(1);
});

test("help shows defaults and choices in one style, beside the variable that sets them", async () => {
  const help = async (...args: string[]) =>
    (await cli.run([...args, "--help"])).stdout.replaceAll(/\s+/g, " ");
  const serve = await help("serve");
  expect(serve).toContain("(PORT; default: 8787)");
  expect(serve).toContain("(STORE_ORDERS_PLAN; default: free; choices: free, pro, business, enterprise)");
  expect(serve).toContain("(choices: silent, error, warn, info; default: info)");
  expect(await help("domains", "schema")).toContain("(choices: file, check, watch; default: file)");
  const texts = await Promise.all(LEVELS.map((level) => help(...level.split(" ").filter(Boolean))));
  for (const text of texts)
    expect(text).not.toMatch(/default [^a-z]|\) \((?!required)|choices: "|default: "/);
});
