import { mapBounded } from "../core/concurrency.ts";
import type { Instant } from "../core/time.ts";
import { type DomainEvent, domainAt, type TrackedDomain, transitionDomain } from "./lifecycle.ts";
import {
  eventOf,
  type HostReport,
  type HostsVerificationOptions,
  type HostToVerify,
  MAX_CONCURRENT_HOSTS,
  type Verification,
  verifyHosts,
} from "./verification/verify.ts";

/** The reason why a visitor's client does not accept the certificate that a host presents. */
export type CertificateErrorCode = "wrong_host" | "expired" | "not_yet_valid" | "untrusted";

/** The certificate of a host as a visitor sees it. */
export type CertificateCheck =
  | { readonly outcome: "valid"; readonly expiresAt: Instant }
  /** The server presents another certificate: for example, the platform's own while the host's is pending. */
  | { readonly outcome: "invalid"; readonly code: CertificateErrorCode; readonly found: string }
  /** There was no TLS connection, which says nothing about the certificate. */
  | { readonly outcome: "unreachable"; readonly found: string };

/** Reads the certificate of a host. An implementation never throws and returns in bounded time. */
export type CertificateProbe = (host: string) => Promise<CertificateCheck>;

/** The observation of a host at one time. */
export interface DomainObservation {
  readonly verification: Pick<Verification, "state" | "dns" | "certificate">;
  /** Missing if it was not checked: it counts only while the records point to the platform. */
  readonly certificate?: CertificateCheck;
}

export interface HostObservation extends DomainObservation {
  readonly verification: HostReport;
}

/** Verifies every host and, if its records point to the platform, reads its certificate. */
export async function observeHosts(
  hosts: readonly HostToVerify[],
  { probe, ...options }: HostsVerificationOptions & { readonly probe: CertificateProbe },
): Promise<readonly HostObservation[]> {
  const reports = await verifyHosts(hosts, options);
  return mapBounded(reports, MAX_CONCURRENT_HOSTS, async (verification) => {
    // The certificate of another server says nothing about this host.
    return verification.dns === "ok"
      ? { verification, certificate: await probe(verification.host) }
      : { verification };
  });
}

/**
 * Advances a domain through its lifecycle by an observation, for a platform that requests the certificate as soon
 * as a host is verified. Returns every status that the domain passes through, in order, the present one last; it is
 * the given one if nothing changed. Pure.
 */
export function advanceDomain(
  earlier: TrackedDomain,
  { verification, certificate }: DomainObservation,
  at: Instant,
): readonly [...TrackedDomain[], TrackedDomain] {
  const passed: TrackedDomain[] = [];
  let domain = domainAt(earlier, at);
  const apply = (event: DomainEvent) => {
    const result = transitionDomain(domain, event, at);
    if (!result.ok || result.domain.state === domain.state) return;
    passed.push(domain);
    domain = result.domain;
  };

  if (isResolved(domain, verification)) apply("reverify");
  apply(eventOf(verification));
  const pointsHere = verification.dns === "ok";
  // A valid certificate has evidently been requested, even if the lookup of CAA records failed.
  if (pointsHere && (verification.certificate === "allowed" || certificate?.outcome === "valid")) {
    apply("certificate_requested");
  }
  if (pointsHere && certificate?.outcome === "valid") apply("certificate_issued");
  if (pointsHere && certificate?.outcome === "invalid" && domain.state === "live")
    apply("certificate_failed");
  return [...(passed[0] === earlier ? passed.slice(1) : passed), domain];
}

/** True if the cause of a domain's need for attention is gone, so that it is verified anew without a request. */
function isResolved(
  { attention }: TrackedDomain,
  { state, dns }: DomainObservation["verification"],
): boolean {
  if (attention === "certificate_forbidden") return state === "verified";
  return attention === "dns_broken" && dns === "ok";
}
