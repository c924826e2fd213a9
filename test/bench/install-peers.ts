import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SOURCE = fileURLToPath(new URL("peers", import.meta.url));

/**
 * Where the peers run from. A folder in `node_modules`, so that neither the project's dependencies nor its tools
 * ever meet the packages of the peers; some of those carry tests that a runner would find.
 */
export const PEERS_HOME: string = fileURLToPath(new URL("../../node_modules/.bench-peers", import.meta.url));

/** Copies the peers to where they run, and installs what they need there unless that has been done. */
export function installPeers(tell: (line: string) => void): void {
  const lock = "package-lock.json";
  const ready =
    existsSync(join(PEERS_HOME, "node_modules")) &&
    readFileSync(join(PEERS_HOME, lock), "utf8") === readFileSync(join(SOURCE, lock), "utf8");
  mkdirSync(PEERS_HOME, { recursive: true });
  cpSync(SOURCE, PEERS_HOME, { recursive: true });
  if (ready) return;
  tell("Installing the peers …");
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  execFileSync("npm", ["ci", "--prefix", PEERS_HOME, ...quiet], { cwd: PEERS_HOME, stdio: "ignore" });
}
