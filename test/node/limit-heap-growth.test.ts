import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("heap-growth-process.ts", import.meta.url));
const COMMAND_LINE = fileURLToPath(new URL("../../lib/cli/bin.ts", import.meta.url));

const LIMITED_MIB = 16;
const UNLIMITED_MIB = 24;

interface Setting {
  readonly flags?: readonly string[];
  readonly nodeOptions?: string;
}

/** Runs the program, and returns the sizes of its young generation and what V8 traced. */
async function allocate(args: readonly string[], { flags = [], nodeOptions = "" }: Setting = {}) {
  const env = { ...process.env, NODE_OPTIONS: nodeOptions };
  const { stdout, stderr } = await run(process.execPath, [...flags, PROGRAM, ...args], { env });
  const sizes: Record<"loaded" | "idle" | "again", number> = JSON.parse(stdout.split("\n").at(-1) ?? "");
  return { ...sizes, trace: stdout, stderr };
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

  test("Maglev compiles nothing, and TurboFan still does", async () => {
    const flags = ["--trace-opt"];
    const [limited, free] = await Promise.all([allocate(["limited"], { flags }), allocate([], { flags })]);
    const compiled = (target: string) =>
      new RegExp(`completed compiling .*JSFunction load .*target ${target}`);
    expect(free.trace).toMatch(compiled("MAGLEV"));
    expect(limited.trace).not.toMatch(compiled("MAGLEV"));
    expect(limited.trace).toMatch(compiled("TURBOFAN"));
  });

  test.each([
    ["a flag", { flags: ["--max-semi-space-size=32"] }],
    ["a flag with underscores", { flags: ["--max_semi_space_size=32"] }],
    ["NODE_OPTIONS", { nodeOptions: "--max-semi-space-size=32" }],
  ])("a size that %s sets is kept", async (_name, setting) => {
    expect((await allocate(["limited"], setting)).loaded).toBeGreaterThan(UNLIMITED_MIB);
  });

  test("Maglev stays on if a flag turns it on", async () => {
    const { trace } = await allocate(["limited"], { flags: ["--maglev", "--trace-opt"] });
    expect(trace).toMatch(/completed compiling .*JSFunction load .*target MAGLEV/);
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

/** The tag changes with the flags of V8. */
const PRINT_TAG =
  "import v8 from 'node:v8'; process.on('exit', () => console.log(v8.cachedDataVersionTag()))";

async function tagAfter(args: readonly string[]): Promise<string | undefined> {
  const hook = `data:text/javascript,${encodeURIComponent(PRINT_TAG)}`;
  const running = run(process.execPath, ["--import", hook, ...args]);
  // A server prints its address, and then waits for a signal.
  if (args.includes("serve")) running.child.stdout?.once("data", () => running.child.kill("SIGTERM"));
  return (await running).stdout.trim().split("\n").at(-1);
}

test("`serve` is limited, and other commands are not", async () => {
  const [limited, unlimited, serve, other] = await Promise.all([
    tagAfter(["--eval", "require('node:v8').setFlagsFromString('--no-maglev')"]),
    tagAfter(["--eval", ""]),
    tagAfter([COMMAND_LINE, "serve", "--port", "0", "--database", ":memory:"]),
    tagAfter([COMMAND_LINE, "domains", "schema"]),
  ]);
  expect(limited).not.toBe(unlimited);
  expect(serve).toBe(limited);
  expect(other).toBe(unlimited);
});
