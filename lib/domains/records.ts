import { type ConfiguredHost, type DomainConfig, hostsOf } from "./mapping.ts";
import { locateInZone } from "./zone.ts";

/** How long a resolver may keep the record, in seconds (specification, "Custom domains"). */
export const RECORD_TTL = 3600;

/** One record to set at the DNS provider (decision 20). */
export interface DnsRecord extends ConfiguredHost {
  /** The zone that the record belongs to. */
  readonly zone: string;
  readonly type: "CNAME" | "ALIAS";
  /** What stands in the provider's name field: the label or labels below the zone, `@` at the apex. */
  readonly name: string;
  /** The platform host, exactly. */
  readonly value: string;
  readonly ttl: typeof RECORD_TTL;
  /** What else does the same, since not every provider has ALIAS. Empty for a CNAME. */
  readonly alternatives: readonly string[];
}

/** What else an apex can have: another name of ALIAS, or a CNAME that the provider answers as addresses. */
export const APEX_ALTERNATIVES = ["ANAME", "CNAME, where the provider flattens it"] as const;

/** The record to set for one host, pointing at the platform host. */
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
    ttl: RECORD_TTL,
    alternatives: apex ? APEX_ALTERNATIVES : [],
  };
}

/** The records to set for every host of a configuration, the primary first. */
export function recordsOf(
  config: DomainConfig,
  target: string,
  knownZones?: readonly string[],
): readonly DnsRecord[] {
  return hostsOf(config).map((host) => recordOf(host, target, knownZones));
}
