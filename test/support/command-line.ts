import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startCommandRunner } from "./command-runner.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const bin = join(root, "lib/cli/bin.ts");

/** The output and exit status of a command. */
export interface CommandResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Options {
  /** Environment variables in addition to `baseEnvironment`; nothing else is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  /** Standard input. */
  readonly input?: string | Uint8Array;
}

/** A server that `store-orders serve` runs. */
export interface ServeProcess {
  /** Without a path. */
  readonly url: string;
  /** What it has printed at its start. */
  readonly message: string;
  readonly child: ChildProcessWithoutNullStreams;
  /** Sends a signal, and resolves with what it has written once it has ended. */
  stop(signal?: NodeJS.Signals): Promise<CommandResult>;
}

/** Runs the real command line in a temporary directory; `dispose` removes all of it. */
export interface CommandLine {
  readonly directory: string;
  run(args: readonly string[], options?: Options): Promise<CommandResult>;
  /** Runs a command with `--json` and returns its result; throws if it fails. */
  json<T>(...args: readonly string[]): Promise<T>;
  spawn(args: readonly string[], options?: Options): ChildProcessWithoutNullStreams;
  /** Starts `serve` on any port, and waits until it has printed `pattern`, by default its database. */
  serve(args: readonly string[], options?: Options & { readonly pattern?: RegExp }): Promise<ServeProcess>;
  [Symbol.dispose](): void;
}

/**
 * Creates a command line. Each command has its own process, unless `shareProcess` is set: then `run` and `json` use
 * one process for all commands, which saves the starts. Commands that use AWS clients or crash need their own.
 */
export function createCommandLine({ shareProcess = false } = {}): CommandLine {
  const directory = mkdtempSync(join(tmpdir(), "store-orders-"));
  const runner = shareProcess ? startCommandRunner(directory, baseEnvironment()) : undefined;
  const children: ChildProcessWithoutNullStreams[] = [];
  const start: CommandLine["spawn"] = (args, { env = {} } = {}) => {
    const child = spawn(process.execPath, [bin, ...args], {
      cwd: directory,
      env: { ...baseEnvironment(), ...env },
    });
    children.push(child);
    return child;
  };

  async function run(args: readonly string[], options: Options = {}): Promise<CommandResult> {
    if (runner !== undefined) return runner.run(args, options);
    const child = start(args, options);
    child.stdin.on("error", () => {});
    child.stdin.end(options.input);
    return waitForExit(child);
  }

  return {
    directory,
    run,
    spawn: start,
    async serve(args, { pattern = /^database.*\n/m, ...options } = {}) {
      const child = start(["serve", "--port", "0", ...args], options);
      const exit = waitForExit(child);
      const message = await waitForOutput(child, pattern);
      const [, url = ""] = /(http:\S+)\/v1/.exec(message) ?? [];
      const stop: ServeProcess["stop"] = (signal = "SIGTERM") => {
        child.kill(signal);
        return exit;
      };
      return { url, message, child, stop };
    },
    async json(...args) {
      const { status, stdout, stderr } = await run([...args, "--json"]);
      if (status !== 0) throw new Error(`${args.join(" ")} exited with ${status}: ${stderr}`);
      return JSON.parse(stdout);
    },
    [Symbol.dispose]() {
      runner?.stop();
      for (const child of children) child.kill("SIGKILL");
      rmSync(directory, { recursive: true });
    },
  };
}

/** The environment that any process needs, and a compile cache that makes starts faster. */
export function baseEnvironment(): Record<string, string> {
  const { PATH = "", HOME = "" } = process.env;
  return { PATH, HOME, NODE_COMPILE_CACHE: join(root, "node_modules/.cache/store-orders") };
}

/** Collects the output of a process until it exits. */
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
