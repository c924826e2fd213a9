import { getDnsRecords } from "@pulumi/cloudflare/getDnsRecords.js";
import { getZones } from "@pulumi/cloudflare/getZones.js";
import * as pulumi from "@pulumi/pulumi";
import {
  delegationCandidates,
  findConflicts,
  selectZone,
  type Zone,
  type ZoneRecord,
  zoneCandidates,
} from "./zone-check.ts";

/** A host to check. A held host is expected to have another owner's record. */
export interface HostToCheck {
  readonly host: string;
  readonly held: boolean;
}

/**
 * Returns the Cloudflare zone of each host, and checks that nothing in it conflicts with the records to create.
 *
 * @throws {pulumi.RunError} if a zone is not ready or a record conflicts; lists every problem with its fix
 */
export async function findZones(
  hosts: readonly HostToCheck[],
  comment: string,
): Promise<ReadonlyMap<string, Zone>> {
  const candidates = new Set(hosts.flatMap(({ host }) => zoneCandidates(host)));
  const zones = (await Promise.all([...candidates].map(zonesNamed))).flat();
  const checked = await Promise.all(hosts.map((host) => checkHost(host, zones, comment)));
  const problems = checked.flatMap((each) => each.problems);
  if (problems.length > 0) {
    throw new pulumi.RunError(
      ["DNS is not ready for the domains:", ...problems.map((text) => `  ${text}`)].join("\n"),
    );
  }
  return new Map(checked.flatMap(({ host, zone }) => (zone === undefined ? [] : [[host, zone] as const])));
}

async function checkHost({ host, held }: HostToCheck, zones: readonly Zone[], comment: string) {
  const candidates = zoneCandidates(host);
  const selected = selectZone(
    host,
    zones.filter(({ name }) => candidates.includes(name)),
  );
  if (!selected.ok) return { host, problems: [selected.problem] };
  const { zone } = selected;
  const names = [host, ...delegationCandidates(host, zone.name)];
  const records = (await Promise.all(names.map((name) => recordsNamed(name, zone.id)))).flat();
  const relevant = held ? records.filter(({ type }) => type === "NS") : records;
  return { host, zone, problems: findConflicts(host, zone.name, relevant, comment) };
}

async function zonesNamed(name: string): Promise<readonly Zone[]> {
  return (await query(`the zone ${name}`, () => getZones({ name }))).results;
}

async function recordsNamed(name: string, zoneId: string): Promise<readonly ZoneRecord[]> {
  const { results } = await query(`the records at ${name}`, () =>
    getDnsRecords({ zoneId, name: { exact: name } }),
  );
  return results;
}

/** Fails closed if Cloudflare cannot be queried. */
async function query<T>(subject: string, send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new pulumi.RunError(
      `Cannot query Cloudflare for ${subject}: ${reason}\n` +
        "Set CLOUDFLARE_API_TOKEN to a token with 'Zone Read' and 'DNS Edit' on the zones, then retry.",
    );
  }
}
