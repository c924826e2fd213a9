import * as aws from "@pulumi/aws";
import type * as pulumi from "@pulumi/pulumi";
import { RECORD_TTL_SECONDS } from "../../lib/domains/records.ts";
import { type DnsProvider, query, withoutTrailingDot } from "./dns-provider.ts";

const ACCESS = {
  label: "Route 53",
  packageName: "aws",
  credentials:
    "The credentials of AWS need the policies that are printed with 'dns: route53': see infra/README.md#permissions.",
} as const;

/**
 * Public hosted zones of the same AWS account.
 *
 * Route 53 has no comments. A record is the stack's own by its set identifier, with which a record has to be a weighted
 * one. Route 53 then creates none beside a record of another owner, and finds a record to change or delete by its set
 * identifier: whatever the state says, no other owner's record is ever changed.
 *
 * Every host has an alias: at an apex nothing else is possible, and below one it may have other records beside it (which
 * a CNAME may not), saves the resolver a query, and AWS charges nothing for its queries. No AAAA: the hostnames of API
 * Gateway that a stack creates have IPv4 only.
 */
export const route53: DnsProvider = {
  ...ACCESS,
  route: { type: "A", adoptable: ["A", "CNAME"] },
  // The TTL of the target, which an alias has.
  routeOutput: { type: "ALIAS", ttl: 60 },
  takeOver:
    "Change the routing policy of that record to simple at Route 53. The next preview names its identifier; add it to 'adopt', and update again.",
  describeMissingZone: (names) =>
    `the AWS account has no public hosted zone for this host (looked for ${names.join(", ")}). ` +
    "Create it in Route 53 and delegate the domain to its name servers, or set 'dns: manual' if its DNS is managed elsewhere, also in another AWS account.",
  describeConflict({ id, name, type }, zone) {
    const adoption =
      type === "AAAA"
        ? ""
        : ` If this stack is to take it over, with its traffic, set store-orders:adopt to { ${name}: "${id}" } and run 'npx pulumi up --refresh'.`;
    return `conflicts with the alias of this stack in the zone ${zone}.${adoption}`;
  },
  async zonesNamed(name, options) {
    const mocked = { zoneId: name, name, nameServers: [] };
    const find = () => publicZonesNamed(name, options);
    const found = await query<readonly FoundZone[]>(ACCESS, `the zone ${name}`, find, [mocked]);
    const ids = found.map(({ zoneId }) => zoneId);
    const problem =
      found.length > 1
        ? `the AWS account has ${found.length} public hosted zones ${name} (${ids.join(", ")}). Delete those that the domain is not delegated to, or set 'dns: manual'.`
        : undefined;
    const common = { name, status: "unknown", problem, notes: [] };
    return found.map(({ zoneId: id, nameServers }) => ({ ...common, id, nameServers }));
  },
  async findRecords(zoneId, names, options) {
    // The provider reads the whole zone, and returns the names that match.
    const nameRegex = `^(${names.join("|").replaceAll(".", "\\.")})\\.$`;
    const send = async () =>
      (await aws.route53.getRecords({ zoneId, nameRegex }, options)).resourceRecordSets;
    const found = await query(ACCESS, `the records of ${names.join(", ")}`, send, []);
    return found.map(({ name, type, aliasTarget, resourceRecords, setIdentifier }) => {
      const values = aliasTarget?.dnsName ? [aliasTarget.dnsName] : resourceRecords.map(({ value }) => value);
      const plainName = withoutTrailingDot(name);
      const id = [zoneId, plainName, type, setIdentifier].filter(Boolean).join("_");
      const content = values.map(withoutTrailingDot).join(", ");
      return { id, name: plainName, type, content, ...(setIdentifier && { comment: setIdentifier }) };
    });
  },
  createRecord(logicalName, { zoneId, comment, adopt }, { name, value, targetZoneId }, options) {
    const content =
      targetZoneId === undefined
        ? { type: "CNAME", records: [value], ttl: RECORD_TTL_SECONDS }
        : { type: "A", aliases: [{ name: value, zoneId: targetZoneId, evaluateTargetHealth: false }] };
    const mark = { setIdentifier: comment, weightedRoutingPolicies: [{ weight: 1 }] };
    const args = { zoneId, name, ...content, ...mark };
    const imported = adopt === undefined ? {} : { import: adopt };
    return new aws.route53.Record(logicalName, args, { ...options, ...imported });
  },
};

type FoundZone = Pick<aws.route53.GetZoneResult, "zoneId" | "name" | "nameServers">;

/** The lookup fails unless it finds exactly one. Undefined if it was not made. */
async function publicZonesNamed(name: string, options: pulumi.InvokeOptions) {
  try {
    const zone = await aws.route53.getZone({ name }, options);
    return zone.zoneId === undefined ? undefined : [zone];
  } catch (error) {
    // The provider distinguishes these cases only by its messages.
    if (/no matching [\w ]*zone/i.test(String(error))) return [];
    if (!/multiple [\w ]*zones? (found|matched)/i.test(String(error))) throw error;
  }
  const { ids } = await aws.route53.getZones(options);
  const zones = await Promise.all(ids.map((zoneId) => aws.route53.getZone({ zoneId }, options)));
  return zones.filter((each) => each.name === name && each.privateZone !== true);
}
