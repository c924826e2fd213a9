import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import {
  type CommandLine,
  type CommandResult,
  waitForExit,
  waitForOutput,
} from "../../support/command-line.ts";
import type { Acknowledgement, Job } from "./worker-process.ts";

/** A process that may be killed at any moment. */
export interface TestProcess {
  kill(): void;
  /** Resolves when it has ended; rejects where it ended by its own fault. Tells whether it was killed. */
  readonly over: Promise<"killed" | "finished">;
}

/** A worker that waits for its job. */
export interface Worker extends TestProcess {
  begin(job: Job, told: (acknowledgement: Acknowledgement) => void): void;
}

/** Starts a worker, and waits until it has opened the database. */
export async function startWorker(path: string): Promise<Worker> {
  const program = new URL("worker-process.ts", import.meta.url);
  const child = fork(program, [path], { serialization: "advanced" });
  // What it has sent comes in before the channel closes.
  const over = Promise.all([once(child, "exit"), once(child, "disconnect")]).then(() => end("worker", child));
  over.catch(() => {});
  await Promise.race([once(child, "message"), over]);
  return {
    over,
    kill: () => child.kill("SIGKILL"),
    begin(job, told) {
      child.on("message", told);
      child.send(job);
    },
  };
}

/** Runs a command, which tells what it has done when it is through. */
export function startCommand(
  cli: CommandLine,
  words: readonly string[],
  { input, told }: { input?: string; told: (result: unknown) => void },
): TestProcess {
  const child = cli.spawn([...words, "--json"]);
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const over = waitForExit(child).then(({ status, stdout, stderr }: CommandResult) => {
    if (status === 0) told(JSON.parse(stdout));
    return end(`${words.join(" ")}: ${stderr}`, child);
  });
  over.catch(() => {});
  return { over, kill: () => child.kill("SIGKILL") };
}

/** Starts a server, and waits until it listens. */
export async function startServer(
  cli: CommandLine,
  path: string,
): Promise<TestProcess & { readonly url: string }> {
  const child = cli.spawn(["serve", "--port", "0", "--database", path]);
  const [, url = ""] = /(http:\S+\/v1)/.exec(await waitForOutput(child, /^database.*\n/m)) ?? [];
  const over = waitForExit(child).then(({ stderr }) => end(`serve: ${stderr.slice(-1_000)}`, child));
  over.catch(() => {});
  return { url, over, kill: () => child.kill("SIGKILL") };
}

function end(what: string, { exitCode, signalCode }: ChildProcess): "killed" | "finished" {
  if (signalCode === "SIGKILL") return "killed";
  if (exitCode === 0) return "finished";
  throw new Error(`${what} ended with ${exitCode ?? signalCode}.`);
}
