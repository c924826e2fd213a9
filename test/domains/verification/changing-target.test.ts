/** A target that shows some of its addresses at a time, and an apex whose ALIAS shows some of these. */
import { expect, test } from "vitest";
import { verifyHost } from "../../../lib/domains/status/verify.ts";
import {
  type DnsAnswer,
  type DnsResolver,
  memoizeResolver,
  type RecordType,
} from "../../../lib/domains/verification/resolver.ts";

const APEX = "example.com";
const TARGET = "d-1.platform.example.net";
const STRAY = "203.0.113.9";

interface Shape {
  /** The number of the target's addresses, and how many an answer shows. */
  readonly addresses: number;
  readonly shown: number;
  /** The number of name servers of the host's zone, and of the target's. */
  readonly own: number;
  readonly targets: number;
}

const found = (...records: readonly string[]) => ({ outcome: "found", records }) as DnsAnswer;
const range = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

/** A resolver in the process, whose answers change. `alter` changes what one server of the host's zone shows. */
function createResolver(
  shape: Shape,
  random: () => number,
  alter?: (shown: readonly string[]) => readonly string[],
) {
  const all = range(shape.addresses, (index) => `198.51.100.${index}`);
  const sample = () => {
    const shuffled = all
      .map((address) => [random(), address] as const)
      .toSorted(([one], [other]) => one - other);
    return shuffled.slice(0, shape.shown).map(([, address]) => address);
  };
  const zones = {
    [APEX]: range(shape.own, (index) => `192.0.2.${index}`),
    "platform.example.net": range(shape.targets, (index) => `192.0.2.${100 + index}`),
  };
  const answer = (name: string, type: RecordType, server?: string): DnsAnswer => {
    const servers = zones[name as keyof typeof zones];
    if (servers !== undefined && type === "SOA") return found(`ns0.${name}`);
    if (servers !== undefined && type === "NS")
      return found(...servers.map((_, index) => `ns${index}.${name}`));
    const [, index = "", zone = ""] = /^ns(\d+)\.(.*)$/.exec(name) ?? [];
    const address = zones[zone as keyof typeof zones]?.[Number(index)];
    if (type === "A" && address !== undefined) return found(address);
    if (type !== "A" || (name !== APEX && name !== TARGET)) return { outcome: "nodata" };
    const isAltered = alter !== undefined && name === APEX && server === zones[APEX]?.[0];
    return found(...(isAltered ? alter(sample()) : sample()));
  };
  const as = (server?: string) =>
    (async (name: string, type: RecordType) => answer(name, type, server)) as unknown as DnsResolver;
  // The resolver asks any of the zone's servers.
  const recursive = (async (name: string, type: RecordType) =>
    answer(name, type, zones[APEX]?.[Math.floor(random() * shape.own)])) as unknown as DnsResolver;
  return memoizeResolver(Object.assign(recursive, { at: ([server]: readonly string[]) => as(server) }));
}

/** Mulberry32: numbers from 0 to 1 that are the same in each run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SHAPES = [
  [8, 3, 1, 1],
  [8, 3, 2, 4],
  [8, 3, 4, 4],
  [6, 3, 2, 4],
  [2, 1, 2, 4],
] as const satisfies readonly (readonly [number, number, number, number])[];

async function countStates(
  shape: readonly [number, number, number, number],
  alter?: (shown: readonly string[]) => readonly string[],
) {
  const [addresses, shown, own, targets] = shape;
  const random = createRandom(7);
  const states: Record<string, number> = {};
  for (let run = 0; run < 400; run++) {
    const resolver = createResolver({ addresses, shown, own, targets }, random, alter);
    const { state } = await verifyHost(APEX, { resolver, target: TARGET });
    states[state] = (states[state] ?? 0) + 1;
  }
  return states;
}

test.each(SHAPES)(
  "an ALIAS of a target with %i addresses, %i at a time, at %i and %i servers",
  async (...shape) => {
    const { verified = 0, unknown = 0, ...wrong } = await countStates(shape);
    expect(wrong).toEqual({});
    expect(verified).toBeGreaterThanOrEqual(380);
    expect(verified + unknown).toBe(400);
  },
);

test.each(SHAPES)(
  "an address that a target with %i, %i at a time, never has, at %i and %i servers",
  async (...shape) => {
    expect(await countStates(shape, () => [STRAY])).toEqual({ pending_dns: 400 });
    expect(await countStates(shape, (shown) => [STRAY, ...shown])).toEqual({ pending_dns: 400 });
  },
);
