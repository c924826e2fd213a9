import type * as pulumi from "@pulumi/pulumi";
import { cloudflare } from "./cloudflare.ts";
import type { DnsProvider, Zone } from "./dns-provider.ts";
import { route53 } from "./route53.ts";
import {
  findOwnRecord,
  findRecordConflicts,
  namesToCheck,
  type StackMark,
  selectZone,
  type ZoneCheckInput,
  zoneCandidates,
} from "./zone-check.ts";

/** The DNS providers at which stacks create their records, by the value of the setting `dns`. */
export const DNS_PROVIDERS = { cloudflare, route53 } as const satisfies Readonly<Record<string, DnsProvider>>;

export interface HostZone extends Pick<Zone, "id" | "name" | "nameServers"> {
  /** True if the host has a routing record that this stack created. */
  readonly hasOwnRecord: boolean;
}

/** The zones of the hosts, and what their records prevent. */
interface ZonesResult {
  /** By host: its zone. Hosts without a usable zone are missing. */
  readonly zones: ReadonlyMap<string, HostZone>;
  /** Everything that conflicts with the records to create, with the fix. */
  readonly problems: readonly string[];
  /** What to know of the zones, although records can be created. */
  readonly warnings: readonly string[];
}

/**
 * Finds the zone of each host at a DNS provider, and everything in it that conflicts with the records to create.
 *
 * @throws {pulumi.RunError} if the provider cannot be queried
 */
export async function findZones(
  inputs: readonly ZoneCheckInput[],
  mark: StackMark,
  options: pulumi.InvokeOptions,
): Promise<ZonesResult> {
  const { provider } = mark;
  const candidates = [...new Set(inputs.flatMap(({ host }) => zoneCandidates(host)))];
  const found = (await Promise.all(candidates.map((name) => provider.zonesNamed(name, options)))).flat();
  const selections = inputs.map((input) => ({ input, selected: selectZone(input.host, found, provider) }));
  const usable = selections.flatMap(({ input: { host }, selected }) =>
    selected.ok ? [{ zone: selected.zone, names: namesToCheck(host, selected.zone.name) }] : [],
  );
  const queries = [...Map.groupBy(usable, ({ zone }) => zone)].map(async ([zone, hosts]) => {
    const names = new Set(hosts.flatMap(({ names }) => names));
    return [zone, await provider.findRecords(zone.id, [...names], options)] as const;
  });
  const recordsByZone = new Map(await Promise.all(queries));

  const zones = new Map<string, HostZone>();
  const problems: string[] = [];
  const warnings: string[] = [];
  for (const { input, selected } of selections) {
    if (!selected.ok) {
      problems.push(selected.message);
      continue;
    }
    const { id, name, nameServers } = selected.zone;
    const names = namesToCheck(input.host, name);
    const records = (recordsByZone.get(selected.zone) ?? []).filter((each) => names.includes(each.name));
    const hasOwnRecord = findOwnRecord(input.host, records, mark) !== undefined;
    zones.set(input.host, { id, name, nameServers, hasOwnRecord });
    problems.push(...findRecordConflicts(input, name, records, mark));
    warnings.push(...selected.warnings);
  }
  return { zones, problems, warnings };
}
