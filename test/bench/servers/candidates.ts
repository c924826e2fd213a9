import type { Shop } from "../fixture.ts";
import { bare, type OurOptions, ours, PEERS, type Program, peer } from "./server-process.ts";

/** The name of the ceiling in every table. */
export const CEILING = "node:http";

/** Ours, the peers and the ceiling, over one shop. */
export function contendersFor(shop: Shop, options: OurOptions = {}): Readonly<Record<string, Program>> {
  return {
    ours: ours({ database: shop.ours, ...options }),
    ...Object.fromEntries(PEERS.map((name) => [name, peer(name, shop.peers)])),
    [CEILING]: bare(shop.ours),
  };
}
