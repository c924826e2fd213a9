/**
 * The custom domains of a project: define or parse the mapping, list the records to publish, verify them against live
 * DNS, follow the lifecycle of each host, and route requests by host.
 *
 * ```ts
 * import { defineDomains, recordsOf } from "store-orders/domains";
 *
 * const domains = defineDomains({ primary: "orders.example.com" }, { plan: "pro" });
 * console.log(recordsOf(domains, "abc.execute-api.eu-central-1.amazonaws.com"));
 * ```
 *
 * @module store-orders/domains
 */

export { type Failure, InvalidInputError, type Issue, isInvalidInput } from "../core/errors.ts";
export type { AddressType } from "./addresses.ts";
export { type FoundHost, type HostLookup, hostLookup } from "./host-lookup.ts";
export {
  type HostnameError,
  type HostnameErrorCode,
  type ParsedHostname,
  parseCustomHost,
  parseHostname,
} from "./hostname.ts";
export {
  type ConfiguredHost,
  type DomainMapping,
  type DomainRedirect,
  type DomainsInput,
  type HostRole,
  hostsOf,
} from "./mapping.ts";
export {
  type DomainContext,
  defineDomains,
  domainsJsonSchema,
  domainsSchema,
  type ParsedDomains,
  parseDomains,
  parseDomainsFile,
} from "./parse.ts";
export { type DnsRecord, recordsOf } from "./records.ts";
export { type HostRoute, type HostRouter, type HostTable, hostTable } from "./routing.ts";
export type {
  AuthorityAnswer,
  CertificateCheck,
  CertificateErrorCode,
  CertificateProbe,
  CertificateState,
  DnsState,
  HostFacts,
  Verification,
  VerificationOptions,
} from "./status/facts.ts";
export { type AspectState, REASONS, type Reason, type ReasonCode } from "./status/reasons.ts";
export {
  type AttentionReason,
  addHost,
  type HostState,
  type HostStatus,
  nextStatus,
  statusAt,
} from "./status/status.ts";
export { adviceFor, type StackStatus } from "./status/steps.ts";
export {
  type HostReport,
  type HostsVerificationOptions,
  type HostToVerify,
  verifyHost,
  verifyHosts,
} from "./status/verify.ts";
export { AUTHORITIES, type CertificateAuthority, findAuthority } from "./verification/caa.ts";
export type { ZoneHints } from "./verification/find-zone.ts";
export type { Deployment } from "./verification/providers.ts";
export {
  type CaaRecord,
  type DnsAnswer,
  type DnsFailure,
  type DnsResolver,
  type DsRecord,
  memoizeResolver,
  type RecordData,
  type RecordType,
} from "./verification/resolver.ts";
export type { ZoneMatch } from "./zone.ts";
