import { existsSync } from "node:fs";

const MAX_WAIT_MS = 60_000;
const LOOK_MS = 500;

/**
 * Waits at most a minute for files that do not exist yet, such as those on a file system that is mounted late. Whoever
 * reads one that is still missing reports it: its name may be mistyped.
 */
export async function waitForFiles(
  paths: readonly string[],
  {
    warn,
    wait,
    isStopped,
  }: {
    warn(message: string): void;
    wait(ms: number): Promise<unknown>;
    isStopped(): boolean;
  },
): Promise<void> {
  const findMissing = () => paths.filter((path) => !existsSync(path));
  let missing = findMissing();
  if (missing.length === 0) return;
  const [verb, pronoun] = missing.length === 1 ? ["does", "it"] : ["do", "them"];
  warn(`${missing.join(" and ")} ${verb} not exist; waiting ${MAX_WAIT_MS / 1_000} seconds for ${pronoun}.`);
  for (let waited = 0; waited < MAX_WAIT_MS && missing.length > 0 && !isStopped(); waited += LOOK_MS) {
    await wait(LOOK_MS);
    missing = findMissing();
  }
  // Whoever writes a file may not have finished.
  if (missing.length === 0) await wait(LOOK_MS);
}
