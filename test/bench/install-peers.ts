import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SOURCE = fileURLToPath(new URL("peers", import.meta.url));

/**
 * The folder that the peers run from. It is in `node_modules`, so that the project's tools ignore it: some packages of
 * the peers contain tests that a test runner would find.
 */
export const PEERS_HOME: string = fileURLToPath(new URL("../../node_modules/.bench-peers", import.meta.url));

/** Copies the peers to `PEERS_HOME`, and installs their packages unless they are up to date. */
export function installPeers(log: (line: string) => void): void {
  const lock = "package-lock.json";
  const ready =
    existsSync(join(PEERS_HOME, "node_modules")) &&
    readFileSync(join(PEERS_HOME, lock), "utf8") === readFileSync(join(SOURCE, lock), "utf8");
  mkdirSync(PEERS_HOME, { recursive: true });
  cpSync(SOURCE, PEERS_HOME, { recursive: true });
  if (ready) return;
  log("Installing the peers …");
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync("npm", ["ci", "--prefix", PEERS_HOME, ...quiet], { cwd: PEERS_HOME, stdio: "ignore" });
}
