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

export { InvalidInputError, isInvalidInput } from "../core/errors.ts";
export { type FoundHost, type HostLookup, hostLookup } from "./host-lookup.ts";
export {
  type HostnameError,
  type HostnameErrorCode,
  type ParsedHostname,
  parseCustomHost,
  parseHostname,
} from "./hostname.ts";
export {
  type AttentionReason,
  addDomain,
  CERTIFICATE_TIMEOUT_MS,
  DOMAIN_EVENTS,
  DOMAIN_LIFECYCLE,
  DOMAIN_STATES,
  type DomainEvent,
  type DomainState,
  type DomainTransitionError,
  type DomainTransitionErrorCode,
  type DomainTransitionResult,
  domainAt,
  type TrackedDomain,
  transitionDomain,
  VALIDATION_TIMEOUT_MS,
} from "./lifecycle.ts";
export {
  type ConfiguredHost,
  type DomainMapping,
  type DomainRedirect,
  type DomainsInput,
  type HostRole,
  hostsOf,
} from "./mapping.ts";
export {
  advanceDomain,
  type CertificateCheck,
  type CertificateErrorCode,
  type CertificateProbe,
  type DomainObservation,
} from "./observation.ts";
export {
  type DomainContext,
  defineDomains,
  domainsFileJsonSchema,
  domainsJsonSchema,
  domainsSchema,
  type ParsedDomains,
  parseDomains,
  parseDomainsFile,
} from "./parse.ts";
export { type DnsRecord, RECORD_TTL_SECONDS, recordOf, recordsOf } from "./records.ts";
export { type HostRoute, type HostRouter, type HostTable, hostTable } from "./routing.ts";
export { adviceFor, type Deployment, PROPAGATION } from "./verification/advice.ts";
export {
  AUTHORITIES,
  type AuthorityName,
  type CertificateAuthority,
  findAuthority,
} from "./verification/caa.ts";
export { findZone, type ZoneHints } from "./verification/find-zone.ts";
export { type AspectState, REASONS, type Reason, type ReasonCode } from "./verification/reasons.ts";
export { formatReport, type StackStatus } from "./verification/report.ts";
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
export {
  type CertificateState,
  type DnsState,
  eventOf,
  type HostReport,
  type HostsVerificationOptions,
  type HostToVerify,
  type Verification,
  type VerificationOptions,
  type VerificationState,
  verifyHost,
  verifyHosts,
} from "./verification/verify.ts";
export type { ZoneMatch } from "./zone.ts";
