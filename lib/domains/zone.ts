import { getDomain } from "tldts";

/** Where a host stands in DNS: its zone, and the label or labels that name it there (`@` for the zone itself). */
export interface ZoneMatch {
  readonly zone: string;
  readonly label: string;
  /** True where the host is the zone itself, so that it can have no CNAME record (RFC 1034, 3.6.2). */
  readonly apex: boolean;
}

/**
 * Splits a host from its zone. Of the zones that are known to exist the longest match counts; where none
 * matches, the zone is the registrable domain by the public suffix list, its private section included: names
 * such as `shop.uk.com` are sold and delegated one by one.
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

/** True for a name that is the zone itself or stands below it. */
export function isWithin(name: string, zone: string): boolean {
  return name === zone || name.endsWith(`.${zone}`);
}
