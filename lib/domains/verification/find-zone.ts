import { explainTopLevel } from "../hostname.ts";
import type { ConfiguredHost } from "../mapping.ts";
import { type DnsRecord, recordsAt, type Target } from "../records.ts";
import {
  isWithin,
  locateInZone,
  namesWithin,
  placeInZone,
  registrableDomainOf,
  type ZoneMatch,
} from "../zone.ts";
import { findApexRecord } from "./providers.ts";
import { DNS_FAILURES, type DnsAnswer, type DnsResolver, normalizeName, recordsIn } from "./resolver.ts";

/** Knowledge about a zone before DNS is queried. */
export interface ZoneHints {
  /** The zone of the host. @default found in DNS */
  readonly zone?: string | undefined;
  /** Zones that are known to exist. They count where DNS does not say which zone a host is in. */
  readonly knownZones?: readonly string[] | undefined;
}

/**
 * Finds the zone of a host: the nearest name with a SOA record, or the owner of that in a negative answer (RFC 2308, 2).
 * Without an answer it is a known zone, or the registrable domain by the public suffix list.
 */
export async function findZone(
  resolver: DnsResolver,
  host: string,
  { zone: given, knownZones }: ZoneHints = {},
): Promise<ZoneMatch> {
  if (given !== undefined) return placeInZone(host, given, "given");
  const registrable = registrableDomainOf(host);
  const names = namesWithin(host, registrable);
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
    const isLame = isServfail(last) && (await resolver(parent, "SOA")).outcome !== "failed";
    return isLame ? placeInZone(host, registrable, "dns") : locateInZone(host, knownZones);
  }
  // The zone above answers for a domain that nobody has registered.
  if (!isWithin(zone, registrable))
    return placeInZone(host, last?.outcome === "nxdomain" ? registrable : zone, "dns");
  // If a name fails while its parent answers, it may be a zone whose name servers fail.
  const failing = names.slice(0, nearest).findLast((_, index) => isServfail(answers[index]));
  if (failing === undefined) return placeInZone(host, zone, "dns");
  const delegation = await findDelegation(resolver, failing, zone);
  return placeInZone(host, delegation.length > 0 ? failing : zone, "dns");
}

function isServfail(answer: DnsAnswer | undefined): boolean {
  return answer?.outcome === "failed" && answer.reason === "servfail";
}

export function explainZone({ zone, zoneSource }: Pick<ZoneMatch, "zone" | "zoneSource">): readonly string[] {
  if (zoneSource !== "public_suffix_list") return explainTopLevel(zone);
  const guess = `DNS did not say which zone this is, so ${zone} is a guess by the public suffix list. If it is another one, name it with --zone HOST=ZONE.`;
  return [...explainTopLevel(zone), guess];
}

/** The records that a host needs: in the zone that DNS has, and at an apex of the type that its provider has. */
export async function findRecords(
  resolver: DnsResolver,
  host: ConfiguredHost,
  target: Target,
  hints: ZoneHints,
): Promise<readonly DnsRecord[]> {
  const records = recordsAt(await findZone(resolver, host.host, hints), host, target);
  const [{ type, zone } = {}] = records;
  if (type !== "ALIAS" || zone === undefined) return records;
  const own = findApexRecord(recordsIn<"NS">(await resolver(zone, "NS")));
  return own === undefined ? records : records.map((record) => ({ ...record, type: own, alternatives: [] }));
}

/** The name servers to which a zone's parent delegates it. Empty if they cannot be found. */
export async function findDelegation(
  resolver: DnsResolver,
  zone: string,
  parent: string,
): Promise<readonly string[]> {
  const [[, ask] = []] = await findNameServers(resolver, parent);
  return ask === undefined ? [] : recordsIn<"NS">(await ask(zone, "NS"));
}

/** The name servers of a zone that fail to answer for it, each with the reason. */
export async function findLameServers(
  resolver: DnsResolver,
  zone: string,
  nameServers: readonly string[],
): Promise<readonly string[]> {
  const checked = nameServers.slice(0, MAX_NAME_SERVERS).map(async (server) => {
    const own = await resolverAt(resolver, server);
    if (own === undefined) return `${server} has no address`;
    const answer = await own(zone, "SOA");
    return answer.outcome === "failed" ? `${server}: ${DNS_FAILURES[answer.reason]}` : undefined;
  });
  return (await Promise.all(checked)).filter((failure) => failure !== undefined);
}

/**
 * The name servers of a zone that answer for it, by name, each with a resolver that asks it, at the addresses that the given
 * resolver has for it, for the names in the zone, and the given one for all others. Empty if they cannot be queried.
 */
export async function findNameServers(
  resolver: DnsResolver,
  zone: string,
): Promise<readonly (readonly [server: string, ask: DnsResolver])[]> {
  if (resolver.at === undefined) return [];
  const listed = recordsIn<"NS">(await resolver(zone, "NS"));
  const names = listed.toSorted().slice(0, MAX_NAME_SERVERS);
  const servers = names.map(async (server) => {
    const own = await resolverAt(resolver, server);
    if ((await own?.(zone, "SOA"))?.outcome !== "found") return [];
    const ask: DnsResolver = async (name, type) => {
      if (own === undefined || !isWithin(normalizeName(name), zone)) return resolver(name, type);
      const answer = await own(name, type);
      // Names below a further zone cut are those of other servers.
      const isElsewhere = answer.outcome === "failed" && answer.reason === "not_authoritative";
      return isElsewhere ? resolver(name, type) : answer;
    };
    return [[server, Object.assign(ask, { at: resolver.at, fresh: resolver.fresh }) as DnsResolver] as const];
  });
  return (await Promise.all(servers)).flat();
}

/** The root and the largest zones have 13 name servers. */
const MAX_NAME_SERVERS = 13;

/** Of each family. If all are silent, a query of `createDnsResolver` takes 16 s: 2 attempts of 2 s at 4 addresses. */
const MAX_ADDRESSES = 2;

/** A resolver that queries one name server. Undefined if it has no address. */
async function resolverAt(resolver: DnsResolver, server: string): Promise<DnsResolver | undefined> {
  const answers = await Promise.all([resolver(server, "A"), resolver(server, "AAAA")]);
  const addresses = answers.flatMap((answer) => recordsIn<"A" | "AAAA">(answer).slice(0, MAX_ADDRESSES));
  return addresses.length === 0 ? undefined : resolver.at?.(addresses);
}
