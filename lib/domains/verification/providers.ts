import { isInRanges } from "../addresses.ts";
import type { DnsRecord } from "../records.ts";
import { isWithin } from "../zone.ts";

/**
 * The record with which a DNS provider points an apex, which cannot have a CNAME, to another host, by the name of its name
 * servers. A CNAME is flattened: the provider returns the addresses of its target.
 */
const APEX_RECORDS: readonly (readonly [nameServers: string, DnsRecord["type"]])[] = [
  ["ns.cloudflare.com", "CNAME"],
  ["dnsimple.com", "ALIAS"],
  ["dnsmadeeasy.com", "ANAME"],
  ["nsone.net", "ALIAS"],
];

export function findApexRecord(nameServers: readonly string[]): DnsRecord["type"] | undefined {
  return APEX_RECORDS.find(([known]) => nameServers.some((name) => isWithin(name, known)))?.[1];
}

/** Who sets the records of a host: a stack at its DNS provider, the operator of a stack, or that of one machine. */
export type Deployment = "cloudflare" | "route53" | "manual" | "machine";

/** Where a stack sets its records, and what hides a validation record that is set there. */
export const STACK_ZONES: Readonly<Partial<Record<Deployment, Record<"place" | "hides", string>>>> = {
  cloudflare: {
    place: "in the zone at Cloudflare",
    hides:
      "Set it to 'DNS only', and switch 'CNAME flattening for all CNAME records' off in the zone: a proxied or flattened record is answered with addresses.",
  },
  route53: { place: "in the hosted zone at Route 53", hides: "Delete other records of this name." },
};

export const SET_AGAIN = "'npx pulumi up --refresh' sets it again if it is missing or was changed.";

/**
 * The addresses of Cloudflare's proxy, as published at https://www.cloudflare.com/ips. They change rarely; if one is
 * missing here, a proxied record is only reported as an ordinary blocking address.
 */
export const CLOUDFLARE_RANGES: readonly string[] =
  `
  173.245.48.0/20 103.21.244.0/22 103.22.200.0/22 103.31.4.0/22 141.101.64.0/18 108.162.192.0/18
  190.93.240.0/20 188.114.96.0/20 197.234.240.0/22 198.41.128.0/17 162.158.0.0/15 104.16.0.0/13
  104.24.0.0/14 172.64.0.0/13 131.0.72.0/22 2400:cb00::/32 2606:4700::/32 2803:f800::/32 2405:b500::/32
  2405:8100::/32 2a06:98c0::/29 2c0f:f248::/32`.match(/\S+/g) ?? [];

/** True for an address of Cloudflare's proxy, which hides the target of a record. */
export const isProxyAddress = (address: string): boolean => isInRanges(address, CLOUDFLARE_RANGES);
