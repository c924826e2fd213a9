import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A program of the benchmark in a process of its own. */
export interface Child {
  readonly pid: number;
  /** The next thing that it tells. Rejects where it ends before that. */
  told<T>(): Promise<T>;
  send(message: string): void;
  /** Lets go of it, upon which it ends. */
  end(): Promise<void>;
  /** Ends it at once. */
  kill(): Promise<void>;
}

/**
 * Where Node keeps what it has compiled, as `serve` does from the sources: stripping types again at each start would
 * cost ours 40 MB that a built package does not need. Peers have the same.
 */
const NODE_COMPILE_CACHE = fileURLToPath(
  new URL("../../../node_modules/.cache/store-orders", import.meta.url),
);

/** Starts a program that tells its parent what it finds, and that ends when its parent lets go of it. */
export function startChild(
  file: string | URL,
  given: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Child {
  const child: ChildProcess = fork(file, [...given], {
    env: { ...process.env, NODE_ENV: "production", NODE_COMPILE_CACHE, ...environment },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const messages: unknown[] = [];
  child.on("message", (message) => messages.push(message));

  return {
    pid: child.pid ?? 0,
    async told<T>() {
      if (messages.length === 0) await Promise.race([once(child, "message"), exited]);
      if (messages.length === 0)
        throw new Error(`${file} ended with ${child.exitCode} before it told anything.`);
      return messages.shift() as T;
    },
    send: (message) => void child.send(message),
    async end() {
      if (child.connected) child.disconnect();
      await exited;
    },
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
