import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * A folder for packages that only one command needs, so that `npm ci` does not install them. It is in `node_modules`,
 * so that the project's tools ignore it.
 */
export function homeOfPackages(name: string): string {
  return fileURLToPath(new URL(`../../node_modules/.${name}`, import.meta.url));
}

/** Installs the packages of the `package.json` and lock file in `source` into `home`, unless they are up to date. */
export function installPackages(source: string, home: string): void {
  const lockOf = (folder: string) => readFileSync(join(folder, "package-lock.json"), "utf8");
  // npm writes this file last.
  const isComplete = existsSync(join(home, "node_modules/.package-lock.json"));
  if (isComplete && lockOf(home) === lockOf(source)) return;
  process.stderr.write(`Installing packages into ${home} …\n`);
  mkdirSync(home, { recursive: true });
  for (const file of [".npmrc", "package.json", "package-lock.json"])
    if (existsSync(join(source, file))) copyFileSync(join(source, file), join(home, file));
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync("npm", ["ci", ...options], { cwd: home, stdio: ["ignore", "ignore", "inherit"] });
}
