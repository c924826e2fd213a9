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
  "openapi",
];

test("help at every level shows usage and examples, and the store options where a store is used", async () => {
  await Promise.all(
    LEVELS.map(async (level) => {
      const args = level.split(" ").filter(Boolean);
      const { status, stdout, stderr } = await cli.run([...args, "--help"]);
      expect({ level, status, stderr }).toEqual({ level, status: 0, stderr: "" });
      expect(stdout).toContain(`Usage: ${["store-orders", ...args].join(" ")}`);
      expect(stdout).toMatch(/Examples:\n {2}\$ .*\bstore-orders /);
      expect(stdout).toContain("--json");
      const usesStore = !/^(?:domains|openapi)\b/.test(level);
      for (const option of ["--database <path>", "--dynamodb <prefix>"]) {
        expect({ level, option, shown: stdout.includes(option) }).toEqual({
          level,
          option,
          shown: usesStore,
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
  expect(stdout.replaceAll(/\s+/g, " ")).toMatch(/--plan <plan> the plan \(choices: [^)]+\) \(required\)/);
  expect(stdout.match(/\(required\)/g)).toHaveLength(1);
});
