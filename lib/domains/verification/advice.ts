import type {
  AttentionReason,
  DomainState,
  DomainTransitionError,
  DomainTransitionErrorCode,
} from "../lifecycle.ts";

/** What everyone who has changed a record needs to know. */
export const PROPAGATION = "DNS changes may take up to 48 hours to propagate.";

/** How to request a new certificate for a host of a stack. */
export const REQUEST_CERTIFICATE =
  "Request a new certificate: increase the host's number under 'reverify' in the stack configuration and deploy.";

/**
 * Says what to do about a domain in its present state, one step per entry. Takes a domain of the lifecycle, or the
 * result of a verification, whose state is `unknown` if a lookup failed.
 */
export function adviceFor(domain: {
  readonly state: DomainState | "unknown";
  readonly attention?: AttentionReason;
}): readonly string[] {
  switch (domain.state) {
    case "pending_dns":
      return ["Set the record at the DNS provider, then run 'store-orders domains check'.", PROPAGATION];
    case "verified":
    case "certificate_pending":
      return ["The certificate is issued automatically, usually within a couple of minutes."];
    case "live":
      return ["Nothing to do."];
    case "needs_attention":
      return ATTENTION[domain.attention ?? "certificate_overdue"];
    case "removed":
      return ["Remove its record at the DNS provider as well, so that no record points here."];
    case "unknown":
      return ["Retry, or use another resolver. A failed lookup does not change the state of the domain."];
  }
}

const CHECK_CERTIFICATE = [
  "Check that the domain still verifies: run 'store-orders domains check'.",
  "Check that CAA records do not block the certificate authority.",
  REQUEST_CERTIFICATE,
] as const;

const ATTENTION: Readonly<Record<AttentionReason, readonly string[]>> = {
  validation_timed_out: [
    "The domain was not verified within 72 hours, after which the certificate authority stops trying.",
    "Set the record at the DNS provider, then run 'store-orders domains check'.",
    REQUEST_CERTIFICATE,
  ],
  certificate_forbidden: [
    "Change the CAA records that forbid the certificate, then run 'store-orders domains check'.",
    "If the authority has already rejected a request, request a new certificate: increase the host's number under 'reverify' in the stack configuration and deploy.",
    PROPAGATION,
  ],
  certificate_overdue: [
    "No certificate has been issued 30 minutes after verification.",
    ...CHECK_CERTIFICATE,
  ],
  certificate_failed: ["The certificate is not valid, or its authority rejected it.", ...CHECK_CERTIFICATE],
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
export function explainDomainTransitionError({ state, event, code }: DomainTransitionError): string {
  return `The domain is ${state} and does not accept '${event}': ${DOMAIN_TRANSITION_ERRORS[code]}.`;
}
