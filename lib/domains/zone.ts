import { getDomain } from "tldts";

/** The zone of a host, and the label or labels of the host within it (`@` for the zone itself). */
export interface ZoneMatch {
  readonly zone: string;
  /** The public suffix list guesses it: a name below may be a zone of its own. */
  readonly zoneSource: "given" | "dns" | "public_suffix_list";
  readonly label: string;
  /** True if the host is the zone itself, which cannot have a CNAME record (RFC 1034, 3.6.2). */
  readonly apex: boolean;
}

/** The zone of a host without DNS: the longest match among the known zones, otherwise the registrable domain. */
export function locateInZone(host: string, knownZones: readonly string[] = []): ZoneMatch {
  const [given] = knownZones
    .filter((known) => isWithin(host, known))
    .sort((one, other) => other.length - one.length);
  if (given !== undefined) return placeInZone(host, given, "given");
  return placeInZone(host, registrableDomainOf(host), "public_suffix_list");
}

export function placeInZone(host: string, zone: string, zoneSource: ZoneMatch["zoneSource"]): ZoneMatch {
  const apex = zone === host;
  return { zone, zoneSource, label: apex ? "@" : host.slice(0, -zone.length - 1), apex };
}

/**
 * The domain that somebody has registered, by the public suffix list. Its private section counts, because names such as
 * `shop.uk.com` are registered and delegated one by one.
 */
export function registrableDomainOf(host: string): string {
  return getDomain(host, { allowPrivateDomains: true, extractHostname: false }) ?? host;
}

/** The name and each one above it, down to the zone. */
export function namesWithin(name: string, zone: string): readonly string[] {
  const names = name.split(".").map((_, index, labels) => labels.slice(index).join("."));
  return names.filter((each) => isWithin(each, zone));
}

export function isWithin(name: string, zone: string): boolean {
  return name === zone || name.endsWith(`.${zone}`);
}
