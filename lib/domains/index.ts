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

export { InvalidInputError, isInvalidInput } from "../errors.ts";
export { parseCustomHost } from "./custom-host.ts";
export {
  type HostnameError,
  type HostnameErrorCode,
  type ParsedHostname,
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
  type DomainContext,
  defineDomains,
  type ParsedDomains,
  parseDomains,
  parseDomainsFile,
} from "./parse.ts";
export { type DnsRecord, RECORD_TTL_SECONDS, recordOf, recordsOf } from "./records.ts";
export { type HostRoute, type HostTable, hostTable, routeHost } from "./routing.ts";
export { domainsFileJsonSchema, domainsJsonSchema, domainsSchema } from "./schema.ts";
export { adviceFor, explainDomainTransitionError, PROPAGATION } from "./verification/advice.ts";
export { AUTHORITIES, type AuthorityName, type CertificateAuthority } from "./verification/caa.ts";
export { type AspectState, REASONS, type Reason, type ReasonCode } from "./verification/reasons.ts";
export { formatReport } from "./verification/report.ts";
export { hostReportsJsonSchema, hostReportsSchema } from "./verification/report-schema.ts";
export {
  type CaaRecord,
  type DnsAnswer,
  type DnsFailure,
  type DnsResolver,
  memoizeResolver,
  type RecordData,
  type RecordType,
} from "./verification/resolver.ts";
export type { StackStatus } from "./verification/stack-status.ts";
export {
  type CertificateState,
  type DnsState,
  eventOf,
  type Verification,
  type VerificationOptions,
  type VerificationState,
  verifyHost,
} from "./verification/verify-host.ts";
export {
  type HostReport,
  type HostsVerificationOptions,
  type HostToVerify,
  verifyHosts,
} from "./verification/verify-hosts.ts";
export { advanceDomain, type DomainObservation } from "./watch/advance.ts";
export type { CertificateCheck, CertificateErrorCode, CertificateProbe } from "./watch/certificate-check.ts";
