import type { Registration } from "./registration.ts";
import type { Value } from "./wire.ts";

export interface HostedZone {
  readonly id: string;
  readonly name: string;
  readonly private?: boolean;
}

/** A record set, with names as they are written in DNS. */
export interface RecordSet {
  readonly zoneId: string;
  readonly name: string;
  readonly type: string;
  /** The values, or the target of an alias. */
  readonly values: readonly string[];
  readonly alias?: boolean;
  readonly ttl?: number;
  readonly setIdentifier?: string;
}

/** The identifier that the provider has for a record set, and imports it by. */
export const idOf = ({ zoneId, name, type, setIdentifier }: RecordSet) =>
  [zoneId, name, type, setIdentifier].filter((part) => part !== undefined).join("_");

/** The hosted zones of an account, with the rules of Route 53 for record sets, and the functions of the provider. */
export function hostedZones(zones: readonly HostedZone[], initial: readonly RecordSet[]) {
  /** By the identifier in the state, which stays what it was when a type or set identifier changes. */
  const sets = new Map(initial.map((set) => [idOf(set), set]));
  const zoneOf = (id: Value | undefined) => {
    const zone = zones.find((each) => each.id === id);
    if (zone === undefined) throw new Error(`NoSuchHostedZone: No hosted zone found with ID: ${String(id)}`);
    return zone;
  };
  const describe = ({ id, name, private: privateZone = false }: HostedZone) => {
    const nameServers = ["ns-1.awsdns-01.com", "ns-2.awsdns-02.co.uk"];
    return { id, zoneId: id, name, privateZone, nameServers };
  };
  const check = (set: RecordSet) => {
    const zone = zoneOf(set.zoneId);
    const named = `RRSet of type ${set.type} with DNS name ${set.name}.`;
    if (set.name !== zone.name && !set.name.endsWith(`.${zone.name}`))
      throw rejected(`${named} is not permitted in zone ${zone.name}.`);
    if (set.type === "CNAME" && set.name === zone.name)
      throw rejected(`${named} is not permitted at apex in zone ${zone.name}.`);
    const beside = [...sets.values()].filter(({ zoneId, name }) => zoneId === zone.id && name === set.name);
    if (beside.some(({ type }) => type !== set.type && [type, set.type].includes("CNAME")))
      throw rejected(`${named} is not permitted as it conflicts with other records with the same DNS name.`);
    const same = beside.filter(({ type }) => type === set.type);
    if (same.some(({ setIdentifier }) => setIdentifier === set.setIdentifier))
      throw rejected(
        `Tried to create resource record set [name='${set.name}.', type='${set.type}'] but it already exists`,
      );
    if (same.some(({ setIdentifier }) => (setIdentifier === undefined) !== (set.setIdentifier === undefined)))
      throw rejected(
        `${named}, SetIdentifier ${set.setIdentifier} cannot be created as a non-weighted set exists with the same name and type.`,
      );
  };

  return {
    list: () => [...sets.values()],
    functions: {
      "aws:route53/getZone:getZone": ({ name, zoneId }: Readonly<Record<string, Value>>) => {
        if (zoneId !== undefined) return describe(zoneOf(zoneId));
        const [first, ...others] = zones.filter((each) => each.name === name && each.private !== true);
        if (first === undefined) throw new Error("no matching Route 53 Hosted Zone found");
        if (others.length > 0)
          throw new Error(
            "multiple Route 53 Hosted Zones matched; use additional constraints to reduce matches to a single Route 53 Hosted Zone",
          );
        return describe(first);
      },
      "aws:route53/getZones:getZones": () => ({ ids: zones.map(({ id }) => id) }),
      /** Names end with a dot, and an asterisk is escaped. An alias has no TTL. */
      "aws:route53/getRecords:getRecords": ({ zoneId, nameRegex }: Readonly<Record<string, Value>>) => {
        const expression = new RegExp(String(nameRegex ?? ""));
        const found = [...sets.values()].filter((set) => set.zoneId === zoneOf(zoneId).id);
        const resourceRecordSets = found
          .map(({ name, type, values, alias, ttl = 300, setIdentifier }) => ({
            name: `${name.replace("*", "\\052")}.`,
            type,
            resourceRecords: alias ? [] : values.map((value) => ({ value })),
            ...(alias ? { aliasTarget: { dnsName: `${values[0]}.` } } : { ttl }),
            ...(setIdentifier !== undefined && { setIdentifier }),
          }))
          .filter(({ name }) => expression.test(name));
        return { resourceRecordSets };
      },
    },
    /** Creates a record set, never in the place of another one. Returns its identifier. */
    create(registration: Registration): string {
      const set = toRecordSet(registration);
      check(set);
      sets.set(idOf(set), set);
      return idOf(set);
    },
    /** Reads the record set with an import identifier: `<zone>_<name>_<type>`, and the set identifier if it has one. */
    read(importId: string): { readonly id: string } {
      if (!sets.has(importId)) throw new Error(`couldn't find resource: ${importId}`);
      return { id: importId };
    },
    /** Deletes a record set and creates it anew, in one transaction. */
    update(id: string, registration: Registration) {
      const before = sets.get(id);
      sets.delete(id);
      try {
        check(toRecordSet(registration));
        sets.set(id, toRecordSet(registration));
      } catch (error) {
        if (before !== undefined) sets.set(id, before);
        throw error;
      }
    },
    delete(id: string) {
      if (!sets.delete(id)) throw new Error(`The record set ${id} does not exist.`);
    },
  };
}

const rejected = (reason: string) => new Error(`InvalidChangeBatch: [${reason}]`);

function toRecordSet({ inputs }: Registration): RecordSet {
  const { zoneId, name, type, ttl, records, aliases, setIdentifier, weightedRoutingPolicies } =
    inputs as unknown as {
      readonly [input in "zoneId" | "name" | "type"]: string;
    } & {
      readonly ttl?: number;
      readonly records?: readonly string[];
      readonly aliases?: readonly { readonly name: string; readonly zoneId: string }[];
      readonly setIdentifier?: string;
      readonly weightedRoutingPolicies?: readonly { readonly weight: number }[];
    };
  if ((records === undefined) === (aliases === undefined))
    throw new Error("one of `alias,records` must be specified");
  if ((ttl === undefined) !== (records === undefined)) throw new Error("An alias has no TTL, all others do.");
  if ((setIdentifier === undefined) !== (weightedRoutingPolicies === undefined))
    throw new Error("A set identifier needs a routing policy, and the other way round.");
  return {
    ...{ zoneId, name, type, values: records ?? aliases?.map((alias) => alias.name) ?? [] },
    ...(aliases !== undefined && { alias: true }),
    ...(ttl !== undefined && { ttl }),
    ...(setIdentifier !== undefined && { setIdentifier }),
  };
}
