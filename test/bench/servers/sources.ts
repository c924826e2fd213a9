import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const PARTS = ["lib", "infra", "test/bench", "test/support", "package.json", "tsconfig.json"];

/** The folder of the sources of a commit. It is below the project, so that its packages are found. */
export function sourcesOf(commit: string): string {
  const folder = join(ROOT, ".data", "sources", commit);
  if (existsSync(join(folder, "package.json"))) return folder;
  mkdirSync(folder, { recursive: true });
  try {
    const input = execFileSync("git", ["archive", commit, ...PARTS], { cwd: ROOT, maxBuffer: 2 ** 28 });
    execFileSync("tar", ["-x"], { cwd: folder, input });
  } catch (cause) {
    throw new Error(`The commit ${commit} is not in this copy of the repository.`, { cause });
  }
  return folder;
}
