import type { Instant } from "../../clock.ts";
import { type DomainEvent, domainAt, type TrackedDomain, transitionDomain } from "../lifecycle.ts";
import { eventOf, type Verification } from "../verification/verify-host.ts";
import type { CertificateCheck } from "./certificate-check.ts";

/** What was found out about a host at one time. */
export interface DomainObservation {
  readonly verification: Pick<Verification, "state" | "dns" | "certificate">;
  /** Missing if it was not checked: it counts only while the records point to the platform. */
  readonly certificate?: CertificateCheck;
}

/**
 * Advances a domain through its lifecycle by what was observed, for a platform that requests the certificate as soon
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

/** Whether what made a domain need attention is gone, so that it is verified anew without anyone asking for it. */
function isResolved(
  { state, attention }: TrackedDomain,
  { state: verified, dns }: DomainObservation["verification"],
): boolean {
  if (state !== "needs_attention") return false;
  if (attention === "certificate_forbidden") return verified === "verified";
  return attention === "dns_broken" && dns === "ok";
}
