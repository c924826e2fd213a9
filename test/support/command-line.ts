import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const bin = join(root, "lib/cli/bin.ts");

/** What a command has said and how it ended. */
export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Options {
  /** Variables beside the few that any process needs: nothing leaks in from outside. */
  readonly env?: Readonly<Record<string, string>>;
  /** What comes over standard input. */
  readonly input?: string | Uint8Array;
}

/** The real command line, each command a process of its own, in a folder of its own; nothing outlives `dispose`. */
export interface CommandLine {
  readonly folder: string;
  run(words: readonly string[], options?: Options): Promise<Ended>;
  /** The result of a command that must succeed, from its JSON. */
  json<T>(...words: readonly string[]): Promise<T>;
  spawn(words: readonly string[], options?: Options): ChildProcessWithoutNullStreams;
  [Symbol.dispose](): void;
}

export function commandLine(): CommandLine {
  const folder = mkdtempSync(join(tmpdir(), "store-orders-"));
  const started: ChildProcessWithoutNullStreams[] = [];
  const start: CommandLine["spawn"] = (words, { env = {} } = {}) => {
    const child = spawn(process.execPath, [bin, ...words], {
      cwd: folder,
      env: { ...surroundings(), ...env },
    });
    started.push(child);
    return child;
  };

  async function run(words: readonly string[], options: Options = {}): Promise<Ended> {
    const child = start(words, options);
    child.stdin.on("error", () => {});
    child.stdin.end(options.input);
    return ended(child);
  }

  return {
    folder,
    run,
    spawn: start,
    async json(...words) {
      const { status, stdout, stderr } = await run([...words, "--json"]);
      if (status !== 0) throw new Error(`${words.join(" ")} ended with ${status}: ${stderr}`);
      return JSON.parse(stdout);
    },
    [Symbol.dispose]() {
      for (const child of started) child.kill("SIGKILL");
      rmSync(folder, { recursive: true });
    },
  };
}

/** What a process needs to run at all, and a cache that makes its start cheaper. */
export function surroundings(): Record<string, string> {
  const { PATH = "", HOME = "" } = process.env;
  return { PATH, HOME, NODE_COMPILE_CACHE: join(root, "node_modules/.cache/store-orders") };
}

/** Waits for a process to end. */
export async function ended(child: ChildProcessWithoutNullStreams): Promise<Ended> {
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      said[name] += text;
    });
  }
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.on("close", resolve);
  const status = await promise;
  return { status, ...said };
}

/** Waits until a process has written what is looked for to standard output, and returns all of that. */
export async function written(child: ChildProcessWithoutNullStreams, wanted: RegExp): Promise<string> {
  let text = "";
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.stdout.setEncoding("utf8").on("data", (more: string) => {
    text += more;
    if (wanted.test(text)) resolve(text);
  });
  child.on("close", (status) => reject(new Error(`ended with ${status} before it wrote ${wanted}: ${text}`)));
  return promise;
}
