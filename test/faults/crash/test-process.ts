import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import {
  type CommandLine,
  type CommandResult,
  waitForExit,
  waitForOutput,
} from "../../support/command-line.ts";
import { type LocalAddress, type StoreAddress, storeOptions } from "../../support/store-address.ts";
import type { Acknowledgement, Job } from "./worker-process.ts";

/** A process that may be killed at any moment. */
export interface TestProcess {
  kill(): void;
  /** Resolves when the process was killed or has finished. Rejects if it failed. */
  readonly ended: Promise<"killed" | "finished">;
}

/** A worker that waits for its job. */
export interface Worker extends TestProcess {
  start(job: Job, onAcknowledgement: (acknowledgement: Acknowledgement) => void): void;
}

/** Starts a worker, and waits until it has opened the database. */
export async function startWorker(address: StoreAddress): Promise<Worker> {
  const program = new URL("worker-process.ts", import.meta.url);
  const child = fork(program, [JSON.stringify(address)], { serialization: "advanced" });
  // All messages arrive before the channel closes.
  const ended = Promise.all([once(child, "exit"), once(child, "disconnect")]).then(() =>
    end("worker", child),
  );
  ended.catch(() => {});
  await Promise.race([once(child, "message"), ended]);
  return {
    ended,
    kill: () => child.kill("SIGKILL"),
    start(job, onAcknowledgement) {
      child.on("message", onAcknowledgement);
      child.send(job);
    },
  };
}

/** Runs a command. `onResult` receives its output if it succeeds. */
export function startCommand(
  cli: CommandLine,
  args: readonly string[],
  { input, onResult }: { input?: string; onResult: (result: unknown) => void },
): TestProcess {
  const child = cli.spawn([...args, "--json"]);
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const ended = waitForExit(child).then(({ status, stdout, stderr }: CommandResult) => {
    if (status === 0) onResult(JSON.parse(stdout));
    return end(`${args.join(" ")}: ${stderr}`, child);
  });
  ended.catch(() => {});
  return { ended, kill: () => child.kill("SIGKILL") };
}

/** Starts a server, and waits until it listens. */
export async function startServer(
  cli: CommandLine,
  address: LocalAddress,
): Promise<TestProcess & { readonly url: string }> {
  const child = cli.spawn(["serve", "--port", "0", ...storeOptions(address)]);
  const [, url = ""] = /(http:\S+\/v1)/.exec(await waitForOutput(child, /^database.*\n/m)) ?? [];
  const ended = waitForExit(child).then(({ stderr }) => end(`serve: ${stderr.slice(-1_000)}`, child));
  ended.catch(() => {});
  return { url, ended, kill: () => child.kill("SIGKILL") };
}

function end(label: string, { exitCode, signalCode }: ChildProcess): "killed" | "finished" {
  if (signalCode === "SIGKILL") return "killed";
  if (exitCode === 0) return "finished";
  throw new Error(`${label} ended with ${exitCode ?? signalCode}.`);
}
