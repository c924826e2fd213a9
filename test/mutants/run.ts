/**
 * Runs Stryker on source files: `npm run test:mutants -- FILE…`. Its packages are installed on first use, into a folder in
 * `node_modules`, from which it finds the project's own Vitest.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { homeOfPackages } from "../support/install-packages.ts";

const VERSION = "10.1.1";
const PACKAGES = [
  ...["core", "typescript-checker", "vitest-runner"].map((name) => `@stryker-mutator/${name}@${VERSION}`),
  // The newest that the checker supports.
  "typescript@6.0.3",
];
/** Their own dependencies are those of that day. */
const AS_OF = "2026-11-20";

const files = process.argv.slice(2);
if (files.length === 0) {
  process.stderr.write("Usage: npm run test:mutants -- FILE…, such as lib/plans/windows.ts\n");
  process.exit(2);
}
const home = homeOfPackages(`mutants-${VERSION}`);
if (!existsSync(home)) install();
const program = join(home, "node_modules/@stryker-mutator/core/bin/stryker.js");
const run = ["run", "test/mutants/stryker.config.json", "--mutate", files.join(",")];
const env = { ...process.env, MUTANTS_FILES: `${files}` };
process.exitCode = spawnSync(process.execPath, [program, ...run], { stdio: "inherit", env }).status ?? 1;

function install(): void {
  process.stderr.write(`Installing Stryker into ${home} …\n`);
  mkdirSync(home, { recursive: true });
  const versions = ["--before", AS_OF, "--no-package-lock", "--legacy-peer-deps"];
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  const command = ["install", "--prefix", home, "--ignore-scripts", ...versions, ...quiet, ...PACKAGES];
  try {
    execFileSync("npm", command, { stdio: ["ignore", "ignore", "inherit"] });
  } catch (error) {
    rmSync(home, { recursive: true });
    throw error;
  }
}
