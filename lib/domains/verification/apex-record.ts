import type { DnsRecord } from "../records.ts";
import { isWithin } from "../zone.ts";

/** How a DNS provider points an apex, which cannot have a CNAME record of its own, to another host. */
export interface ApexRecord {
  readonly provider: string;
  /** The record to set. A CNAME is flattened: the provider returns the addresses of its target. */
  readonly type: DnsRecord["type"];
}

/** By the name of the provider's name servers. */
const APEX_RECORDS: readonly (ApexRecord & { readonly nameServers: string })[] = [
  { nameServers: "ns.cloudflare.com", provider: "Cloudflare", type: "CNAME" },
  { nameServers: "dnsimple.com", provider: "DNSimple", type: "ALIAS" },
  { nameServers: "dnsmadeeasy.com", provider: "DNS Made Easy", type: "ANAME" },
  { nameServers: "nsone.net", provider: "NS1", type: "ALIAS" },
];

/** Finds out from a zone's name servers which record its provider has for the apex, if the provider is known. */
export function findApexRecord(nameServers: readonly string[]): ApexRecord | undefined {
  const found = APEX_RECORDS.find((known) => nameServers.some((name) => isWithin(name, known.nameServers)));
  return found === undefined ? undefined : { provider: found.provider, type: found.type };
}

/** Names the record at an apex as its provider does, or every kind that it can be. */
export function formatApexRecord(record: ApexRecord | undefined): string {
  if (record === undefined) return "ALIAS, ANAME or flattened CNAME";
  return `${record.type === "CNAME" ? "flattened CNAME" : record.type} at ${record.provider}`;
}
