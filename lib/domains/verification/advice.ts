import type { AttentionReason, DomainState } from "../lifecycle.ts";

/** The note for everyone who has changed a record. */
export const PROPAGATION = "DNS changes may take up to 48 hours to propagate.";

/** The deployment of a host: a stack, or one machine behind a server that requests its certificates. */
export type Deployment = "stack" | "machine";

const REQUEST_CERTIFICATE: Readonly<Record<Deployment, string>> = {
  stack:
    "Request a new certificate: increase the host's number under 'reverify' in the stack configuration and deploy.",
  machine:
    "Request a new certificate: reload the server in front that requests it, such as Caddy, or run certbot again.",
};

/** The console shows the domains of one machine. */
const VERIFY: Readonly<Record<Deployment, string>> = {
  stack: "verify again: 'store-orders domains check'.",
  machine: "verify again: 'store-orders domains check', or the console.",
};

/**
 * Returns the next steps for a domain in its present state, one per entry. Takes a domain of the lifecycle, or the
 * result of a verification, whose state is `unknown` if a lookup failed.
 */
export function adviceFor(
  domain: { readonly state: DomainState | "unknown"; readonly attention?: AttentionReason },
  deployment: Deployment = "stack",
): readonly string[] {
  const { state, attention = "certificate_overdue" } = domain;
  const [request, verify] = [REQUEST_CERTIFICATE[deployment], VERIFY[deployment]];
  switch (state) {
    case "pending_dns":
      return [`Set the record at the DNS provider, then ${verify}`, PROPAGATION];
    case "verified":
    case "certificate_pending":
      return [
        deployment === "stack"
          ? "The certificate is issued automatically, usually within a couple of minutes."
          : "The server in front, such as Caddy, requests the certificate, usually within a couple of minutes.",
      ];
    case "live":
      return ["Nothing to do."];
    case "needs_attention":
      return ATTENTION[attention](request, verify);
    case "removed":
      return ["Remove its record at the DNS provider as well, so that no record points here."];
    case "unknown":
      return ["Retry, or use another resolver. A failed lookup does not change the state of the domain."];
  }
}

/** The next steps for a domain: the fixes of what a verification has found, and what else its state advises. */
export function stepsFor(
  domain: Parameters<typeof adviceFor>[0],
  fixes: readonly string[],
  deployment: Deployment,
): readonly string[] {
  if (domain.state === "live") return fixes;
  // A fix says which record to set, and how.
  if (domain.state === "pending_dns" && fixes.length > 0) return [...fixes, PROPAGATION];
  return [...fixes, ...adviceFor(domain, deployment)];
}

const CHECK_CERTIFICATE = [
  "Check that the domain still verifies: run 'store-orders domains check'.",
  "Check that CAA records do not block the certificate authority.",
] as const;

const ATTENTION: Readonly<Record<AttentionReason, (request: string, verify: string) => readonly string[]>> = {
  validation_timed_out: (request, verify) => [
    "The domain was not verified within 72 hours, after which the certificate authority stops trying.",
    `Set the record at the DNS provider, then ${verify}`,
    request,
  ],
  certificate_forbidden: (request, verify) => [
    `Change the CAA records that forbid the certificate, then ${verify}`,
    `If the authority has already rejected a request: ${request}`,
    PROPAGATION,
  ],
  certificate_overdue: (request) => [
    "No certificate has been issued 30 minutes after verification.",
    ...CHECK_CERTIFICATE,
    request,
  ],
  certificate_failed: (request) => [
    "The certificate is not valid, or its authority rejected it.",
    ...CHECK_CERTIFICATE,
    request,
  ],
  dns_broken: (_request, verify) => [
    "The DNS records no longer lead to the platform.",
    `Fix them at the DNS provider, then ${verify}`,
    PROPAGATION,
  ],
};
