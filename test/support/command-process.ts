/** Runs the commands that `command-runner.ts` sends, each with its own streams. */
import { Readable, Writable } from "node:stream";
import { runProgram } from "../../lib/cli/program.ts";
import type { CommandRequest, CommandResponse } from "./command-runner.ts";

process.on("message", async ({ id, args, env, input }: CommandRequest) => {
  const output = { stdout: "", stderr: "" };
  const collect = (name: keyof typeof output) =>
    new Writable({
      write(chunk, _encoding, done) {
        output[name] += chunk;
        done();
      },
    });
  const status = await runProgram({
    argv: args,
    env,
    stdin: Readable.from(input.length === 0 ? [] : [Buffer.from(input)]),
    stdout: collect("stdout"),
    stderr: collect("stderr"),
    waitForStop: () => new Promise(() => {}),
    // What does not exist yet never will.
    wait: async () => {},
  });
  process.send?.({ id, result: { status, ...output } } satisfies CommandResponse);
});
process.on("disconnect", () => process.exit());
