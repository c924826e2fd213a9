import { CommanderError } from "commander";
import { expect, test } from "vitest";
import {
  EXIT,
  explainMissingPackage,
  formatErrorReport,
  toErrorReport,
  toExitStatus,
  wantsJson,
} from "../../lib/cli/errors.ts";
import { NewerSchemaError, StoreUnavailableError } from "../../lib/core/errors.ts";

/** An error of another copy of the package: the same code, but not the same class. */
function foreignError(code: string, properties: object = {}): Error {
  return Object.assign(new Error("The message."), { code, ...properties });
}

test.each([
  ["invalid_input", EXIT.usage],
  ["newer_schema", EXIT.usage],
  ["store_unavailable", EXIT.unreachable],
  ["EPIPE", EXIT.failed],
])("an error with the code %s exits with %i, whatever its class", (code, status) => {
  expect(toExitStatus(foreignError(code))).toBe(status);
});

const issues = [
  { path: "a", message: "First." },
  { path: "b", message: "Second." },
];

test("every issue of an invalid input is printed on a line of its own, whatever the error's class", () => {
  const report = toErrorReport(foreignError("invalid_input", { issues }));
  expect(formatErrorReport(report, false)).toBe("error: The input has 2 errors:\n  a: First.\n  b: Second.");
});

test("with --json an error is one line of JSON with its code, message and issues", () => {
  const json = (error: unknown) => JSON.parse(formatErrorReport(toErrorReport(error), true));
  const message = "The message.";
  expect(json(foreignError("invalid_input", { issues }))).toEqual({ code: "invalid_input", message, issues });
  expect(json(foreignError("store_unavailable"))).toEqual({ code: "store_unavailable", message });
  expect(json(foreignError("newer_schema"))).toEqual({ code: "newer_schema", message });
  expect(json(foreignError("EPIPE"))).toEqual({ code: "internal_error", message });
  const path = "postgres://user:s3cret@localhost/db";
  expect(
    formatErrorReport(toErrorReport(foreignError("invalid_input", { issues: [{ path, message }] })), true),
  ).not.toContain("s3cret");
  const cause = new Error("First line.\nSecond line.");
  const line = formatErrorReport(toErrorReport(new Error("Outer.", { cause })), true);
  expect(line).not.toContain("\n");
  expect(JSON.parse(line).message).toBe("Outer. (First line.\nSecond line.)");
});

test("a usage error has the code usage_error and no prefix in its message", () => {
  const error = new CommanderError(1, "commander.unknownOption", "error: unknown option '--x'");
  expect(toErrorReport(error)).toEqual({ code: "usage_error", message: "unknown option '--x'" });
  const help = new CommanderError(1, "commander.help", "(outputHelp)");
  expect(toErrorReport(help).message).toBe("A command is missing. Add --help for usage.");
});

test("--json counts anywhere before the end of the options", () => {
  expect(wantsJson(["--json", "orders", "list"])).toBe(true);
  expect(wantsJson(["orders", "list", "--json"])).toBe(true);
  expect(wantsJson(["orders", "list", "--", "--json"])).toBe(false);
  expect(wantsJson([])).toBe(false);
});

test.each([
  ["ERR_MODULE_NOT_FOUND", "Cannot find package '@aws-sdk/client-dynamodb' imported from /lib/cli/tables.js"],
  // Yarn 4.18.1 with Plug'n'Play.
  [
    "MODULE_NOT_FOUND",
    "store-orders tried to access @aws-sdk/client-dynamodb (a peer dependency) but it isn't provided by your application; " +
      "this makes the require call ambiguous and unsound.\n\nRequired package: @aws-sdk/client-dynamodb (via " +
      '"@aws-sdk/client-dynamodb/package.json")\nRequired by: store-orders@virtual:04#npm:0.1.0 (via /app/.yarn/)',
  ],
])("a package that is not installed (%s) exits with 2 and a message how to install it", (code, text) => {
  const error = explainMissingPackage(Object.assign(new Error(text), { code }));
  expect(toExitStatus(error)).toBe(2);
  expect(toErrorReport(error).message).toBe(
    "@aws-sdk/client-dynamodb: The package is not installed, and this command needs it. " +
      "Run 'npm install @aws-sdk/client-dynamodb' (or 'yarn add @aws-sdk/client-dynamodb'), with --global if store-orders was installed with it.",
  );
});

test.each([
  [
    "a missing file",
    Object.assign(new Error("Cannot find module '/x.js'"), { code: "ERR_MODULE_NOT_FOUND" }),
  ],
  ["another error", new Error("Cannot find package 'x'")],
  ["no error", "Cannot find package 'x'"],
])("%s stays as it is", (_name, error) => {
  expect(explainMissingPackage(error)).toBe(error);
});

test("a newer version that was noticed while the database was in use exits with 2 as well", () => {
  const cause = new NewerSchemaError("The table has layout 2.");
  const error = new StoreUnavailableError("Upgrade store-orders.", { cause, retryable: false });
  expect(toExitStatus(error)).toBe(EXIT.usage);
  const message = "Upgrade store-orders. (The table has layout 2.)";
  expect(toErrorReport(error)).toEqual({ code: "newer_schema", message });
});

test("a line feed in an error begins no line", () => {
  const issue = { path: "domains.a\nerror: b", message: "Unknown key." };
  const report = (issues: readonly (typeof issue)[]) =>
    formatErrorReport({ code: "invalid_input", message: `${issue.path}: ${issue.message}`, issues }, false);
  const line = String.raw`domains.a\nerror: b: Unknown key.`;
  expect(report([issue])).toBe(`error: ${line}`);
  expect(report([issue, issue])).toBe(`error: The input has 2 errors:\n  ${line}\n  ${line}`);
});

test("control characters in an error do not reach the terminal", () => {
  const issues = [{ path: "domains.a\u001b[31m", message: "Unknown key." }];
  const message = "domains.a\u001b[31m: Unknown key.\u0007";
  for (const report of [
    { code: "invalid_input", message, issues },
    { code: "invalid_input", message, issues: [...issues, ...issues] },
  ]) {
    expect(formatErrorReport(report, false)).toContain("domains.a\\u001b[31m: Unknown key.");
    expect(formatErrorReport(report, false)).not.toMatch(/[^\P{Cc}\n]/u);
    const named = { ...report, message: "a\u009b\u202e" };
    expect(formatErrorReport(named, true)).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(formatErrorReport(named, true))).toEqual(named);
  }
});
