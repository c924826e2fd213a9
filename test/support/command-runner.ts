import { fork } from "node:child_process";
import type { CommandResult, Options } from "./command-line.ts";

/** A command to run. */
export interface CommandRequest {
  readonly id: number;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly input: string | Uint8Array;
}

/** The result of the command with that identifier. */
export interface CommandResponse {
  readonly id: number;
  readonly result: CommandResult;
}

/** One process that runs the commands of a test file in a directory. */
export interface CommandRunner {
  run(args: readonly string[], options: Options): Promise<CommandResult>;
  stop(): void;
}

export function startCommandRunner(directory: string, env: Readonly<Record<string, string>>): CommandRunner {
  const program = new URL("command-process.ts", import.meta.url);
  const child = fork(program, { cwd: directory, env, serialization: "advanced" });
  const pending = new Map<number, PromiseWithResolvers<CommandResult>>();
  let commands = 0;
  child.on("message", ({ id, result }: CommandResponse) => {
    pending.get(id)?.resolve(result);
    pending.delete(id);
  });
  child.on("exit", (status) => {
    for (const { reject } of pending.values()) reject(new Error(`The process exited with ${status}.`));
  });

  return {
    run(args, options) {
      const command = Promise.withResolvers<CommandResult>();
      const id = commands++;
      pending.set(id, command);
      const request: CommandRequest = {
        ...{ id, args, input: options.input ?? "" },
        env: { ...env, ...options.env },
      };
      child.send(request);
      return command.promise;
    },
    stop: () => void child.kill("SIGKILL"),
  };
}
