import type { BenchDatabases } from "../fixture.ts";
import { bare, type OurOptions, ours, PEERS, type Program, peer } from "./server-process.ts";

/** The name of the baseline in every table. */
export const BASELINE = "node:http";

/** Ours, the peers and the baseline, on the same databases. */
export function createCandidates(
  databases: BenchDatabases,
  options: OurOptions = {},
): Readonly<Record<string, Program>> {
  return {
    ours: ours({ database: databases.ours, ...options }),
    ...Object.fromEntries(PEERS.map((name) => [name, peer(name, databases.peers)])),
    [BASELINE]: bare(databases.ours),
  };
}
