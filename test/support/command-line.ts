import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import { type ProcessIo, runProgram } from "../../lib/cli/program.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const bin = join(root, "lib/cli/bin.ts");

export interface CommandResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Options {
  /** Environment variables in addition to `baseEnvironment`; nothing else is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
}

const DATABASE_LINE = /^database.*\n/m;

/** Creates a command line in a temporary directory whose commands have a process each; `dispose` removes all of it. */
export function createCommandLine() {
  const directory = mkdtempSync(join(tmpdir(), "store-orders-"));
  const children: ChildProcessWithoutNullStreams[] = [];
  const start = (args: readonly string[], { env = {} }: Options = {}) => {
    const child = spawn(process.execPath, [bin, ...args], {
      cwd: directory,
      env: { ...baseEnvironment(), ...env },
    });
    children.push(child);
    return child;
  };

  async function run(args: readonly string[], options: Options = {}): Promise<CommandResult> {
    const child = start(args, options);
    child.stdin.on("error", () => {});
    child.stdin.end(options.input);
    return waitForExit(child);
  }

  return {
    directory,
    run,
    /** Starts a command in its own process. */
    spawn: start,
    /** Starts `serve` on any port, and waits until it has printed `pattern`, by default its database. */
    async serve(
      args: readonly string[],
      { pattern = DATABASE_LINE, ...options }: Options & { readonly pattern?: RegExp } = {},
    ) {
      const child = start(["serve", "--port", "0", ...args], options);
      const exit = waitForExit(child);
      const message = await waitForOutput(child, pattern);
      /** Sends a signal, and resolves with what it has written once it has ended. */
      const stop = (signal: NodeJS.Signals = "SIGTERM") => {
        child.kill(signal);
        return exit;
      };
      return { url: urlIn(message), message, child, stop };
    },
    /** Runs a command with `--json` and returns its result; throws if it fails. */
    json: <T>(...args: readonly string[]): Promise<T> => resultOf(run, args),
    [Symbol.dispose]() {
      for (const child of children) child.kill("SIGKILL");
      rmSync(directory, { recursive: true });
    },
  };
}

export interface OptionsHere extends Options {
  /** Waits for what does not exist yet. @default it never will */
  readonly wait?: ProcessIo["wait"];
  /** True if the reader of standard output has gone. */
  readonly isUnread?: boolean;
}

/**
 * A command line for the tests of a file, whose commands run in this process, which saves their starts. Commands that use
 * AWS clients, crash, or are about signals need a process each. Those of two directories must not run at the same time.
 */
export function useCommandLine() {
  const { directory, spawn, [Symbol.dispose]: dispose } = createCommandLine();
  const stops: ((signal: string) => void)[] = [];

  function start(args: readonly string[], options: OptionsHere = {}, onOutput = (_stdout: string) => {}) {
    const { env = {}, input = "", wait = async () => {}, isUnread = false } = options;
    const output = { stdout: "", stderr: "" };
    const collect = (name: keyof typeof output) =>
      new Writable({
        decodeStrings: false,
        write(chunk, _encoding, done) {
          output[name] += chunk;
          if (name === "stdout") onOutput(output.stdout);
          done();
        },
      });
    const { promise: stopped, resolve: stop } = Promise.withResolvers<string>();
    stops.push(stop);
    process.chdir(directory);
    const exit = runProgram({
      argv: args,
      env: { ...baseEnvironment(), ...env },
      stdin: Readable.from(input.length === 0 ? [] : [Buffer.from(input)]),
      stdout: isUnread ? new PassThrough().destroy() : collect("stdout"),
      stderr: collect("stderr"),
      waitForStop: () => stopped,
      wait,
    }).then((status) => ({ status, ...output }));
    return { exit, stop };
  }

  const run = (args: readonly string[], options?: OptionsHere) => start(args, options).exit;

  /** Starts a command that runs until it is stopped, and waits until it has printed `pattern`. */
  const open = async (
    args: readonly string[],
    { pattern, ...options }: OptionsHere & { readonly pattern: RegExp },
  ) => {
    const { promise: started, resolve } = Promise.withResolvers<string>();
    const { exit, stop } = start(args, options, (stdout) => {
      if (pattern.test(stdout)) resolve(stdout);
    });
    const ended = exit.then(({ status, stderr }) => {
      throw new Error(`${args[0]} exited with ${status} before its output matched ${pattern}: ${stderr}`);
    });
    const message = await Promise.race([started, ended]);
    return {
      message,
      stop(signal: NodeJS.Signals = "SIGTERM") {
        stop(signal);
        return exit;
      },
    };
  };

  afterAll(() => {
    for (const stop of stops) stop("the end of the tests");
    process.chdir(root);
    dispose();
  });

  return {
    directory,
    run,
    spawn,
    open,
    async serve(
      args: readonly string[],
      { pattern = DATABASE_LINE, ...options }: OptionsHere & { readonly pattern?: RegExp } = {},
    ) {
      const server = await open(["serve", "--port", "0", ...args], { pattern, ...options });
      return { ...server, url: urlIn(server.message) };
    },
    json: <T>(...args: readonly string[]): Promise<T> => resultOf(run, args),
  };
}

/** The address in the message of a server, without a path. */
function urlIn(message: string): string {
  return /(http:\S+)\/v1/.exec(message)?.[1] ?? "";
}

async function resultOf(run: (args: readonly string[]) => Promise<CommandResult>, args: readonly string[]) {
  const { status, stdout, stderr } = await run([...args, "--json"]);
  if (status !== 0) throw new Error(`${args.join(" ")} exited with ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

/** The environment that any process needs, and a compile cache that makes starts faster. */
export function baseEnvironment(): Record<string, string> {
  const { PATH = "", HOME = "" } = process.env;
  return { PATH, HOME, NODE_COMPILE_CACHE: join(root, "node_modules/.cache/store-orders") };
}

export async function waitForExit(child: ChildProcessWithoutNullStreams): Promise<CommandResult> {
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.on("close", resolve);
  const status = await promise;
  return { status, ...output };
}

/** Returns the standard output of a process as soon as it matches the pattern. */
export async function waitForOutput(child: ChildProcessWithoutNullStreams, pattern: RegExp): Promise<string> {
  let output = "";
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    if (pattern.test(output)) resolve(output);
  });
  child.on("close", (status) => {
    reject(new Error(`The process exited with ${status} before its output matched ${pattern}: ${output}`));
  });
  return promise;
}
