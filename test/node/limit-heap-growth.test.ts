import { execFile, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("heap-growth-process.ts", import.meta.url));
const LOAD_HOOK = new URL("heap-load-hook.ts", import.meta.url).href;
const COMMAND_LINE = fileURLToPath(new URL("../../lib/cli/bin.ts", import.meta.url));

const LIMITED_MIB = 16;
const UNLIMITED_MIB = 24;

interface Setting {
  readonly flags?: readonly string[];
  readonly nodeOptions?: string;
}

/** Runs the program, and returns the sizes of its young generation and what it printed to standard error. */
async function allocate(args: readonly string[], { flags = [], nodeOptions = "" }: Setting = {}) {
  const env = { ...process.env, NODE_OPTIONS: nodeOptions };
  const { stdout, stderr } = await run(process.execPath, [...flags, PROGRAM, ...args], { env });
  const sizes: Record<"loaded" | "idle" | "again", number> = JSON.parse(stdout.split("\n").at(-1) ?? "");
  return { ...sizes, stderr };
}

describe.concurrent("limitHeapGrowth()", () => {
  test("the young generation of a loaded process stays small, and is large without the function", async () => {
    const [limited, free] = await Promise.all([allocate(["limited"]), allocate([])]);
    expect(limited.loaded).toBeLessThanOrEqual(LIMITED_MIB);
    expect(free.loaded).toBeGreaterThan(UNLIMITED_MIB);
  });

  test("a process that was idle grows again, up to the same limit", async () => {
    const { idle, again } = await allocate(["limited"]);
    expect(idle).toBeLessThan(4);
    expect(again).toBeGreaterThan(8);
    expect(again).toBeLessThanOrEqual(LIMITED_MIB);
  });

  test.each([
    ["a flag", { flags: ["--max-semi-space-size=32"] }],
    ["a flag with underscores", { flags: ["--max_semi_space_size=32"] }],
    ["NODE_OPTIONS", { nodeOptions: "--max-semi-space-size=32" }],
  ])("a size that %s sets is kept", async (_name, setting) => {
    expect((await allocate(["limited"], setting)).loaded).toBeGreaterThan(UNLIMITED_MIB);
  });

  test("it changes and prints nothing in a version of V8 that it was not tested with", async () => {
    const { loaded, stderr } = await allocate(["limited", "untested"]);
    expect(loaded).toBeGreaterThan(UNLIMITED_MIB);
    expect(stderr).toBe("");
  });

  test("it prints nothing in this version of Node", async () => {
    expect((await allocate(["limited"])).stderr).toBe("");
  });
});

test("the young generation of `serve` stays small", async () => {
  const execArgv = ["--import", LOAD_HOOK];
  const args = ["serve", "--port", "0", "--database", ":memory:"];
  const server = fork(COMMAND_LINE, args, { execArgv, stdio: ["ignore", "pipe", "ignore", "ipc"] });
  // A server prints its address once it listens.
  if (server.stdout !== null) await once(server.stdout, "data");
  // Right after the start, the limit comes late.
  await sleep(500);
  server.send("load");
  const [loaded] = await once(server, "message");
  server.kill();
  expect(loaded).toBeGreaterThan(8);
  expect(loaded).toBeLessThanOrEqual(LIMITED_MIB);
});
