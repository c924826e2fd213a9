import { isWithin, locateInZone, placeInZone, registrableDomainOf, type ZoneMatch } from "../zone.ts";
import { DNS_FAILURES } from "./reasons.ts";
import { type DnsResolver, normalizeName, recordsIn } from "./resolver.ts";

/** Knowledge about a zone before DNS is queried. */
export interface ZoneHints {
  /** The zone of the host. It overrides the zone found in DNS. */
  readonly zone?: string | undefined;
  /** Zones that are known to exist. They count where DNS does not answer. */
  readonly knownZones?: readonly string[] | undefined;
}

/**
 * Finds the zone of a host, where DNS has the zone cut: the nearest name with a SOA record, or the owner of the SOA
 * record in a negative answer (RFC 2308, 2). Without an answer it is a known zone, or the registrable domain by the
 * public suffix list.
 */
export async function findZone(
  resolver: DnsResolver,
  host: string,
  { zone: given, knownZones }: ZoneHints = {},
): Promise<ZoneMatch> {
  if (given !== undefined) return placeInZone(host, given, "given");
  const registrable = registrableDomainOf(host);
  const names = host
    .split(".")
    .map((_, index, labels) => labels.slice(index).join("."))
    .filter((name) => isWithin(name, registrable));
  const answers = await Promise.all(names.map((name) => resolver(name, "SOA")));
  const zones = answers.map((answer, index) => {
    if (answer.outcome === "found") return names[index];
    // An alias shows the zone of its target.
    return answer.outcome !== "failed" && isWithin(host, answer.zone ?? "") ? answer.zone : undefined;
  });
  const nearest = zones.findIndex((zone) => zone !== undefined);
  const zone = zones[nearest];
  const last = answers.at(-1);
  if (zone === undefined) {
    const parent = registrable.slice(registrable.indexOf(".") + 1);
    // If its parent answers, the domain is a zone whose name servers fail.
    const isLame =
      last?.outcome === "failed" &&
      last.reason === "servfail" &&
      (await resolver(parent, "SOA")).outcome !== "failed";
    return isLame ? placeInZone(host, registrable, "dns") : locateInZone(host, knownZones);
  }
  // The zone above answers for a domain that nobody has registered.
  if (!isWithin(zone, registrable)) {
    return placeInZone(host, last?.outcome === "nxdomain" ? registrable : zone, "dns");
  }
  // If a name fails while its parent answers, it may be a zone whose name servers fail.
  const failing = names.slice(0, nearest).findLast((_, index) => {
    const answer = answers[index];
    return answer?.outcome === "failed" && answer.reason === "servfail";
  });
  if (failing === undefined) return placeInZone(host, zone, "dns");
  const delegation = await findDelegation(resolver, failing, zone);
  return placeInZone(host, delegation.length > 0 ? failing : zone, "dns");
}

/** The name servers to which a zone's parent delegates it. Empty if they cannot be found. */
export async function findDelegation(
  resolver: DnsResolver,
  zone: string,
  parent: string,
): Promise<readonly string[]> {
  const own = await askNameServers(resolver, parent);
  return own === undefined ? [] : recordsIn<"NS">(await own(zone, "NS"));
}

/** The name servers of a zone that fail to answer for it, each with the reason. */
export async function findLameServers(
  resolver: DnsResolver,
  zone: string,
  nameServers: readonly string[],
): Promise<readonly string[]> {
  const checked = nameServers.slice(0, MAX_NAME_SERVERS).map(async (server) => {
    const addresses = await addressesOf(resolver, server);
    if (addresses.length === 0) return `${server} has no address`;
    const answer = await resolver.at?.(addresses)(zone, "SOA");
    return answer?.outcome === "failed" ? `${server}: ${DNS_FAILURES[answer.reason]}` : undefined;
  });
  return (await Promise.all(checked)).filter((failure) => failure !== undefined);
}

/**
 * A resolver that queries the zone's own name servers for the names in the zone, so that no answer is a cached one, and
 * the given one for everything else. Undefined if they cannot be queried.
 */
export async function askPresent(resolver: DnsResolver, zone: string): Promise<DnsResolver | undefined> {
  const own = await askNameServers(resolver, zone);
  if (own === undefined) return undefined;
  return async (name, type) => {
    if (!isWithin(normalizeName(name), zone)) return resolver(name, type);
    const answer = await own(name, type);
    // Names below a further zone cut are those of other servers.
    return answer.outcome === "failed" ? resolver(name, type) : answer;
  };
}

const MAX_NAME_SERVERS = 4;

async function askNameServers(resolver: DnsResolver, zone: string): Promise<DnsResolver | undefined> {
  if (resolver.at === undefined) return undefined;
  const nameServers = recordsIn<"NS">(await resolver(zone, "NS")).slice(0, MAX_NAME_SERVERS);
  const addresses = await Promise.all(nameServers.map((server) => addressesOf(resolver, server)));
  if (addresses.flat().length === 0) return undefined;
  const own = resolver.at(addresses.flat());
  return (await own(zone, "SOA")).outcome === "found" ? own : undefined;
}

async function addressesOf(resolver: DnsResolver, name: string): Promise<readonly string[]> {
  const answers = await Promise.all([resolver(name, "A"), resolver(name, "AAAA")]);
  return answers.flatMap((answer) => recordsIn<"A" | "AAAA">(answer));
}
