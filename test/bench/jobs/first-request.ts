import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startChild } from "../../support/child.ts";
import { inTurns, type Samples } from "../rounds.ts";
import { BASE_COMMIT } from "../servers/candidates.ts";
import { type Bench, PREFIX, startFilledEmulator } from "../servers/stages.ts";

/** Each takes a few hundred milliseconds. */
const ROUNDS_FACTOR = 5;

/** A fresh process that loads the function, as it is deployed, and serves one request: now, and at an earlier commit. */
export async function firstRequest({ folder, rounds, log }: Bench): Promise<Samples> {
  const now = fileURLToPath(new URL("../../..", import.meta.url));
  // Below the project, so that its packages are found.
  const before = resolve(folder, BASE_COMMIT);
  mkdirSync(before);
  try {
    const sources = execFileSync("git", ["archive", BASE_COMMIT, "lib", "infra", "package.json"], {
      cwd: now,
      maxBuffer: 2 ** 28,
    });
    execFileSync("tar", ["-x"], { cwd: before, input: sources });
  } catch (cause) {
    throw new Error(`The commit ${BASE_COMMIT} is not in this copy of the repository.`, { cause });
  }
  const entries: Readonly<Record<string, string>> = {
    ours: await bundle(now, folder),
    [BASE_COMMIT]: await bundle(before, folder),
  };
  const { key, environment, stop } = await startFilledEmulator(0);
  try {
    return await inTurns(Object.keys(entries), rounds * ROUNDS_FACTOR, async (name, round) => {
      log(`round ${round + 1} of ${rounds * ROUNDS_FACTOR}, ${name}`);
      const program = new URL("../servers/function-process.ts", import.meta.url);
      // Lambda has no compile cache.
      const child = startChild(program, [entries[name] ?? "", key], {
        ...environment,
        STORE_ORDERS_DYNAMODB: PREFIX,
        NODE_COMPILE_CACHE: "",
      });
      const coldStart = await child.nextMessage<number>();
      await child.end();
      return { coldStart };
    });
  } finally {
    await stop();
  }
}

/** Bundles the functions of a copy of the project, and returns the module. */
async function bundle(project: string, folder: string): Promise<string> {
  const { buildFunctions, writeBundle } = await import(
    pathToFileURL(join(project, "infra/functions/build.ts")).href
  );
  const files = await writeBundle(await buildFunctions(), folder);
  return files["entry.mjs"];
}
