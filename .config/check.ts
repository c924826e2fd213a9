/** Checks the types of everything, those of the scripts in web pages, and lint. Exits with the status of the first that fails. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const cwd = fileURLToPath(new URL("..", import.meta.url));
const TSC = "node_modules/typescript/bin/tsc";
// What the compiler knows of the sources from the last time.
const known = ["--incremental", "--tsBuildInfoFile", "node_modules/.cache/store-orders/check.tsbuildinfo"];
// One thread checks no type twice. The compiler runs for seconds, so it collects no garbage.
const env = { ...process.env, GOGC: "off" };

for (const args of [
  [TSC, "-p", ".", "--singleThreaded", ...known],
  [TSC, "-p", "lib/browser.tsconfig.json", "--singleThreaded"],
  ["node_modules/@biomejs/biome/bin/biome", "check", "."],
]) {
  const { status } = spawnSync(process.execPath, args, { cwd, env, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
