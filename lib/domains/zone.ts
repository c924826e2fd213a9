import { getDomain } from "tldts";

/** The zone of a host, and the label or labels of the host within it (`@` for the zone itself). */
export interface ZoneMatch {
  readonly zone: string;
  readonly label: string;
  /** True if the host is the zone itself, which cannot have a CNAME record (RFC 1034, 3.6.2). */
  readonly apex: boolean;
}

/**
 * Finds the zone of a host: the longest match among the known zones, otherwise the registrable domain by the public
 * suffix list. The list's private section counts, because names such as `shop.uk.com` are registered and delegated
 * one by one.
 */
export function locateInZone(hostname: string, knownZones: readonly string[] = []): ZoneMatch {
  const zone =
    knownZones
      .filter((known) => isWithin(hostname, known))
      .sort((one, other) => other.length - one.length)[0] ??
    getDomain(hostname, { allowPrivateDomains: true, extractHostname: false }) ??
    hostname;
  const apex = zone === hostname;
  return { zone, label: apex ? "@" : hostname.slice(0, -zone.length - 1), apex };
}

/** True if the name is the zone itself or below it. */
export function isWithin(name: string, zone: string): boolean {
  return name === zone || name.endsWith(`.${zone}`);
}
