import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { runProgram } from "../../../lib/cli/program.ts";
import { createCommandLine, waitForExit } from "../../support/command-line.ts";

const cli = createCommandLine({ shareProcess: true });
afterAll(() => cli[Symbol.dispose]());

/** Writes a file, and returns its path. */
function writeInput(name: string, content: string): string {
  const path = join(cli.directory, name);
  writeFileSync(path, content);
  return path;
}

let databases = 0;

test("an interactive terminal shows a progress bar, and rejected lines above it", async () => {
  const lines = Array.from({ length: 2_500 }, (_, id) => (id === 3 ? "x" : `{"id":${id}}`)).join("\n");
  async function runInteractively(args: readonly string[]) {
    const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 200 });
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    stdin.end(lines);
    const database = join(cli.directory, `${databases++}.db`);
    const waitForStop = () => new Promise<string>(() => {});
    const options = ["--database", database, "--json"];
    const argv = [...args, ...options];
    const status = await runProgram({ env: {}, stdin, stdout, stderr, waitForStop, argv });
    stderr.end();
    stdout.end();
    return { status, screen: await text(stderr), result: await text(stdout) };
  }

  const withSize = await runInteractively(["orders", "import", writeInput("progress.ndjson", lines)]);
  expect(withSize).toMatchObject({ status: 1, result: '{"placed":2499,"unchanged":0,"rejected":1}\n' });
  expect(withSize.screen).toContain(`"line":4,"message":"This is not valid JSON."`);
  expect(withSize.screen).toMatch(/█+ 100% \| 2499 placed, 0 unchanged, 1 rejected/);
  const streamed = await runInteractively(["orders", "import", "-"]);
  expect(streamed.screen).toContain("2499 placed, 0 unchanged, 1 rejected");
  expect(streamed.screen).not.toContain("%");
});

test("an import that a signal stops prints how to continue, and continues when it is repeated", async () => {
  const count = 200_000;
  const lines = Array.from({ length: count }, (_, id) => `{"id":${id},"petId":7}\n`).join("");
  const file = writeInput("interrupted.ndjson", lines);
  const store = ["--database", "interrupted.db"];
  const importing = cli.spawn(["orders", "import", file, ...store]);
  const exit = waitForExit(importing);
  const path = join(cli.directory, "interrupted.db");
  await expect.poll(() => ordersIn(path), { timeout: 20_000, interval: 20 }).toBeGreaterThan(0);
  importing.kill("SIGINT");
  const { status, stdout, stderr } = await exit;
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toMatch(
    /^The import stopped after line \d+\. To continue, import the same file again; orders that were imported are skipped\.\n$/,
  );
  const imported = ordersIn(path);
  expect(imported).toBeLessThan(count);
  expect(await cli.json("orders", "import", file, ...store)).toEqual({
    placed: count - imported,
    unchanged: imported,
    rejected: 0,
  });
});

test("an import that waits for standard input stops at a signal", async () => {
  const importing = cli.spawn(["orders", "import", "-", "--database", "waiting.db"]);
  importing.stdin.write('{"id":1}\n');
  const exit = waitForExit(importing);
  await expect.poll(() => existsSync(join(cli.directory, "waiting.db")), { timeout: 20_000 }).toBe(true);
  await sleep(300);
  importing.kill("SIGINT");
  const { status, stderr } = await exit;
  expect(status).toBe(1);
  expect(stderr).toMatch(/^The import stopped after line \d+\. To continue, import the same file again/);
});

test("an export into a file shows its progress on a terminal, and one onto the terminal does not", async () => {
  const database = join(cli.directory, "exported.db");
  const lines = Array.from({ length: 12_000 }, (_, id) => `{"id":${id}}\n`).join("");
  await cli.run(["orders", "import", "-", "--database", database], { input: lines });
  const runExport = async (isTTY: boolean) => {
    const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 200 });
    const [stdin, stdout] = [new PassThrough(), Object.assign(new PassThrough(), { isTTY })];
    const waitForStop = () => new Promise<string>(() => {});
    const argv = ["orders", "export", "--database", database];
    const exported = text(stdout);
    expect(await runProgram({ env: {}, stdin, stdout, stderr, waitForStop, argv })).toBe(0);
    stderr.end();
    stdout.end();
    expect((await exported).match(/\n/g)).toHaveLength(12_000);
    return text(stderr);
  };
  expect(await runExport(false)).toContain("12,000 orders exported");
  expect(await runExport(true)).toBe("");
});

/** The number of committed orders in a database file, which may not exist yet. */
function ordersIn(path: string): number {
  try {
    const db = new DatabaseSync(path, { readOnly: true });
    try {
      return Number(db.prepare("SELECT count(*) AS count FROM orders").get()?.["count"]);
    } finally {
      db.close();
    }
  } catch {
    return 0;
  }
}
