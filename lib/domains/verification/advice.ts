import type {
  AttentionReason,
  DomainStatus,
  DomainTransition,
  DomainTransitionErrorCode,
} from "../lifecycle.ts";

/** What everyone who has changed a record needs to know. */
export const PROPAGATION = "DNS changes may take up to 48 hours to propagate.";

/** What to check if no certificate has been issued, in order. */
export const CERTIFICATE_CHECKS = [
  "Check that the domain still verifies.",
  "Check that CAA records do not block the certificate authority.",
  "Request a new certificate.",
] as const;

/** Says what to do about a domain in its present state, one step per entry. */
export function adviceFor(domain: Pick<DomainStatus, "state" | "attention">): readonly string[] {
  switch (domain.state) {
    case "pending_dns":
      return ["Create the record at the DNS provider, then run 'store-orders domains check'.", PROPAGATION];
    case "verified":
    case "certificate_pending":
      return ["The certificate is issued automatically, usually within a couple of minutes."];
    case "live":
      return ["Nothing to do."];
    case "needs_attention":
      return ATTENTION[domain.attention ?? "certificate_overdue"];
    case "removed":
      return ["Remove its record at the DNS provider as well, so that no record points here."];
  }
}

const CHECK_CERTIFICATE = [
  "Check that the domain still verifies: run 'store-orders domains check'.",
  CERTIFICATE_CHECKS[1],
  "Request a new certificate: increase the host's number under 'reverify' in the stack configuration and deploy.",
] as const;

const ATTENTION: Readonly<Record<AttentionReason, readonly string[]>> = {
  certificate_overdue: [
    "No certificate has been issued 30 minutes after verification.",
    ...CHECK_CERTIFICATE,
  ],
  certificate_failed: ["The certificate authority rejected the request.", ...CHECK_CERTIFICATE],
  dns_broken: [
    "The DNS records no longer lead to the platform.",
    "Fix them at the DNS provider, then run 'store-orders domains check'.",
    PROPAGATION,
  ],
};

/** Why an event is not allowed, and what to do first. */
export const DOMAIN_TRANSITION_ERRORS = {
  not_verified: "its DNS has not been verified; verify it first",
  certificate_not_requested: "no certificate has been requested; request one first",
  reverify_first: "it needs attention; send 'reverify' first",
  nothing_to_reverify: "only a domain that needs attention accepts 'reverify'",
  domain_removed: "it has been removed; add it again",
} as const satisfies Record<DomainTransitionErrorCode, string>;

/** Explains in one sentence why an event is not allowed. */
export function explainDomainTransitionError({
  state,
  event,
  code,
}: Extract<DomainTransition, { ok: false }>): string {
  return `The domain is ${state} and does not accept '${event}': ${DOMAIN_TRANSITION_ERRORS[code]}.`;
}
