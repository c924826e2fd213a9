import { getDnsRecords } from "@pulumi/cloudflare/getDnsRecords.js";
import { getZones } from "@pulumi/cloudflare/getZones.js";
import * as pulumi from "@pulumi/pulumi";
import {
  judgeRecords,
  judgeZone,
  type KnownRecord,
  type KnownZone,
  namesBetween,
  zoneCandidates,
} from "./zone-check.ts";

/** A host to look at. One that is held has a record of somebody else's on purpose. */
export interface HostToCheck {
  readonly host: string;
  readonly held: boolean;
}

/**
 * Looks at the zones before anything is made, and already in preview. Gives each host's zone, or stops the program
 * with everything that stands in the way of any host.
 */
export async function findZones(
  hosts: readonly HostToCheck[],
  mark: string,
): Promise<ReadonlyMap<string, KnownZone>> {
  const candidates = new Set(hosts.flatMap(({ host }) => zoneCandidates(host)));
  const known = (await Promise.all([...candidates].map(zonesNamed))).flat();
  const found = await Promise.all(hosts.map((host) => checkHost(host, known, mark)));
  const problems = found.flatMap((each) => each.problems);
  if (problems.length > 0) {
    throw new pulumi.RunError(
      ["DNS is not ready for the domains:", ...problems.map((text) => `  ${text}`)].join("\n"),
    );
  }
  return new Map(found.flatMap(({ host, zone }) => (zone === undefined ? [] : [[host, zone] as const])));
}

async function checkHost({ host, held }: HostToCheck, known: readonly KnownZone[], mark: string) {
  const candidates = zoneCandidates(host);
  const verdict = judgeZone(
    host,
    known.filter(({ name }) => candidates.includes(name)),
  );
  if ("problem" in verdict) return { host, problems: [verdict.problem] };
  const { zone } = verdict;
  const names = [host, ...namesBetween(host, zone.name)];
  const records = (await Promise.all(names.map((name) => recordsNamed(name, zone.id)))).flat();
  const inTheWay = held ? records.filter(({ type }) => type === "NS") : records;
  return { host, zone, problems: judgeRecords(host, zone.name, inTheWay, mark) };
}

async function zonesNamed(name: string): Promise<readonly KnownZone[]> {
  return (await asked(`the zone ${name}`, () => getZones({ name }))).results;
}

async function recordsNamed(name: string, zoneId: string): Promise<readonly KnownRecord[]> {
  return (await asked(`the records at ${name}`, () => getDnsRecords({ zoneId, name: { exact: name } })))
    .results;
}

/** No answer is no verdict: nothing is made on a guess. */
async function asked<T>(about: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new pulumi.RunError(
      `Cloudflare could not be asked about ${about}: ${reason}\n` +
        "Set CLOUDFLARE_API_TOKEN to a token with 'Zone Read' and 'DNS Edit' on the zones, and run again.",
    );
  }
}
