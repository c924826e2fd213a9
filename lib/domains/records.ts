import { type ConfiguredHost, type DomainMapping, hostsOf } from "./mapping.ts";
import { locateInZone } from "./zone.ts";

/** The TTL of the records, in seconds: how long a resolver may cache them. */
export const RECORD_TTL_SECONDS = 3600;

/** A record to create at the DNS provider. See lib/README.md#dns-records. */
export interface DnsRecord extends ConfiguredHost {
  /** The zone that the record belongs to. */
  readonly zone: string;
  readonly type: "CNAME" | "ALIAS" | "ANAME";
  /** The value of the provider's name field: the label or labels below the zone, `@` at the apex. */
  readonly name: string;
  /** The platform host, exactly. */
  readonly value: string;
  /** In seconds. */
  readonly ttl: typeof RECORD_TTL_SECONDS;
  /** Record types to use instead, since not every provider supports ALIAS. Empty for a CNAME. */
  readonly alternatives: readonly string[];
}

/** What to use at an apex if the provider has no ALIAS: another name for it, or a CNAME that it flattens. */
export const APEX_ALTERNATIVES = ["ANAME", "CNAME, if the provider flattens it"] as const;

/** Returns the record that points a host at the platform host. */
export function recordOf(
  { host, role }: ConfiguredHost,
  target: string,
  knownZones?: readonly string[],
): DnsRecord {
  const { zone, label, apex } = locateInZone(host, knownZones);
  return {
    host,
    role,
    zone,
    type: apex ? "ALIAS" : "CNAME",
    name: label,
    value: target,
    ttl: RECORD_TTL_SECONDS,
    alternatives: apex ? APEX_ALTERNATIVES : [],
  };
}

/** Returns the records of every host, the primary first. */
export function recordsOf(
  domains: DomainMapping,
  target: string,
  knownZones?: readonly string[],
): readonly DnsRecord[] {
  return hostsOf(domains).map((host) => recordOf(host, target, knownZones));
}
