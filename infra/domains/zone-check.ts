import { isWithin, locateInZone } from "../../lib/domains/zone.ts";

/** A zone as Cloudflare returns it. */
export interface Zone {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly type: string;
  readonly paused: boolean;
  readonly nameServers: readonly string[];
}

/** A DNS record as Cloudflare returns it. */
export interface ZoneRecord {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly content: string;
  readonly comment?: string | null;
}

/** The zone of a host, or why its records cannot be created, with the fix. */
export type ZoneSelection =
  | { readonly ok: true; readonly zone: Zone }
  | { readonly ok: false; readonly problem: string };

/** The possible zone names of a host: the host itself and each parent domain down to the registrable one. */
export function zoneCandidates(host: string): readonly string[] {
  const registrable = locateInZone(host).zone;
  const labels = host.split(".");
  return labels
    .map((_, index) => labels.slice(index).join("."))
    .filter((name) => isWithin(name, registrable));
}

/** Selects the zone of a host: the longest match, which has to be active, full and not paused. */
export function selectZone(host: string, zones: readonly Zone[]): ZoneSelection {
  const { zone: name } = locateInZone(
    host,
    zones.map((zone) => zone.name),
  );
  const matches = zones.filter((zone) => zone.name === name);
  const zone = matches.find(({ status }) => status === "active") ?? matches[0];
  if (zone === undefined) return { ok: false, problem: describeMissingZone(host) };
  const problem = describeZoneProblem(zone);
  return problem === undefined ? { ok: true, zone } : { ok: false, problem: `${host}: ${problem}` };
}

/** The names between a host and its zone: an NS record at one of them delegates the host out of the zone. */
export function delegationCandidates(host: string, zone: string): readonly string[] {
  return zoneCandidates(host).filter((name) => name !== host && name !== zone && isWithin(name, zone));
}

/** Describes every record that conflicts with a CNAME at the host. The stack's own CNAME, known by its comment, does not. */
export function findConflicts(
  host: string,
  zone: string,
  records: readonly ZoneRecord[],
  ownComment: string,
): readonly string[] {
  const conflicts = ({ name, type, comment }: ZoneRecord) => {
    if (type === "NS") return name !== zone;
    if (name !== host || !["A", "AAAA", "CNAME"].includes(type)) return false;
    return type !== "CNAME" || comment !== ownComment;
  };
  return records.filter(conflicts).map((record) => `${host}: ${describeConflict(record, host)}`);
}

function describeMissingZone(host: string): string {
  const candidates = zoneCandidates(host).join(", ");
  return (
    `${host}: the Cloudflare token can read no zone for this host (looked for ${candidates}). ` +
    "Add the zone at Cloudflare, grant the token 'Zone Read' on it, or set 'dns: manual' if its DNS is managed elsewhere."
  );
}

function describeZoneProblem({ name, status, type, paused, nameServers }: Zone): string | undefined {
  if (status !== "active") {
    const servers = nameServers.length === 0 ? "the ones that Cloudflare shows" : nameServers.join(" and ");
    return `the zone ${name} is not delegated to Cloudflare (status ${status}). Set its name servers at the registrar to ${servers}, and wait until the status is active.`;
  }
  if (type !== "full") {
    return `Cloudflare is not the authoritative DNS of the zone ${name} (type ${type}). Set 'dns: manual'.`;
  }
  return paused ? `the zone ${name} is paused. Resume it at Cloudflare.` : undefined;
}

function describeConflict({ id, name, type, content, comment }: ZoneRecord, host: string): string {
  const note = comment === undefined || comment === null || comment === "" ? "" : `, comment '${comment}'`;
  const record = `${type} ${name} → ${content} (record ${id}${note})`;
  if (type === "NS") {
    return `${record} delegates the name to other name servers. Delete it, or set 'dns: manual' and set the records there.`;
  }
  return `${record} conflicts with the CNAME of this stack. Delete it; if it serves traffic, add ${host} to 'hold' and follow infra/README.md#move-a-live-host.`;
}
