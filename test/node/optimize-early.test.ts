import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("optimize-early-process.ts", import.meta.url));

/** Calls a function until V8 has optimized it. Returns how many hundreds of calls that took, up to 60. */
async function hundredsOfCalls(args: readonly string[], flags: readonly string[] = []): Promise<number> {
  const options = ["--allow-natives-syntax", "--no-concurrent-recompilation", ...flags];
  const { stdout, stderr } = await run(process.execPath, [...options, PROGRAM, ...args]);
  expect(stderr).toBe("");
  return Number(stdout);
}

describe.concurrent("optimizeEarly()", () => {
  test("a function is optimized after about 1,000 calls, and much later without", async () => {
    expect(await hundredsOfCalls(["early"])).toBeLessThan(30);
    expect(await hundredsOfCalls([])).toBe(60);
  });

  test("startNodeServer() calls it after 50 requests, unless the process is to be left alone", async () => {
    expect(await hundredsOfCalls(["49"])).toBe(60);
    expect(await hundredsOfCalls(["50"])).toBeLessThan(30);
    expect(await hundredsOfCalls(["50-late"])).toBe(60);
  });

  test("a number that a flag of Node sets is kept", async () => {
    expect(await hundredsOfCalls(["early"], ["--invocation_count_for_turbofan=9000"])).toBe(60);
  });

  test.each([
    ["a version of V8 that it was not tested with", "untested"],
    ["another runtime", "bun"],
  ])("it changes nothing in %s", async (_name, runtime) => {
    expect(await hundredsOfCalls(["early", runtime])).toBe(60);
  });
});
