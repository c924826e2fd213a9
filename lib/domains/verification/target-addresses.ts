import { type AddressType, parseAddress, typeOf } from "../addresses.ts";
import { findNameServers, findZone } from "./find-zone.ts";
import { type DnsFailure, type DnsResolver, followCnames, recordsIn } from "./resolver.ts";

export interface AddressComparison {
  /** Those that the target was not seen to have. */
  readonly strays: readonly string[];
  readonly expected: readonly string[];
  /** True if the target may have strays that it has not shown. */
  readonly mayHaveMore: boolean;
  /** The reason why no address of the target is known. */
  readonly failure?: DnsFailure | undefined;
}

export type TargetComparison = (addresses: readonly string[]) => Promise<AddressComparison>;

/** The chance that an address of the target was in no answer, below which an address that was in none is not one of them. */
const MAX_CHANCE = 1e-7;
const MAX_TARGET_ANSWERS = 64;

/**
 * The comparison with a target for one check of a host. A name can have more addresses than an answer shows. So its servers
 * are asked again about one that none has shown in this check, until they would have: if answers show any of the addresses.
 */
export function compareWithTarget(resolver: DnsResolver, target: string): TargetComparison {
  const seen = new Set<string>();
  const sizes: Record<AddressType, number[]> = { A: [], AAAA: [] };
  const failures: DnsFailure[] = [];
  let asked = 0;

  async function ask(from: DnsResolver, name: string, types: readonly AddressType[]): Promise<void> {
    const queries = types.map(async (type) => {
      const answer = await from(name, type);
      const addresses = recordsIn<AddressType>(answer);
      if (answer.outcome === "failed") failures.push(answer.reason);
      else sizes[type].push(addresses.length);
      for (const address of addresses) seen.add(address);
    });
    await Promise.all(queries);
  }

  function mayHideOne(type: AddressType): boolean {
    const answers = sizes[type].length;
    const known = [...seen].filter((address) => typeOf(address) === type).length;
    // One that shows none to the resolver and to a server has none.
    if (known === 0) return answers < 2;
    const shown = Math.max(1, sizes[type].reduce((sum, size) => sum + size, 0) / answers);
    return (1 - shown / (known + 1)) ** answers > MAX_CHANCE;
  }

  const begin = once(async () => {
    const { last } = await followCnames(resolver, target);
    await ask(resolver, last, ["A", "AAAA"]);
    return last;
  });
  const findSources = once(async () => {
    const { fresh = resolver } = resolver;
    const servers = await findNameServers(fresh, (await findZone(resolver, await begin())).zone);
    return servers.length === 0 ? [fresh] : servers.map(([, own]) => own);
  });

  return async (addresses) => {
    const strays = () => addresses.filter((address) => !seen.has(address));
    const open = () => [...new Set(strays().map(typeOf))].filter(mayHideOne);
    if (addresses.length === 0) return { strays: [], expected: [], mayHaveMore: false };
    const name = await begin();
    const sources = open().length === 0 ? [] : await findSources();
    while (open().length > 0 && asked < MAX_TARGET_ANSWERS && failures.length <= 2 * sources.length) {
      await ask(sources[asked++ % sources.length] ?? resolver, name, open());
    }
    const failure = seen.size > 0 ? undefined : failures[0];
    return { strays: strays(), expected: [...seen].toSorted(), mayHaveMore: open().length > 0, failure };
  };
}

export function compareWithMachine(addresses: readonly string[]): TargetComparison {
  return async (found) => {
    const strays = found.filter((address) => !addresses.includes(parseAddress(address) ?? address));
    return { strays, expected: addresses, mayHaveMore: false };
  };
}

function once<Value>(run: () => Promise<Value>): () => Promise<Value> {
  let started: Promise<Value> | undefined;
  return () => (started ??= run());
}
