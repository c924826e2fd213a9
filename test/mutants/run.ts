/** Runs Stryker on source files: `npm run test:mutants -- FILE…`. Its packages are installed on first use. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { homeOfPackages, installPackages } from "../support/install-packages.ts";

const files = process.argv.slice(2);
if (files.length === 0) {
  process.stderr.write("Usage: npm run test:mutants -- FILE…, such as lib/plans/windows.ts\n");
  process.exit(2);
}
const home = homeOfPackages("mutants");
installPackages(fileURLToPath(new URL(".", import.meta.url)), home);
const program = join(home, "node_modules/@stryker-mutator/core/bin/stryker.js");
const run = ["run", "test/mutants/stryker.config.json", "--mutate", files.join(",")];
const env = { ...process.env, MUTANTS_FILES: `${files}` };
process.exitCode = spawnSync(process.execPath, [program, ...run], { stdio: "inherit", env }).status ?? 1;
