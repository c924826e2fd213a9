import { normalizeName } from "../../lib/domains/hostname.ts";
import { type ConfiguredHost, hostsOf } from "../../lib/domains/mapping.ts";
import type { Settings } from "../config/settings.ts";
import { hostKey } from "../names.ts";
import type { HostDns } from "./custom-domain.ts";
import type { KnownZone } from "./zone-check.ts";

/** Everything that is decided about a host before anything is made for it. */
export interface HostPlan extends ConfiguredHost {
  /** Stands for the host in logical names. */
  readonly key: string;
  /** The zone that its records go into, where it is known. */
  readonly zone?: string;
  readonly dns: HostDns;
  readonly reverify?: number;
}

/** What was found by asking, host by host. */
export interface Findings {
  /** By host: its zone at Cloudflare. */
  readonly zones: ReadonlyMap<string, Pick<KnownZone, "id" | "name">>;
  /** The hosts with DNS elsewhere whose certificate has been issued. */
  readonly issued: ReadonlySet<string>;
}

/** The hosts of a stack, the primary first. */
export function configuredHosts({ domains }: Settings): readonly ConfiguredHost[] {
  return domains === undefined ? [] : hostsOf(domains);
}

/** True where everything but the record that moves the traffic is to be made. */
export function isHeld({ hold }: Settings, host: string): boolean {
  return hold.some((name) => normalizeName(name) === host);
}

/** Plans every host. Pure: what had to be asked is handed in. */
export function planHosts(
  settings: Settings,
  { zones, issued }: Findings,
  comment: string,
): readonly HostPlan[] {
  return configuredHosts(settings).map(({ host, role }) => {
    const reverify = settingForHost(host, settings.reverify);
    const again = reverify === undefined ? {} : { reverify };
    const about = { host, role, key: hostKey(host), ...again };
    const zone = zones.get(host);
    if (settings.dns === "manual" || zone === undefined) {
      return { ...about, dns: { at: "manual", issued: issued.has(host) } };
    }
    return {
      ...about,
      zone: zone.name,
      dns: { at: "cloudflare", zoneId: zone.id, comment, route: routeOf(host, settings) },
    };
  });
}

/** True where the run that is planned leaves the host served. */
export function goesLive({ dns }: HostPlan): boolean {
  return dns.at === "cloudflare" ? dns.route !== "held" : dns.issued;
}

function routeOf(host: string, settings: Settings): Extract<HostDns, { at: "cloudflare" }>["route"] {
  const adopt = settingForHost(host, settings.adopt);
  if (adopt !== undefined) return { adopt };
  return isHeld(settings, host) ? "held" : "managed";
}

function settingForHost<T>(host: string, decisions: Readonly<Record<string, T>>): T | undefined {
  return Object.entries(decisions).find(([name]) => normalizeName(name) === host)?.[1];
}
