import { type ConfiguredHost, hostsOf } from "../../lib/domains/mapping.ts";
import type { Settings } from "../config/settings.ts";
import { hostKey } from "../names.ts";
import { type FoundCertificate, wasIssued } from "./certificates.ts";
import type { HostZone } from "./cloudflare-check.ts";
import type { HostDns } from "./host-dns.ts";
import type { RecordObserver } from "./observer.ts";

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
  /** By host with DNS managed elsewhere: its certificates. */
  readonly certificates: ReadonlyMap<string, readonly FoundCertificate[]>;
  /** Looks up the records of hosts with DNS managed elsewhere. */
  readonly observer?: RecordObserver;
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
  { zones, certificates, observer }: Findings,
  comment: string,
): readonly HostPlan[] {
  return configuredHosts(settings).map(({ host, role }) => {
    const reverify = settings.reverify[host];
    const common = { host, role, key: hostKey(host), ...(reverify === undefined ? {} : { reverify }) };
    const zone = zones.get(host);
    if (settings.dns === "manual" || zone === undefined) {
      const observed = observer === undefined ? {} : { observer };
      const dns = { provider: "manual", certificates: certificates.get(host) ?? [], ...observed } as const;
      return { ...common, dns };
    }
    const routing = routingOf(host, settings, zone);
    return { ...common, zone: zone.name, dns: { provider: "cloudflare", zoneId: zone.id, comment, routing } };
  });
}

/** True if this stack sets the host's record, so that the host is served once the planned update has completed. */
export function goesLive({ dns }: HostPlan): boolean {
  return dns.provider === "cloudflare" && dns.routing !== "held";
}

/** Why the API Gateway hostname cannot be closed: the primary host has to be served without it. */
export function findClosingProblem(
  { closePlatformHost }: Pick<Settings, "closePlatformHost">,
  hosts: readonly HostPlan[],
): string | undefined {
  const primary = hosts.find(({ role }) => role === "primary");
  if (!closePlatformHost || primary === undefined) return undefined;
  const { dns, host } = primary;
  const isServed = dns.provider === "cloudflare" ? goesLive(primary) : dns.certificates.some(wasIssued);
  if (isServed) return undefined;
  return `store-orders:closePlatformHost: ${host} is not served yet, so nothing would be. Remove the key until the host is live.`;
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
