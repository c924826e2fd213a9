/** A DNS record as Cloudflare returns it. */
export interface ZoneRecord {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly content: string;
  readonly comment?: string | null;
}

/** A host with the settings that its records depend on. */
export interface HostToCheck {
  readonly host: string;
  /** True if its routing record is not to be created. */
  readonly held: boolean;
  /** The identifier of the record to import. @default none */
  readonly adopt?: string;
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
  { host, held, adopt }: HostToCheck,
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
  { host, held }: HostToCheck,
  records: readonly ZoneRecord[],
  ownComment: string,
): readonly string[] {
  const own = findOwnRecord(host, records, ownComment);
  const foreignValidations = records.filter(
    ({ name, content, comment }) =>
      isDirectlyBelow(name, host) && content.endsWith(VALIDATION_DOMAIN) && comment !== ownComment,
  );
  return [
    ...(held && own !== undefined
      ? [
          `${host}: 'hold' names a host that this stack serves, so the update deletes its record ${describe(own)}. Remove the host from 'hold' unless it should stop serving.`,
        ]
      : []),
    ...foreignValidations.map(
      (record) =>
        `${host}: the ACM validation record ${describe(record)} was not created by this stack. If it belongs to the same AWS account, the update fails because the stack needs the same record: see infra/README.md#an-interrupted-run.`,
    ),
  ];
}

function isDirectlyBelow(name: string, host: string): boolean {
  return name.endsWith(`.${host}`) && !name.slice(0, -host.length - 1).includes(".");
}

function describe({ id, name, type, content, comment }: ZoneRecord): string {
  const note = comment === undefined || comment === null || comment === "" ? "" : `, comment '${comment}'`;
  return `${type} ${name} → ${content} (record ${id}${note})`;
}

function describeConflict(record: ZoneRecord, ownComment: string): string {
  if (record.type === "NS") {
    return `${describe(record)} delegates the name to other name servers. Delete it, or set 'dns: manual' and set the records there.`;
  }
  const own =
    record.type === "CNAME"
      ? `If this stack created it, set its comment back to '${ownComment}', or, if the stack has lost its state, set store-orders:adopt to { ${record.name}: ${record.id} }. `
      : "";
  return `${describe(record)} conflicts with the CNAME of this stack. ${own}If it serves traffic, follow infra/README.md#move-a-live-host. Otherwise delete it.`;
}
