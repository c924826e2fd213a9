import { cpSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { homeOfPackages, installPackages } from "../support/install-packages.ts";

const SOURCE = fileURLToPath(new URL("peers", import.meta.url));

/** The folder that the peers run from. */
export const PEERS_HOME: string = homeOfPackages("bench-peers");

/** Copies the peers to `PEERS_HOME`, and installs their packages unless they are up to date. */
export function installPeers(): void {
  installPackages(SOURCE, PEERS_HOME);
  cpSync(SOURCE, PEERS_HOME, { recursive: true });
}
