import { execFile, fork } from "node:child_process";
import { channel } from "node:diagnostics_channel";
import { once } from "node:events";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { keepAwake } from "../../lib/node/tuning.ts";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("tuning-process.ts", import.meta.url));
const LOAD_HOOK = new URL("tuning-load-hook.ts", import.meta.url).href;
const COMMAND_LINE = fileURLToPath(new URL("../../lib/cli/bin.ts", import.meta.url));

/** Otherwise V8 lets the young generation exceed its size for as long as it marks the old one. */
const EXACT_SIZES = "--no-separate-gc-phases";

const LIMITED_MIB = 16;
const UNLIMITED_MIB = 24;

interface Setting {
  readonly flags?: readonly string[];
  readonly nodeOptions?: string;
}

/** Runs the program, which must print nothing to standard error, and returns what it measured. */
async function measure<Result>(
  args: readonly string[],
  { flags = [], nodeOptions = "" }: Setting = {},
): Promise<Result> {
  const env = { ...process.env, NODE_OPTIONS: nodeOptions };
  const { stdout, stderr } = await run(process.execPath, [...flags, PROGRAM, ...args], { env });
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Result;
}

const measureHeap = (args: readonly string[], { flags = [], ...setting }: Setting = {}) =>
  measure<{ readonly loaded: number; readonly idle: number; readonly again: number }>(["heap", ...args], {
    ...setting,
    flags: [EXACT_SIZES, ...flags],
  });

const hundredsOfCalls = (args: readonly string[], flags: readonly string[] = []) =>
  measure<number>(["optimization", ...args], {
    flags: ["--allow-natives-syntax", "--no-concurrent-recompilation", ...flags],
  });

const OTHER_RUNTIMES = [
  ["a version of V8 that it was not tested with", "untested"],
  ["another runtime", "bun"],
] as const;

describe.concurrent("the memory of a tuned process", () => {
  test("the young generation stays small under load, also after the process was idle", async () => {
    const { loaded, idle, again } = await measureHeap(["tuned"]);
    expect(loaded).toBeLessThanOrEqual(LIMITED_MIB);
    expect(idle).toBeLessThan(4);
    expect(again).toBeGreaterThan(8);
    expect(again).toBeLessThanOrEqual(LIMITED_MIB);
  });

  test.each([
    ["a flag", { flags: ["--max-semi-space-size=32"] }],
    ["a flag with underscores", { flags: ["--max_semi_space_size=32"] }],
    ["NODE_OPTIONS", { nodeOptions: "--max-semi-space-size=32" }],
  ])("a size that %s sets is kept", async (_name, setting) => {
    expect((await measureHeap(["tuned"], setting)).loaded).toBeGreaterThan(UNLIMITED_MIB);
  });

  test.each(OTHER_RUNTIMES)("nothing changes in %s", async (_name, runtime) => {
    expect((await measureHeap(["tuned", runtime])).loaded).toBeGreaterThan(UNLIMITED_MIB);
  });

  test("the memory of the compiler is freed at once, and later in a process that is not tuned", async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), "store-orders-heap-"));
    async function isFreedAtOnce(mode: string): Promise<boolean> {
      const path = join(directory.path, `${mode}.json`);
      const category = ["--trace-event-categories", "disabled-by-default-v8.compile"];
      await measureHeap([mode], { flags: [...category, "--trace-event-file-pattern", path] });
      const { traceEvents } = JSON.parse(await readFile(path, "utf8")) as {
        traceEvents: { name: string }[];
      };
      expect(traceEvents.some((event) => event.name === "V8.MaglevConcurrentFinalize")).toBe(true);
      return traceEvents.some((event) => event.name === "V8.MaglevDestruct");
    }
    expect(await isFreedAtOnce("tuned")).toBe(true);
    expect(await isFreedAtOnce("plain")).toBe(false);
  });
});

describe.concurrent("the compiler of a tuned process", () => {
  test("a function is optimized after about 1,000 calls, and much later without", async () => {
    expect(await hundredsOfCalls(["tuned"])).toBeLessThan(30);
    expect(await hundredsOfCalls(["plain"])).toBe(60);
  });

  test("a number of calls that a flag of Node sets is kept", async () => {
    expect(await hundredsOfCalls(["tuned"], ["--invocation_count_for_turbofan=9000"])).toBe(60);
  });

  test.each(OTHER_RUNTIMES)("nothing changes in %s", async (_name, runtime) => {
    expect(await hundredsOfCalls(["tuned", runtime])).toBe(60);
  });
});

test("startNodeServer() changes nothing in its process", async () => {
  expect((await measureHeap(["server"])).loaded).toBeGreaterThan(UNLIMITED_MIB);
  expect(await hundredsOfCalls(["server"])).toBe(60);
  expect(await measure<number>(["awake", "plain"])).toBeLessThan(4);
});

test("a tuned process polls for the next request of a client that sends one after another", async () => {
  expect(await measure<number>(["awake", "tuned"])).toBe(8);
});

describe("the event loop of a tuned process", () => {
  let client: object;
  let now = 1_000;
  let due: (() => void)[] = [];
  beforeAll(keepAwake);
  beforeEach(() => {
    client = {};
    due = [];
    vi.spyOn(performance, "now").mockImplementation(() => now);
    vi.spyOn(globalThis, "setImmediate").mockImplementation(((callback: () => void) =>
      due.push(callback)) as never);
  });
  afterEach(() => vi.restoreAllMocks());

  const begin = (socket: object) => channel("http.server.request.start").publish({ socket });
  const finish = () => channel("http.server.response.finish").publish({});
  const isAwake = () => due.length > 0;
  /** Lets time pass, in which the event loop turns every 0.01 ms while it is awake. */
  const pass = (ms: number) => {
    const end = now + ms;
    while (isAwake() && now < end) {
      now += 0.01;
      for (const callback of due.splice(0)) callback();
    }
    now = end;
  };

  /** Requests of 1 ms each, after pauses of `pauseMs`. */
  function requests(count: number, pauseMs: number, clientOf: () => object = () => client): void {
    for (let request = 0; request < count; request++) {
      pass(pauseMs);
      begin(clientOf());
      pass(1);
      finish();
    }
  }

  test("it stays awake for 0.2 ms when one client sends one request after another", () => {
    requests(20, 0.1);
    expect(isAwake()).toBe(true);
    pass(0.15);
    expect(isAwake()).toBe(true);
    pass(0.2);
    expect(isAwake()).toBe(false);
  });

  test("it sleeps until eight requests have come soon, and again after one that has not", () => {
    requests(8, 0.1);
    expect(isAwake()).toBe(false);
    requests(1, 0.1);
    expect(isAwake()).toBe(true);
    requests(1, 0.5);
    expect(isAwake()).toBe(false);
  });

  test("it sleeps when requests come from several clients in turn", () => {
    requests(100, 0.1, () => ({}));
    expect(isAwake()).toBe(false);
  });

  test("it sleeps while a request is in progress", () => {
    requests(20, 0.1);
    begin(client);
    pass(0.05);
    expect(isAwake()).toBe(false);
  });
});

test.each([
  ["`serve` tunes its process", [], 8, LIMITED_MIB],
  ["`serve --no-tuning` leaves it alone", ["--no-tuning"], UNLIMITED_MIB, Number.POSITIVE_INFINITY],
])("%s", async (_title, flags, more, most) => {
  const execArgv = [EXACT_SIZES, "--import", LOAD_HOOK];
  const args = ["serve", "--port", "0", "--database", ":memory:", ...flags];
  const server = fork(COMMAND_LINE, args, { execArgv, stdio: ["ignore", "pipe", "ignore", "ipc"] });
  // A server prints its address once it listens.
  if (server.stdout !== null) await once(server.stdout, "data");
  server.send("load");
  const [loaded] = await once(server, "message");
  server.kill();
  expect(loaded).toBeGreaterThan(more);
  expect(loaded).toBeLessThanOrEqual(most);
});
