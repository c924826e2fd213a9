import { spawn } from "node:child_process";

/** Starts a program and waits until its output matches. `stop` ends it. */
export async function startProgram(
  program: string,
  args: readonly string[],
  { cwd, ready, env = {} }: { cwd: string; ready: RegExp; env?: Readonly<Record<string, string>> },
): Promise<{ stop: () => void; output: () => string }> {
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        if (ready.test(output)) resolve();
      });
    }
    child.once("error", reject);
    child.once("exit", (status) => reject(new Error(`${program} exited with ${status}:\n${output}`)));
  });
  return { stop: () => void child.kill("SIGTERM"), output: () => output };
}
