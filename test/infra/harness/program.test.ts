import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { cloud } from "./cloud.ts";
import { END_WITH_PARENT, endOfSuite, run } from "./program.ts";

vi.setConfig({ testTimeout: 120_000 });

const folder = mkdtempSync(join(tmpdir(), "store-orders-"));
afterAll(() => rmSync(folder, { recursive: true }));

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
const untilEnded = (pid: number) => vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 30_000 });

/** Starts a program that never ends, without waiting for it. */
function startEndless(name: string, signal?: AbortSignal) {
  const file = join(folder, name);
  const program = "test/infra/programs/endless.ts";
  const config = { "store-orders:file": file };
  const outcome = run({ program, stack: "staging", config, cloud: cloud(), signal });
  const failure = outcome.then(
    () => undefined,
    (error: Error) => error.message,
  );
  const pid = async () => {
    await expect
      .poll(() => existsSync(file) && readFileSync(file, "utf8"), { timeout: 60_000 })
      .toMatch(/\d/);
    return Number(readFileSync(file, "utf8"));
  };
  return { pid, failure };
}

describe("a program that a test runs", () => {
  let started: ReturnType<typeof startEndless>;
  let pid = 0;

  test("runs while its test does", async () => {
    started = startEndless("in-a-test");
    pid = await started.pid();
    expect(isRunning(pid)).toBe(true);
  });

  test("ends with its test, and so does its run", async () => {
    await untilEnded(pid);
    expect(await started.failure).toBe("The test of this program has ended.");
  });
});

describe("a program that is started for all tests of a file", () => {
  let pid = 0;
  afterAll(() => untilEnded(pid));
  const started = startEndless("for-a-file");

  test("runs until the last of them, and ends before the next file", async () => {
    pid = await started.pid();
    expect(isRunning(pid)).toBe(true);
  });
});

describe("a program that several tests share, started while one of them runs", () => {
  let pid = 0;
  afterAll(() => untilEnded(pid));
  const signal = endOfSuite();

  test("runs while that test does", async () => {
    pid = await startEndless("shared", signal).pid();
    expect(isRunning(pid)).toBe(true);
  });

  test("still runs in the next test, and ends after the last", () => {
    expect(isRunning(pid)).toBe(true);
  });
});

test("a program ends with the process of its test, even if that is killed", async () => {
  const script = `
    const args = ["--import", ${JSON.stringify(END_WITH_PARENT)}, "--eval", "console.log(process.pid); setInterval(() => {}, 1e6)"];
    require("node:child_process").spawn(process.execPath, args, { stdio: ["pipe", "inherit", "inherit"] });
  `;
  const parent = spawn(process.execPath, ["--eval", script], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(parent.stdout.setEncoding("utf8"), "data")) as [string];
  expect(isRunning(Number(line))).toBe(true);
  parent.kill("SIGKILL");
  await untilEnded(Number(line));
});
