import type { AttentionReason, DomainRefusal, DomainStatus, DomainTransition } from "../lifecycle.ts";

/** What every reader who has changed a record needs to know (specification, "Rules"). */
export const PROPAGATION = "DNS changes may take up to 48 hours to propagate.";

/** The three checks where no certificate has come (specification, "Rules"). */
export const CERTIFICATE_CHECKS = [
  "Check that the domain still verifies.",
  "Check that CAA records do not block the certificate authority.",
  "Choose Re-verify to trigger a new attempt.",
] as const;

/** What to do about a domain in its present state, one sentence or step after the other. */
export function adviceFor(domain: Pick<DomainStatus, "state" | "attention">): readonly string[] {
  switch (domain.state) {
    case "pending_dns":
      return ["Set the record at the DNS provider, then verify.", PROPAGATION];
    case "verified":
    case "certificate_pending":
      return ["The certificate is issued automatically, usually within a couple of minutes."];
    case "live":
      return ["Nothing to do."];
    case "needs_attention":
      return ATTENTION[domain.attention ?? "certificate_overdue"];
    case "removed":
      return ["Remove its record at the DNS provider as well, so that nothing points here."];
  }
}

const ATTENTION: Readonly<Record<AttentionReason, readonly string[]>> = {
  certificate_overdue: ["No certificate has come 30 minutes after verification.", ...CERTIFICATE_CHECKS],
  certificate_failed: ["The certificate authority has refused the certificate.", ...CERTIFICATE_CHECKS],
  dns_broken: [
    "The record no longer points to the platform.",
    "Mend it at the DNS provider, then choose Re-verify.",
    PROPAGATION,
  ],
};

/** Why each refusal is one, and what to do first. */
export const DOMAIN_REFUSALS = {
  not_verified: "its DNS has not been verified; verify it first",
  certificate_not_requested: "no certificate has been requested for it; request one first",
  reverify_first: "it needs attention; choose Re-verify first",
  nothing_to_reverify: "Re-verify is for a domain that needs attention",
  domain_removed: "it has been removed; add it again",
} as const satisfies Record<DomainRefusal, string>;

/** Says in a sentence why a domain did not move. */
export function explainDomainRefusal({
  state,
  event,
  refused,
}: Extract<DomainTransition, { moved: false }>): string {
  return `The domain is ${state}, so '${event}' does not fit: ${DOMAIN_REFUSALS[refused]}.`;
}
