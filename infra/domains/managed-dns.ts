import type * as pulumi from "@pulumi/pulumi";
import { type DnsResolver, recordsIn } from "../../lib/domains/verification/resolver.ts";
import { isWithin, namesWithin, registrableDomainOf } from "../../lib/domains/zone.ts";
import { ownerInComment } from "../names.ts";
import { cloudflare } from "./cloudflare.ts";
import type { DnsProvider, Zone, ZoneRecord } from "./dns-provider.ts";
import { route53 } from "./route53.ts";

/** The DNS providers at which stacks create their records, by the value of the setting `dns`. */
export const DNS_PROVIDERS = { cloudflare, route53 } as const satisfies Readonly<Record<string, DnsProvider>>;

interface ZoneCheckInput {
  readonly host: string;
  /** True if its routing record is not to be created. */
  readonly held: boolean;
  /** The identifier of the record to import. @default none */
  readonly adopt?: string | undefined;
}

/** By what a stack recognises its own records. */
interface StackMark {
  readonly provider: DnsProvider;
  readonly comment: string;
}

export interface HostZone extends Pick<Zone, "id" | "name" | "isAsked"> {
  /** True if the host has a routing record that this stack created. */
  readonly hasOwnRecord: boolean;
}

/**
 * Finds the zone of each host at a DNS provider; those without a usable one are missing. `problems` are those of zones and
 * everything that conflicts with the records to create, each with the fix; despite `warnings`, records can be created.
 */
export async function findZones(
  inputs: readonly ZoneCheckInput[],
  mark: StackMark,
  options: pulumi.InvokeOptions,
  resolver: DnsResolver,
) {
  const { provider } = mark;
  const candidates = [...new Set(inputs.flatMap(({ host }) => zoneCandidates(host)))];
  const known = (await Promise.all(candidates.map((name) => provider.zonesNamed(name, options)))).flat();
  const found = await Promise.all(known.map((zone) => askDns(zone, mark, resolver)));
  const queries = found.map(async (zone) => {
    const hosts = inputs.filter(({ host }) => zonesOf(host, found).includes(zone));
    const names = new Set(hosts.flatMap(({ host }) => namesToCheck(host, zone.name)));
    const isUsable = zone.problem === undefined && hosts.length > 0;
    return [zone, isUsable ? await provider.findRecords(zone.id, [...names], options) : []] as const;
  });
  const recordsByZone = new Map(await Promise.all(queries));

  const zones = new Map<string, HostZone>();
  const problems: string[] = [];
  const warnings = new Set<string>();
  for (const input of inputs) {
    // It has the host's record, or a zone above delegates it: then others do not count, whatever DNS answers.
    const isInUse = (zone: Zone) =>
      [...recordsByZone].some(([each, records]) =>
        each === zone
          ? findOwnRecord(input.host, records, mark) !== undefined
          : isUnjudged(zone) && records.some(({ type, name }) => type === "NS" && name === zone.name),
      );
    const selected = selectZone(input.host, found, provider, isInUse);
    if (!selected.ok) {
      problems.push(selected.message);
      continue;
    }
    const { id, name, isAsked } = selected.zone;
    const names = namesToCheck(input.host, name);
    const records = (recordsByZone.get(selected.zone) ?? []).filter((each) => names.includes(each.name));
    const hasOwnRecord = findOwnRecord(input.host, records, mark) !== undefined;
    zones.set(input.host, { id, name, isAsked, hasOwnRecord });
    problems.push(...findRecordConflicts(input, name, records, mark));
    for (const warning of selected.warnings) warnings.add(warning);
  }
  return { zones, problems, warnings };
}

/** The possible zone names of a host. */
export const zoneCandidates = (host: string): readonly string[] =>
  namesWithin(host, registrableDomainOf(host));

/** A zone as DNS has it, with a note if DNS asks others, or nobody, for it. A lookup that fails says nothing. */
async function askDns(zone: Zone, { provider: { label } }: StackMark, resolver: DnsResolver): Promise<Zone> {
  const { name, nameServers, status, notes } = zone;
  const answer = await resolver(name, "NS");
  const asked = recordsIn<"NS">(answer);
  const isNotDelegated = isUnjudged(zone) && ["nodata", "nxdomain"].includes(answer.outcome);
  const isDelegated = asked.some((server) => nameServers.includes(server));
  if (isUnjudged(zone) && isDelegated) return { ...zone, isAsked: true, status: "active" };
  if (nameServers.length === 0 || isDelegated || (asked.length === 0 && !isNotDelegated))
    return { ...zone, isAsked: status === "active" || undefined };
  const note = `DNS asks ${asked.join(", ") || "nobody"} for ${name}, and not ${label} (${nameServers.join(", ")}): no record that is set there counts. Correct the name servers where ${name} is delegated.`;
  return { ...zone, isAsked: false, status: isNotDelegated ? WITHOUT_NS : status, notes: [...notes, note] };
}

const WITHOUT_NS = "without NS records";

/** True if the provider does not say whether DNS asks it for the zone, and DNS does not say it either. */
const isUnjudged = ({ status }: Zone) => status === "unknown" || status === WITHOUT_NS;

/** The zones that a host may be in, the nearest first: up to the one of which the provider knows that DNS asks it. */
function zonesOf(host: string, zones: readonly Zone[]): readonly Zone[] {
  const matches = zones
    .filter(({ name }) => isWithin(host, name))
    .sort((one, other) => other.name.length - one.name.length);
  const active = matches.findIndex(({ status }) => status === "active");
  return active === -1 ? matches : matches.slice(0, active + 1);
}

/**
 * The zone of a host, or why its records cannot be created: the longest match that is in use, otherwise that may be, because
 * DNS asks a zone above as long as the one below it is not delegated.
 */
export function selectZone(
  host: string,
  zones: readonly Zone[],
  { label, describeMissingZone }: DnsProvider,
  isInUse: (zone: Zone) => boolean = () => false,
) {
  const matches = zonesOf(host, zones);
  const [nearest] = matches;
  if (nearest === undefined)
    return { ok: false, message: `${host}: ${describeMissingZone(zoneCandidates(host))}` } as const;
  const mayBeInUse = ({ status }: Zone) => status === "active" || status === "unknown";
  const zone = matches.find(isInUse) ?? matches.find(mayBeInUse) ?? nearest;
  const { name, problem, notes } = zone;
  if (problem !== undefined) return { ok: false, message: `${host}: ${problem}` } as const;
  const passedOver = `${host}: the zone ${nearest.name} at ${label} is not delegated (status ${nearest.status}), so the records are set in ${name}. They do not move when it becomes active: delete it, or delegate it and update again.`;
  return { ok: true, zone, warnings: nearest.name === name ? notes : [...notes, passedOver] } as const;
}

/** The host, and the names between it and its zone: an NS record at one of them delegates the host out of the zone. */
export function namesToCheck(host: string, zone: string): readonly string[] {
  return [host, ...namesWithin(host, zone).filter((name) => name !== host && name !== zone)];
}

/** The stack's own routing record. */
function findOwnRecord(host: string, records: readonly ZoneRecord[], { provider, comment }: StackMark) {
  const { type } = provider.route;
  return records.find((each) => each.name === host && each.type === type && each.comment === comment);
}

/** Describes every record that prevents the host's routing record from being created or imported, with the fix. */
export function findRecordConflicts(
  { host, held, adopt }: ZoneCheckInput,
  zone: string,
  records: readonly ZoneRecord[],
  mark: StackMark,
): readonly string[] {
  const own = findOwnRecord(host, records, mark);
  const conflicts = records.filter((record) => {
    const { id, name, type } = record;
    if (type === "NS") return name !== zone;
    if (held || record === own || name !== host || !["A", "AAAA", "CNAME"].includes(type)) return false;
    return !mark.provider.route.adoptable.includes(type) || id !== adopt;
  });
  const isPresent = own !== undefined || records.some(({ id, name }) => id === adopt && name === host);
  const missing = `${host}: 'adopt' names the record ${adopt}, but the host has no such record. Correct or remove it.`;
  return [
    ...conflicts.map((record) => {
      const isSingle = !conflicts.some((each) => each !== record && each.type === record.type);
      return `${host}: ${formatRecord(record)} ${explainConflict(record, zone, mark, isSingle)}`;
    }),
    ...(adopt === undefined || isPresent ? [] : [missing]),
  ];
}

function formatRecord({ id, name, type, content, comment }: ZoneRecord): string {
  // The identifier of a record at Route 53 ends with it.
  const note = !comment || id.endsWith(comment) ? "" : `, comment '${comment}'`;
  return `${type} ${name} → ${content} (record ${id}${note})`;
}

function explainConflict(
  record: ZoneRecord,
  zone: string,
  { provider, comment }: StackMark,
  isSingle: boolean,
): string {
  if (record.type === "NS")
    return "delegates the name to other name servers. Delete it, or set 'dns: manual' and set the records there.";
  const moveOrDelete =
    "If it serves traffic, follow infra/domains/README.md#move-a-live-host. Otherwise delete it, and run 'npx pulumi up --refresh'.";
  if (!isSingle)
    return `is one of several of this name and type, of which none can be taken over. Replace them by a single one. ${moveOrDelete}`;
  const conflict = `${provider.describeConflict(record, zone, comment)} ${moveOrDelete}`;
  const owner = record.comment === comment ? undefined : ownerInComment(record.comment);
  if (owner === undefined) return conflict;
  return `is kept by the stack ${owner}. If this stack was called so before a rename, set store-orders:renamedFrom to ${owner}. Otherwise it ${conflict}`;
}
