import { isWithin, locateInZone } from "../../lib/domains/zone.ts";

/** A zone as the DNS provider knows it. */
export interface KnownZone {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly type: string;
  readonly paused: boolean;
  readonly nameServers: readonly string[];
}

/** A record as the DNS provider keeps it. */
export interface KnownRecord {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly content: string;
  readonly comment?: string | null;
}

/** The zone that a host's records go into, or why there is none, with the mend. */
export type ZoneVerdict = { readonly zone: KnownZone } | { readonly problem: string };

/** The names that a host's zone can have: the host itself, and every name above it that can be registered. */
export function zoneCandidates(host: string): readonly string[] {
  const registrable = locateInZone(host).zone;
  const labels = host.split(".");
  return labels
    .map((_, index) => labels.slice(index).join("."))
    .filter((name) => isWithin(name, registrable));
}

/** Chooses a host's zone: the longest match, which has to be in force. */
export function judgeZone(host: string, zones: readonly KnownZone[]): ZoneVerdict {
  const { zone: name } = locateInZone(
    host,
    zones.map((zone) => zone.name),
  );
  const named = zones.filter((zone) => zone.name === name);
  const zone = named.find(({ status }) => status === "active") ?? named[0];
  if (zone === undefined) return { problem: noZone(host) };
  const problem = flawOf(zone);
  return problem === undefined ? { zone } : { problem: `${host}: ${problem}` };
}

/** The names between a host and its zone, at which a delegation would take the host out of the zone. */
export function namesBetween(host: string, zone: string): readonly string[] {
  return zoneCandidates(host).filter((name) => name !== host && name !== zone && isWithin(name, zone));
}

/** Whatever stands in the way of a CNAME at a host. Our own record, known by its comment, does not. */
export function judgeRecords(
  host: string,
  zone: string,
  records: readonly KnownRecord[],
  mark: string,
): readonly string[] {
  const inTheWay = ({ name, type, comment }: KnownRecord) => {
    if (type === "NS") return name !== zone;
    if (name !== host || !["A", "AAAA", "CNAME"].includes(type)) return false;
    return type !== "CNAME" || comment !== mark;
  };
  return records.filter(inTheWay).map((record) => `${host}: ${explain(record, host)}`);
}

function noZone(host: string): string {
  const looked = zoneCandidates(host).join(", ");
  return (
    `${host}: there is no zone for it among those that the Cloudflare token sees (looked for ${looked}). ` +
    "Add the zone there, give the token 'Zone Read' on it, or set 'dns: manual' where DNS is elsewhere."
  );
}

function flawOf({ name, status, type, paused, nameServers }: KnownZone): string | undefined {
  if (status !== "active") {
    const servers = nameServers.length === 0 ? "those that Cloudflare shows" : nameServers.join(" and ");
    return `the zone ${name} is ${status}, so it is not delegated. Set its name servers at the registrar to ${servers}, and wait until Cloudflare calls it active.`;
  }
  if (type !== "full") {
    return `the zone ${name} is of type ${type}, so Cloudflare does not answer for it. Set 'dns: manual'.`;
  }
  return paused ? `the zone ${name} is paused. Resume it at Cloudflare.` : undefined;
}

function explain({ id, name, type, content, comment }: KnownRecord, host: string): string {
  const note = comment === undefined || comment === null || comment === "" ? "" : `, comment '${comment}'`;
  const record = `${type} ${name} → ${content} (record ${id}${note})`;
  if (type === "NS") {
    return `${record} delegates the name elsewhere. Remove it, or set 'dns: manual' and keep the records where it leads.`;
  }
  return `${record} is in the way of our CNAME. Delete it; or, if it carries traffic, put ${host} under 'hold' and move it as "Moving a live host" says.`;
}
