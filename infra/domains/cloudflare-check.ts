import { getDnsRecords } from "@pulumi/cloudflare/getDnsRecords.js";
import { getZones } from "@pulumi/cloudflare/getZones.js";
import * as pulumi from "@pulumi/pulumi";
import {
  findConflicts,
  findOwnRecord,
  findRisks,
  type HostToCheck,
  VALIDATION_DOMAIN,
  type ZoneRecord,
} from "./record-check.ts";
import { delegationCandidates, selectZone, type Zone, zoneCandidates } from "./zone-check.ts";

/** The zone of a host. */
export interface HostZone extends Pick<Zone, "id" | "name"> {
  /** True if the host has a routing record that this stack created. */
  readonly hasOwnRecord: boolean;
}

/**
 * Returns the Cloudflare zone of each host, and checks that nothing in it conflicts with the records to create. Logs a
 * warning for everything that the update may do unexpectedly.
 *
 * @throws {pulumi.RunError} if a zone is not ready or a record conflicts; lists every problem with its fix
 */
export async function findZones(
  hosts: readonly HostToCheck[],
  comment: string,
): Promise<ReadonlyMap<string, HostZone>> {
  const candidates = new Set(hosts.flatMap(({ host }) => zoneCandidates(host)));
  const zones = (await Promise.all([...candidates].map(zonesNamed))).flat();
  const checked = await Promise.all(hosts.map((host) => checkHost(host, zones, comment)));
  const problems = checked.flatMap((each) => each.problems);
  if (problems.length > 0) {
    throw new pulumi.RunError(
      ["DNS is not ready for the domains:", ...problems.map((text) => `  ${text}`)].join("\n"),
    );
  }
  await Promise.all(checked.flatMap(({ risks }) => risks).map((text) => pulumi.log.warn(text)));
  return new Map(checked.flatMap(({ host, zone }) => (zone === undefined ? [] : [[host, zone] as const])));
}

interface CheckedHost {
  readonly host: string;
  readonly zone?: HostZone;
  readonly problems: readonly string[];
  readonly risks: readonly string[];
}

async function checkHost(
  hostToCheck: HostToCheck,
  zones: readonly Zone[],
  comment: string,
): Promise<CheckedHost> {
  const { host } = hostToCheck;
  const candidates = zoneCandidates(host);
  const selected = selectZone(
    host,
    zones.filter(({ name }) => candidates.includes(name)),
  );
  if (!selected.ok) return { host, problems: [selected.problem], risks: [] };
  const { id, name: zone } = selected.zone;
  const names = [host, ...delegationCandidates(host, zone)];
  const queries = [...names.map((name) => recordsNamed(name, id)), validationRecordsBelow(host, id)];
  const records = (await Promise.all(queries)).flat();
  return {
    host,
    zone: { id, name: zone, hasOwnRecord: findOwnRecord(host, records, comment) !== undefined },
    problems: findConflicts(hostToCheck, zone, records, comment),
    risks: findRisks(hostToCheck, records, comment),
  };
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

async function validationRecordsBelow(host: string, zoneId: string): Promise<readonly ZoneRecord[]> {
  const filter = { type: "CNAME", name: { endswith: `.${host}` }, content: { endswith: VALIDATION_DOMAIN } };
  const { results } = await query(`the records below ${host}`, () => getDnsRecords({ zoneId, ...filter }));
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
