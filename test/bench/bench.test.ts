import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { baseEnvironment, waitForExit } from "../support/command-line.ts";

test.each([
  [["--onyl", "list"], "Unknown option '--onyl'"],
  [["--only", "lisst"], "There is no job lisst. Jobs: list, cancel,"],
  [["--rounds", "x"], "--rounds: 'x' is invalid. Use a whole number from 1 to 9999."],
  [["--seconds", "0"], "--seconds: '0' is invalid."],
])("the benchmark with %j exits with 2 and its usage, and measures nothing", async (args, message) => {
  const program = fileURLToPath(new URL("bench.ts", import.meta.url));
  const bench = spawn(process.execPath, [program, ...args], { env: baseEnvironment() });
  const { status, stdout, stderr } = await waitForExit(bench);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toContain(message);
  expect(stderr).toMatch(/^Usage: npm run bench -- .*\n$/m);
  expect(stderr).not.toContain("    at ");
});
