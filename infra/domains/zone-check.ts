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
