import { type ConfiguredHost, hostsOf } from "../../lib/domains/mapping.ts";
import type { Settings } from "../config/settings.ts";
import { hostKey } from "../names.ts";
import type { HostZone } from "./cloudflare-check.ts";
import type { HostDns } from "./custom-domain.ts";

/** What to create for a host. */
export interface HostPlan extends ConfiguredHost {
  /** Identifies the host in logical names. */
  readonly key: string;
  /** The name of the zone that contains its records, if known. */
  readonly zone?: string;
  readonly dns: HostDns;
  readonly reverify?: number;
}

/** The results of the preflight's queries. */
export interface Findings {
  /** By host: its zone at Cloudflare. */
  readonly zones: ReadonlyMap<string, HostZone>;
  /** The hosts with DNS managed elsewhere whose certificate has been issued. */
  readonly withCertificate: ReadonlySet<string>;
}

/** The hosts of a stack, the primary first. */
export function configuredHosts({ domains }: Settings): readonly ConfiguredHost[] {
  return domains === undefined ? [] : hostsOf(domains);
}

/** True if everything except the host's routing record is to be created. */
export function isHeld({ hold }: Settings, host: string): boolean {
  return hold.includes(host);
}

/** Plans every host from the settings and the preflight's findings. Pure. */
export function planHosts(
  settings: Settings,
  { zones, withCertificate }: Findings,
  comment: string,
): readonly HostPlan[] {
  return configuredHosts(settings).map(({ host, role }) => {
    const reverify = settings.reverify[host];
    const common = { host, role, key: hostKey(host), ...(reverify === undefined ? {} : { reverify }) };
    const zone = zones.get(host);
    if (settings.dns === "manual" || zone === undefined) {
      return { ...common, dns: { provider: "manual", certificateIssued: withCertificate.has(host) } };
    }
    const routing = routingOf(host, settings, zone);
    return { ...common, zone: zone.name, dns: { provider: "cloudflare", zoneId: zone.id, comment, routing } };
  });
}

/** True if the host is served once the planned update has completed. */
export function goesLive({ dns }: HostPlan): boolean {
  return dns.provider === "cloudflare" ? dns.routing !== "held" : dns.certificateIssued;
}

function routingOf(
  host: string,
  settings: Settings,
  { hasOwnRecord }: HostZone,
): Extract<HostDns, { provider: "cloudflare" }>["routing"] {
  const adopt = settings.adopt[host];
  // Importing a record that is already in the stack's state would delete it.
  if (adopt !== undefined) return hasOwnRecord ? "managed" : { adopt };
  return isHeld(settings, host) ? "held" : "managed";
}
