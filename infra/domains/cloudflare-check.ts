import { domainToASCII, domainToUnicode } from "node:url";
import { getDnsRecords } from "@pulumi/cloudflare/getDnsRecords.js";
import { getZones } from "@pulumi/cloudflare/getZones.js";
import * as pulumi from "@pulumi/pulumi";
import { errorMessage } from "../../lib/core/errors.ts";
import { isMocked } from "../mocks.ts";
import {
  delegationCandidates,
  findOwnRecord,
  findRecordConflicts,
  findRisks,
  selectZone,
  VALIDATION_DOMAIN,
  type Zone,
  type ZoneCheckInput,
  type ZoneRecord,
  zoneCandidates,
} from "./zone-check.ts";

/** The zone of a host. */
export interface HostZone extends Pick<Zone, "id" | "name" | "nameServers"> {
  /** True if the host has a routing record that this stack created. */
  readonly hasOwnRecord: boolean;
}

/** The zones of the hosts, and the effect of their records on an update. */
interface ZonesResult {
  /** By host: its zone. Hosts without a usable zone are missing. */
  readonly zones: ReadonlyMap<string, HostZone>;
  /** Everything that conflicts with the records to create, with the fix. */
  readonly problems: readonly string[];
  /** Everything that the update may do unexpectedly. */
  readonly warnings: readonly string[];
}

/**
 * Finds the Cloudflare zone of each host, and everything in it that conflicts with the records to create.
 *
 * @throws {pulumi.RunError} if Cloudflare cannot be queried
 */
export async function findZones(
  hosts: readonly ZoneCheckInput[],
  comment: string,
  options: pulumi.InvokeOptions,
): Promise<ZonesResult> {
  const candidates = new Set(hosts.flatMap(({ host }) => zoneCandidates(host)));
  const zones = (await Promise.all([...candidates].map((name) => zonesNamed(name, options)))).flat();
  const checked = await Promise.all(hosts.map((host) => checkHost(host, zones, comment, options)));
  return {
    zones: new Map(checked.flatMap(({ host, zone }) => (zone === undefined ? [] : [[host, zone] as const]))),
    problems: checked.flatMap(({ problems }) => problems),
    warnings: checked.flatMap(({ warnings }) => warnings),
  };
}

/** The zone of one host, and the effect of its records. */
interface CheckedHost extends Omit<ZonesResult, "zones"> {
  readonly host: string;
  readonly zone?: HostZone;
}

async function checkHost(
  input: ZoneCheckInput,
  zones: readonly Zone[],
  comment: string,
  options: pulumi.InvokeOptions,
): Promise<CheckedHost> {
  const { host } = input;
  const candidates = zoneCandidates(host);
  const ownZones = zones.filter(({ name }) => candidates.includes(name));
  const selected = selectZone(host, ownZones);
  if (!selected.ok) return { host, problems: [selected.message], warnings: [] };
  const { id, name: zone, nameServers } = selected.zone;
  const names = [host, ...delegationCandidates(host, zone)];
  const queries = [
    ...names.map((name) => recordsNamed(name, id, options)),
    validationRecordsBelow(host, id, options),
  ];
  // One query may return what another one does.
  const records = [...new Map((await Promise.all(queries)).flat().map((each) => [each.id, each])).values()];
  return {
    host,
    zone: { id, name: zone, nameServers, hasOwnRecord: findOwnRecord(host, records, comment) !== undefined },
    problems: findRecordConflicts(input, zone, records, comment),
    warnings: [...selected.warnings, ...findRisks(input, records, comment)],
  };
}

async function zonesNamed(name: string, options: pulumi.InvokeOptions): Promise<readonly Zone[]> {
  const mocked = { id: name, name, status: "active", type: "full", paused: false, nameServers: [] };
  const zones = await query<Zone>(
    `the zone ${name}`,
    () => getZones({ name: domainToUnicode(name) }, options),
    [mocked],
  );
  return zones.map((zone) => ({ ...zone, name: toNormalForm(zone.name) }));
}

/** The normal form of a name: lower case, punycode. Cloudflare knows internationalised names in Unicode. */
function toNormalForm(name: string): string {
  return domainToASCII(name) || name;
}

/** The records that pass a filter of Cloudflare's and, as the provider ignores filters that it does not know, one of ours. */
async function findRecords(
  subject: string,
  args: Parameters<typeof getDnsRecords>[0],
  matches: (record: ZoneRecord) => boolean,
  options: pulumi.InvokeOptions,
): Promise<readonly ZoneRecord[]> {
  const found = await query<ZoneRecord>(`the records ${subject}`, () => getDnsRecords(args, options));
  const inNormalForm = found.map(({ name, content, ...record }) => ({
    ...record,
    name: toNormalForm(name),
    content: toNormalForm(content),
  }));
  return inNormalForm.filter(matches);
}

function recordsNamed(name: string, zoneId: string, options: pulumi.InvokeOptions) {
  const args = { zoneId, name: { exact: domainToUnicode(name) } };
  return findRecords(`at ${name}`, args, (record) => record.name === name, options);
}

function validationRecordsBelow(host: string, zoneId: string, options: pulumi.InvokeOptions) {
  const name = { endswith: `.${domainToUnicode(host)}` };
  const args = { zoneId, type: "CNAME", name, content: { endswith: VALIDATION_DOMAIN } };
  const matches = (record: ZoneRecord) =>
    record.name.endsWith(`.${host}`) && record.content.endsWith(VALIDATION_DOMAIN);
  return findRecords(`below ${host}`, args, matches, options);
}

/** Returns the list that Cloudflare has. Fails closed if it cannot be queried. Mocks without a list have `mocked`. */
async function query<T>(
  subject: string,
  send: () => Promise<{ readonly results: readonly T[] }>,
  mocked: readonly T[] = [],
): Promise<readonly T[]> {
  try {
    const { results } = await send();
    if (results !== undefined) return results;
    if (isMocked()) return mocked;
    // A preview calls no provider whose own inputs it does not know.
    throw new Error(
      "the provider is not configured yet. Create what it is configured with in an update before.",
    );
  } catch (error) {
    const reason = error instanceof Error ? errorMessage(error) : String(error);
    const advice = reason.includes("explicit provider")
      ? "Pass a provider of the package 'cloudflare' to the component, in 'providers'."
      : "Set CLOUDFLARE_API_TOKEN to a token with 'Zone Read' and 'DNS Edit' on the zones, then retry.";
    throw new pulumi.RunError(`Cannot query Cloudflare for ${subject}: ${reason}\n${advice}`);
  }
}
