import { execFile, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("heap-growth-process.ts", import.meta.url));
const LOAD_HOOK = new URL("heap-load-hook.ts", import.meta.url).href;
const COMMAND_LINE = fileURLToPath(new URL("../../lib/cli/bin.ts", import.meta.url));

/** Otherwise V8 lets the young generation exceed its size for as long as it marks the old one. */
const EXACT_SIZES = "--no-separate-gc-phases";

const LIMITED_MIB = 16;
const UNLIMITED_MIB = 24;

interface Setting {
  readonly flags?: readonly string[];
  readonly nodeOptions?: string;
}

/** Runs the program, and returns the sizes of its young generation and what it printed to standard error. */
async function allocate(args: readonly string[], { flags = [], nodeOptions = "" }: Setting = {}) {
  const env = { ...process.env, NODE_OPTIONS: nodeOptions };
  const { stdout, stderr } = await run(process.execPath, [EXACT_SIZES, ...flags, PROGRAM, ...args], { env });
  const sizes: Record<"loaded" | "idle" | "again", number> = JSON.parse(stdout.split("\n").at(-1) ?? "");
  return { ...sizes, stderr };
}

describe.concurrent("limitHeapGrowth()", () => {
  test("the young generation of a loaded process stays small, and is large without the function", async () => {
    const [limited, free] = await Promise.all([allocate(["limited"]), allocate([])]);
    expect(limited.loaded).toBeLessThanOrEqual(LIMITED_MIB);
    expect(free.loaded).toBeGreaterThan(UNLIMITED_MIB);
  });

  test("startNodeServer() calls it, unless the process is to be left alone", async () => {
    const [limited, free] = await Promise.all([allocate(["server"]), allocate(["free-server"])]);
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

  test.each([
    ["a version of V8 that it was not tested with", "untested"],
    ["another runtime", "bun"],
  ])("it changes and prints nothing in %s", async (_name, runtime) => {
    const { loaded, stderr } = await allocate(["limited", runtime]);
    expect(loaded).toBeGreaterThan(UNLIMITED_MIB);
    expect(stderr).toBe("");
  });

  test("it prints nothing in this version of Node", async () => {
    expect((await allocate(["limited"])).stderr).toBe("");
  });
});

test("the memory of the compiler is freed at once, and later without the function", async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), "store-orders-heap-"));
  async function freedAtOnce(name: string): Promise<boolean> {
    const path = join(directory.path, `${name}.json`);
    const trace = [
      "--trace-event-categories",
      "disabled-by-default-v8.compile",
      "--trace-event-file-pattern",
      path,
    ];
    await allocate([name], { flags: trace });
    const { traceEvents } = JSON.parse(await readFile(path, "utf8")) as { traceEvents: { name: string }[] };
    expect(traceEvents.some((event) => event.name === "V8.MaglevConcurrentFinalize")).toBe(true);
    return traceEvents.some((event) => event.name === "V8.MaglevDestruct");
  }
  expect(await freedAtOnce("limited")).toBe(true);
  expect(await freedAtOnce("unlimited")).toBe(false);
});

test("the young generation of `serve` stays small", async () => {
  const execArgv = [EXACT_SIZES, "--import", LOAD_HOOK];
  const args = ["serve", "--port", "0", "--database", ":memory:"];
  const server = fork(COMMAND_LINE, args, { execArgv, stdio: ["ignore", "pipe", "ignore", "ipc"] });
  // A server prints its address once it listens.
  if (server.stdout !== null) await once(server.stdout, "data");
  server.send("load");
  const [loaded] = await once(server, "message");
  server.kill();
  expect(loaded).toBeGreaterThan(8);
  expect(loaded).toBeLessThanOrEqual(LIMITED_MIB);
});
