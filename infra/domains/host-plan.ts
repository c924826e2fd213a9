import { type ConfiguredHost, hostsOf } from "../../lib/domains/mapping.ts";
import type { DnsResolver } from "../../lib/domains/verification/resolver.ts";
import type { Settings } from "../config/settings.ts";
import { hostKey, type Owner, ownerOf } from "../names.ts";
import type { FoundCertificate } from "./certificates.ts";
import type { DNS_PROVIDERS, HostZone } from "./managed-dns.ts";

/** The DNS of a host that a provider has, at which the stack creates the records. */
export interface ManagedDns {
  /** Where the zone is. */
  readonly provider: keyof typeof DNS_PROVIDERS;
  readonly zoneId: string;
  /** The comment of every record that is created, at Route 53 its set identifier: this program owns the record. */
  readonly comment: string;
  /** The record that routes traffic: created last (`managed`), not created (`held`), or an existing one to import. */
  readonly routing: "managed" | "held" | { readonly adopt: string };
  /** Whose tag the certificate has: the next run finds it by that. @default this project and stack */
  readonly owner?: Owner;
}

/** The DNS of a host whose records the operator sets by hand. */
export interface ManualDns extends Pick<ManagedDns, "owner"> {
  readonly provider: "manual";
  /** The host's certificates. API Gateway accepts a domain name only once one has been issued. */
  readonly certificates: readonly FoundCertificate[];
  /** Queries DNS for the host's records. @default none: the host is never reported as live */
  readonly resolver?: DnsResolver | undefined;
}

/** The DNS of a host: the party that manages it, and the way in which its records are created. */
export type HostDns = ManagedDns | ManualDns;

/** A host with everything that its resources are created from. */
export interface HostPlan extends ConfiguredHost {
  /** Of a redirect: the primary host. */
  readonly redirectTo?: string | undefined;
  /** Identifies the host in logical names. */
  readonly key: string;
  /** The name of the zone that contains its records, if known. */
  readonly zone?: string | undefined;
  readonly dns: HostDns;
  readonly reverify?: number | undefined;
  /** The ARN of an existing certificate to use. @default one is requested */
  readonly certificateArn?: string | undefined;
}

/** The hosts of a stack, the primary first. */
export function configuredHosts({ domains }: Settings): readonly ConfiguredHost[] {
  return domains === undefined ? [] : hostsOf(domains);
}

/** Plans every host of this program from the settings and what the preflight has found, by host. */
export function planHosts(
  settings: Settings,
  comment: string,
  {
    zones,
    zoneNames,
    certificates,
    resolver,
  }: {
    /** At the DNS provider. */
    readonly zones: ReadonlyMap<string, HostZone>;
    /** The names of the zones, where DNS has them. */
    readonly zoneNames: ReadonlyMap<string, string>;
    readonly certificates: ReadonlyMap<string, readonly FoundCertificate[]>;
    readonly resolver: DnsResolver;
  },
): readonly HostPlan[] {
  const owner = ownerOf(settings);
  const hosts = configuredHosts(settings);
  return hosts.map(({ host, role }) => {
    const [certificateArn, reverify] = [settings.certificates[host], settings.reverify[host]];
    const redirectTo = role === "redirect" ? hosts[0]?.host : undefined;
    const common = { host, role, redirectTo, key: hostKey(host), reverify, certificateArn };
    const zone = zones.get(host);
    // With a DNS provider every host has a zone here: the preflight has reported the others.
    if (settings.dns === "manual" || zone === undefined) {
      const found = certificates.get(host) ?? [];
      // The update fails if it has not been issued.
      const given = certificateArn && ([{ arn: certificateArn, status: "ISSUED" }] as const);
      const dns = { provider: "manual", owner, certificates: given || found, resolver } as const;
      return { ...common, zone: zoneNames.get(host), dns };
    }
    const routing = routingOf(host, settings, zone);
    const dns = { provider: settings.dns, owner, zoneId: zone.id, comment, routing };
    return { ...common, zone: zone.name, dns };
  });
}

/** True if this stack sets the host's record, so that the host is served once the planned update has completed. */
export function goesLive({ dns }: Pick<HostPlan, "dns">): boolean {
  return dns.provider !== "manual" && dns.routing !== "held";
}

function routingOf(host: string, settings: Settings, { hasOwnRecord }: HostZone): ManagedDns["routing"] {
  const adopt = settings.adopt[host];
  // Importing a record that is already in the stack's state would delete it.
  if (adopt !== undefined) return hasOwnRecord ? "managed" : { adopt };
  return settings.hold.includes(host) ? "held" : "managed";
}
