import { isWithin, locateInZone, namesWithin } from "../../lib/domains/zone.ts";

/** A zone as Cloudflare returns it. */
export interface Zone {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly type: string;
  readonly paused: boolean;
  readonly nameServers: readonly string[];
}

/** The zone of a host, or the reason why its records cannot be created, with the fix. */
type ZoneSelection =
  | { readonly ok: true; readonly zone: Zone; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly code: "no_zone" | "unusable_zone"; readonly message: string };

/** The possible zone names of a host: the host itself and each parent domain down to the registrable one. */
export function zoneCandidates(host: string): readonly string[] {
  return namesWithin(host, locateInZone(host).zone);
}

/**
 * Selects the zone of a host: the longest match that is active, because DNS asks a zone above as long as the one below it
 * is not delegated. It has to be full.
 */
export function selectZone(host: string, zones: readonly Zone[]): ZoneSelection {
  const matches = zones
    .filter(({ name }) => isWithin(host, name))
    .sort((one, other) => other.name.length - one.name.length);
  const [nearest] = matches;
  if (nearest === undefined) return { ok: false, code: "no_zone", message: describeMissingZone(host) };
  const zone = matches.find(({ status }) => status === "active") ?? nearest;
  const problem = describeZoneProblem(zone);
  if (problem !== undefined) return { ok: false, code: "unusable_zone", message: `${host}: ${problem}` };
  const { name, paused } = zone;
  const warnings = [
    paused
      ? `${host}: the zone ${name} is paused. Cloudflare answers DNS for it, which is all that this stack needs; to resume it would proxy other records again.`
      : "",
    nearest.name === name
      ? ""
      : `${host}: the zone ${nearest.name} at Cloudflare is not delegated (status ${nearest.status}), so the records are set in ${name}. They do not move when it becomes active: delete it, or delegate it and update again.`,
  ];
  return { ok: true, zone, warnings: warnings.filter(Boolean) };
}

/** The names between a host and its zone: an NS record at one of them delegates the host out of the zone. */
export function delegationCandidates(host: string, zone: string): readonly string[] {
  return namesWithin(host, zone).filter((name) => name !== host && name !== zone);
}

function describeMissingZone(host: string): string {
  const candidates = zoneCandidates(host).join(", ");
  return (
    `${host}: the Cloudflare token can read no zone for this host (looked for ${candidates}). ` +
    "Add the zone at Cloudflare, grant the token 'Zone Read' on it, or set 'dns: manual' if its DNS is managed elsewhere."
  );
}

function describeZoneProblem({ name, status, type, nameServers }: Zone): string | undefined {
  if (status !== "active") {
    const servers = nameServers.length === 0 ? "the ones that Cloudflare shows" : nameServers.join(" and ");
    const { zone } = locateInZone(name);
    const where =
      zone === name ? "its name servers at the registrar" : `the NS records of ${name} in the zone ${zone}`;
    return `the zone ${name} is not delegated to Cloudflare (status ${status}). Set ${where} to ${servers}, and wait until the status is active.`;
  }
  if (type !== "full") {
    return `Cloudflare is not the authoritative DNS of the zone ${name} (type ${type}). Set 'dns: manual'.`;
  }
  return undefined;
}

/** A DNS record as Cloudflare returns it. */
export interface ZoneRecord {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly content: string;
  readonly comment?: string | null;
}

/** A host with the settings that its records depend on. */
export interface ZoneCheckInput {
  readonly host: string;
  /** True if its routing record is not to be created. */
  readonly held: boolean;
  /** The identifier of the record to import. @default none */
  readonly adopt?: string | undefined;
  /** False if the host needs no validation record, because it has a certificate of its own. @default true */
  readonly validated?: boolean;
}

/** The target of every ACM validation record. */
export const VALIDATION_DOMAIN = ".acm-validations.aws";

/** The stack's own routing record, recognised by its comment. */
export function findOwnRecord(host: string, records: readonly ZoneRecord[], ownComment: string) {
  return records.find(
    ({ name, type, comment }) => name === host && type === "CNAME" && comment === ownComment,
  );
}

/** Describes every record that prevents the host's routing record from being created or imported, with the fix. */
export function findRecordConflicts(
  { host, held, adopt }: ZoneCheckInput,
  zone: string,
  records: readonly ZoneRecord[],
  ownComment: string,
): readonly string[] {
  const own = findOwnRecord(host, records, ownComment);
  const conflicts = records.filter((record) => {
    const { id, name, type } = record;
    if (type === "NS") return name !== zone;
    if (held || record === own || name !== host || !["A", "AAAA", "CNAME"].includes(type)) return false;
    return type !== "CNAME" || id !== adopt;
  });
  const isMissing =
    adopt !== undefined &&
    own === undefined &&
    !records.some(({ id, name }) => id === adopt && name === host);
  const missing = `${host}: 'adopt' names the record ${adopt}, but the host has no such record. Correct or remove it.`;
  return [
    ...conflicts.map((record) => `${host}: ${describeConflict(record, ownComment)}`),
    ...(isMissing ? [missing] : []),
  ];
}

/** Describes what the update may do unexpectedly to the host, or to another owner's certificate. */
export function findRisks(
  { host, held, validated = true }: ZoneCheckInput,
  records: readonly ZoneRecord[],
  ownComment: string,
): readonly string[] {
  const own = findOwnRecord(host, records, ownComment);
  const foreignValidations = records.filter(
    ({ name, content, comment }) =>
      validated &&
      isDirectlyBelow(name, host) &&
      content.endsWith(VALIDATION_DOMAIN) &&
      comment !== ownComment,
  );
  return [
    ...(held && own !== undefined
      ? [
          `${host}: 'hold' names a host that this stack serves, so the update deletes its record ${describeRecord(own)}. Remove the host from 'hold' unless it should stop serving.`,
        ]
      : []),
    ...foreignValidations.map(
      (record) =>
        `${host}: the ACM validation record ${describeRecord(record)} was not created by this stack. If it belongs to the same AWS account, the update fails because the stack needs the same record: see infra/recovery.md#an-interrupted-run.`,
    ),
  ];
}

function isDirectlyBelow(name: string, host: string): boolean {
  return name.endsWith(`.${host}`) && !name.slice(0, -host.length - 1).includes(".");
}

function describeRecord({ id, name, type, content, comment }: ZoneRecord): string {
  const note = comment === undefined || comment === null || comment === "" ? "" : `, comment '${comment}'`;
  return `${type} ${name} → ${content} (record ${id}${note})`;
}

function describeConflict(record: ZoneRecord, ownComment: string): string {
  if (record.type === "NS") {
    return `${describeRecord(record)} delegates the name to other name servers. Delete it, or set 'dns: manual' and set the records there.`;
  }
  const own =
    record.type === "CNAME"
      ? `If this stack created it, set its comment back to '${ownComment}', or, if the stack has lost its state, set store-orders:adopt to { ${record.name}: ${record.id} }. `
      : "";
  return `${describeRecord(record)} conflicts with the CNAME of this stack. ${own}If it serves traffic, follow infra/domains/README.md#move-a-live-host. Otherwise delete it.`;
}
