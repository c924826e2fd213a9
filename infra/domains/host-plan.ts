import type { ConfiguredHost } from "../../lib/domains/mapping.ts";
import type { DnsResolver } from "../../lib/domains/verification/resolver.ts";
import type { Owner } from "../names.ts";
import type { FoundCertificate } from "./certificates.ts";
import type { DNS_PROVIDERS } from "./managed-dns.ts";

/** The stack creates the records. */
export interface ManagedDns {
  readonly provider: keyof typeof DNS_PROVIDERS;
  readonly zoneId: string;
  /** The comment of every record that is created, at Route 53 its set identifier: this program owns the record. */
  readonly comment: string;
  /** The record that routes traffic: created last (`managed`), not created (`held`), or an existing one to import. */
  readonly routing: "managed" | "held" | { readonly adopt: string };
  /** Whose tag the certificate has: the next run finds it by that. @default this project and stack */
  readonly owner?: Owner;
}

/** The operator sets the records. */
export interface ManualDns extends Pick<ManagedDns, "owner"> {
  readonly provider: "manual";
  /** The host's certificates. API Gateway accepts a domain name only once one has been issued. */
  readonly certificates: readonly FoundCertificate[];
  /** Queries DNS for the host's records. @default none: the host is never reported as live */
  readonly resolver?: DnsResolver | undefined;
}

/** The DNS of a host: the party that manages it, and the way in which its records are created. */
export type HostDns = ManagedDns | ManualDns;

/** A host with everything that its resources are created from. */
export interface HostPlan extends ConfiguredHost {
  readonly redirectTo?: string | undefined;
  /** Identifies the host in logical names. */
  readonly key: string;
  /** The name of the zone that contains its records, if known. */
  readonly zone?: string | undefined;
  readonly dns: HostDns;
  readonly reverify?: number | undefined;
  /** The ARN of an existing certificate to use. @default one is requested */
  readonly certificateArn?: string | undefined;
}

/** True if this stack sets the host's record, so that the host is served once the planned update has completed. */
export function goesLive({ dns }: Pick<HostPlan, "dns">): boolean {
  return dns.provider !== "manual" && dns.routing !== "held";
}
