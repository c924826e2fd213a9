import { domainToASCII, domainToUnicode } from "node:url";
import { DnsRecord } from "@pulumi/cloudflare/dnsRecord.js";
import { getDnsRecords } from "@pulumi/cloudflare/getDnsRecords.js";
import { getZones } from "@pulumi/cloudflare/getZones.js";
import * as pulumi from "@pulumi/pulumi";
import { RECORD_TTL_SECONDS } from "../../lib/domains/records.ts";
import { locateInZone } from "../../lib/domains/zone.ts";
import { type DnsProvider, query, type Zone, type ZoneRecord } from "./dns-provider.ts";

const ACCESS = {
  label: "Cloudflare",
  packageName: "cloudflare",
  credentials:
    "Set CLOUDFLARE_API_TOKEN to a token with 'Zone Read' and 'DNS Edit' on the zones, then retry.",
} as const;

/** Zones at Cloudflare. A record is the stack's own by its comment. */
export const cloudflare: DnsProvider = {
  ...ACCESS,
  // At an apex, too: Cloudflare flattens it.
  route: { type: "CNAME", adoptable: ["CNAME"] },
  routeOutput: { type: "CNAME", ttl: RECORD_TTL_SECONDS },
  takeOver:
    "Remove the comment of that record at Cloudflare. The next preview names its identifier; add it to 'adopt', and update again.",
  describeMissingZone: (names) =>
    `the Cloudflare token can read no zone for this host (looked for ${names.join(", ")}). ` +
    "Add the zone at Cloudflare, grant the token 'Zone Read' on it, or set 'dns: manual' if its DNS is managed elsewhere.",
  describeConflict({ id, name, type }, _zone, ownComment) {
    const own =
      type === "CNAME"
        ? ` If this stack created it, set its comment back to '${ownComment}', or, if the stack has lost its state, set store-orders:adopt to { ${name}: ${id} }.`
        : "";
    return `conflicts with the CNAME of this stack.${own}`;
  },
  async zonesNamed(name, options) {
    const mocked = { id: name, name, status: "active", type: "full", paused: false, nameServers: [] };
    const send = async () => (await getZones({ name: domainToUnicode(name) }, options)).results;
    const zones = await query<readonly CloudflareZone[]>(ACCESS, `the zone ${name}`, send, [mocked]);
    return zones.map((zone) => toZone({ ...zone, name: toNormalForm(zone.name) }));
  },
  async findRecords(zoneId, names, options) {
    return (await Promise.all(names.map((name) => recordsNamed(name, zoneId, options)))).flat();
  },
  createRecord(logicalName, { zoneId, comment, adopt }, { name, value }, options) {
    // Cloudflare returns an internationalised name in Unicode, so that punycode would be a change after each refresh.
    const inUnicode = pulumi.output(name).apply(domainToUnicode);
    const args = { zoneId, type: "CNAME", name: inUnicode, content: value, ttl: RECORD_TTL_SECONDS };
    const imported = adopt === undefined ? {} : { import: `${zoneId}/${adopt}` };
    return new DnsRecord(logicalName, { ...args, proxied: false, comment }, { ...options, ...imported });
  },
};

export interface CloudflareZone extends Pick<Zone, "id" | "name" | "nameServers" | "status"> {
  readonly type: string;
  readonly paused: boolean;
}

export function toZone(zone: CloudflareZone): Zone {
  const { id, name, nameServers, status, paused } = zone;
  const pause = `The zone ${name} is paused. Cloudflare answers DNS for it, which is all that this stack needs; to resume it would proxy other records again.`;
  return { id, name, nameServers, status, problem: describeProblem(zone), notes: paused ? [pause] : [] };
}

function describeProblem({ name, status, type, nameServers }: CloudflareZone): string | undefined {
  if (status !== "active") {
    const servers = nameServers.length === 0 ? "the ones that Cloudflare shows" : nameServers.join(" and ");
    const { zone } = locateInZone(name);
    const where =
      zone === name ? "its name servers at the registrar" : `the NS records of ${name} in the zone ${zone}`;
    return `the zone ${name} is not delegated to Cloudflare (status ${status}). Set ${where} to ${servers}, and wait until the status is active.`;
  }
  const problem = `Cloudflare is not the authoritative DNS of the zone ${name} (type ${type}). Set 'dns: manual'.`;
  return type === "full" ? undefined : problem;
}

/** Lower case, punycode. Cloudflare knows internationalised names in Unicode. */
const toNormalForm = (name: string): string => domainToASCII(name) || name;

async function recordsNamed(name: string, zoneId: string, options: pulumi.InvokeOptions) {
  const args = { zoneId, name: { exact: domainToUnicode(name) } };
  const send = async () => (await getDnsRecords(args, options)).results;
  const found = await query<readonly ZoneRecord[]>(ACCESS, `the records at ${name}`, send, []);
  const inNormalForm = found.map(({ name, content, ...record }) => {
    return { ...record, name: toNormalForm(name), content: toNormalForm(content) };
  });
  // The provider ignores filters that it does not know.
  return inNormalForm.filter((record) => record.name === name);
}
