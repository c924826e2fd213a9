import type * as pulumi from "@pulumi/pulumi";
import { cloudflare } from "./cloudflare.ts";
import type { DnsProvider, Zone } from "./dns-provider.ts";
import { route53 } from "./route53.ts";
import {
  findOwnRecord,
  findRecordConflicts,
  findRisks,
  namesToCheck,
  type StackMark,
  selectZone,
  type ZoneCheckInput,
  zoneCandidates,
} from "./zone-check.ts";

/** The DNS providers at which stacks create their records, by the value of the setting `dns`. */
export const DNS_PROVIDERS = { cloudflare, route53 } as const satisfies Readonly<Record<string, DnsProvider>>;

/** The zone of a host. */
export interface HostZone extends Pick<Zone, "id" | "name" | "nameServers"> {
  /** True if the host has a routing record that this stack created. */
  readonly hasOwnRecord: boolean;
}

/** The zones of the hosts, and the effect of their records on an update. */
interface ZonesResult {
  /** By host: its zone. Hosts without a usable zone are missing. */
  readonly zones: ReadonlyMap<string, HostZone>;
  /** Everything that conflicts with the records to create, with the fix. */
  readonly problems: readonly string[];
  /** Everything that the update may do unexpectedly. */
  readonly warnings: readonly string[];
}

/**
 * Finds the zone of each host at a DNS provider, and everything in it that conflicts with the records to create.
 *
 * @throws {pulumi.RunError} if the provider cannot be queried
 */
export async function findZones(
  inputs: readonly ZoneCheckInput[],
  { provider, comment }: StackMark,
  options: pulumi.InvokeOptions,
): Promise<ZonesResult> {
  const candidates = new Set(inputs.flatMap(({ host }) => zoneCandidates(host)));
  const found = await provider.findZones([...candidates], options);
  const selections = inputs.map((input) => ({ input, selected: selectZone(input.host, found, provider) }));
  const zones = new Set(selections.flatMap(({ selected }) => (selected.ok ? [selected.zone] : [])));
  const queries = [...zones].map(async (zone) => {
    const hosts = selections.flatMap(({ input, selected }) =>
      selected.ok && selected.zone === zone ? [input.host] : [],
    );
    const names = new Set(hosts.flatMap((host) => namesToCheck(host, zone.name)));
    return [zone, await provider.findRecords(zone.id, { names: [...names], hosts }, options)] as const;
  });
  const recordsByZone = new Map(await Promise.all(queries));
  const checked = selections.map(({ input, selected }): CheckedHost => {
    const { host } = input;
    if (!selected.ok) return { host, problems: [selected.message], warnings: [] };
    const { id, name, nameServers } = selected.zone;
    const names = namesToCheck(host, name);
    const records = (recordsByZone.get(selected.zone) ?? []).filter(
      (each) => names.includes(each.name) || each.name.endsWith(`.${host}`),
    );
    const mark = { provider, comment };
    return {
      host,
      zone: { id, name, nameServers, hasOwnRecord: findOwnRecord(host, records, mark) !== undefined },
      problems: findRecordConflicts(input, name, records, mark),
      warnings: [...selected.warnings, ...findRisks(input, records, mark)],
    };
  });
  return {
    zones: new Map(checked.flatMap(({ host, zone }) => (zone === undefined ? [] : [[host, zone] as const]))),
    problems: checked.flatMap(({ problems }) => problems),
    warnings: checked.flatMap(({ warnings }) => warnings),
  };
}

/** The zone of one host, and the effect of its records. */
interface CheckedHost extends Omit<ZonesResult, "zones"> {
  readonly host: string;
  readonly zone?: HostZone;
}
