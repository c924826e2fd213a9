import { type AddressType, typeOf } from "./addresses.ts";
import { type ConfiguredHost, type DomainMapping, hostsOf } from "./mapping.ts";
import { locateInZone, type ZoneMatch } from "./zone.ts";

/** The time for which a resolver may cache the records. */
export const RECORD_TTL_SECONDS = 3600;

/** Where hosts are served: the platform host, or the addresses of the one machine that serves them. */
export type Target = string | readonly string[];

/** A record to create at the DNS provider. See lib/domains/README.md#dns-records. */
export interface DnsRecord extends ConfiguredHost {
  readonly zone: string;
  /** If it is a guess by the public suffix list, check the zone at the DNS provider. */
  readonly zoneSource: ZoneMatch["zoneSource"];
  readonly type: "CNAME" | "ALIAS" | "ANAME" | AddressType;
  /** The value of the provider's name field: the label or labels below the zone, `@` at the apex. */
  readonly name: string;
  /** The platform host, exactly, or an address of the machine. */
  readonly value: string;
  /** In seconds. */
  readonly ttl: typeof RECORD_TTL_SECONDS;
  /** Record types to use instead, since not every provider supports ALIAS. Empty for a CNAME. */
  readonly alternatives: readonly string[];
}

/** Returns the records of a host in its zone: one that points to the platform host, or one for each address. */
export function recordsAt(
  { zone, zoneSource, label: name, apex }: ZoneMatch,
  { host, role }: ConfiguredHost,
  target: Target,
): readonly DnsRecord[] {
  const common = { host, role, zone, zoneSource, name, ttl: RECORD_TTL_SECONDS } as const;
  if (typeof target !== "string")
    return target.map((value) => ({ ...common, type: typeOf(value), value, alternatives: [] }));
  const alternatives = apex ? ["ANAME", "CNAME, if the provider flattens it"] : [];
  return [{ ...common, type: apex ? "ALIAS" : "CNAME", value: target, alternatives }];
}

/** Returns the records of every host, the primary first. */
export function recordsOf(
  domains: DomainMapping,
  target: Target,
  knownZones?: readonly string[],
): readonly DnsRecord[] {
  return hostsOf(domains).flatMap((host) => recordsAt(locateInZone(host.host, knownZones), host, target));
}
