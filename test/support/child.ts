import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Node's compile cache, as `npm start` uses it: stripping types at each start would cost 40 MB. The peers use it too. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL("../../node_modules/.cache/store-orders", import.meta.url));

/** Starts a program in its own process that reports to its parent, and ends when its parent disconnects. */
export function startChild(
  file: string | URL,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
) {
  const child: ChildProcess = fork(file, [...args], {
    execArgv: [...flags],
    env: { ...process.env, NODE_ENV: "production", NODE_COMPILE_CACHE, ...environment },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const messages: unknown[] = [];
  child.on("message", (message) => messages.push(message));

  return {
    pid: child.pid ?? 0,
    /** The next message of the program. Rejects if it ends before. */
    async nextMessage<T>() {
      if (messages.length === 0) await Promise.race([once(child, "message"), exited]);
      if (messages.length === 0)
        throw new Error(`${file} ended with ${child.exitCode} before it sent a message.`);
      return messages.shift() as T;
    },
    send: (message: string) => void child.send(message),
    /** Disconnects from the program, so that it ends, and waits for that. */
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

export type Child = ReturnType<typeof startChild>;
