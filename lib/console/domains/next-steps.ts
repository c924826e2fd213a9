import type { AttentionReason, TrackedDomain } from "../../domains/lifecycle.ts";
import { PROPAGATION, REQUEST_CERTIFICATE } from "../../domains/verification/advice.ts";
import type { DomainsOptions } from "./domains-source.ts";
import type { CheckedHost } from "./progress.ts";

type SourceKind = DomainsOptions["source"]["kind"];

/** What to do about a host now, one step per entry. How to fix a record is with the reason that names it. */
export function nextSteps({ domain, report }: CheckedHost, source: SourceKind): readonly string[] {
  const { state, attention = "certificate_overdue" } = domain;
  if (report.state === "unknown" && state !== "live") {
    return [
      "DNS did not answer. Choose Verify again; a failed lookup does not change the state of the domain.",
    ];
  }
  switch (state) {
    case "pending_dns":
      return [
        "Fix what is listed above. While this page is open, it verifies the host again by itself.",
        PROPAGATION,
      ];
    case "verified":
    case "certificate_pending":
      return [ISSUING[source]];
    case "needs_attention":
      return attentionSteps(domain, attention, report, source);
    default:
      return [];
  }
}

const ISSUING: Readonly<Record<SourceKind, string>> = {
  file: "The server in front, such as Caddy, requests the certificate. That usually takes a couple of minutes.",
  stack: "The certificate is issued automatically, usually within a couple of minutes.",
};

const RENEW: Readonly<Record<SourceKind, string>> = {
  file: "Let the server in front, such as Caddy, request the certificate again. Then choose Re-verify.",
  stack: `${REQUEST_CERTIFICATE} Then choose Re-verify.`,
};

const CAUSES: Readonly<Record<AttentionReason, string>> = {
  validation_timed_out:
    "The domain was not verified within 72 hours, after which the certificate authority stops trying.",
  certificate_forbidden: "CAA records forbid the certificate.",
  certificate_overdue: "No certificate has been issued 30 minutes after verification.",
  certificate_failed: "The certificate is not valid, or its authority rejected it.",
  dns_broken: "The DNS records no longer lead to the platform.",
};

function attentionSteps(
  { host }: TrackedDomain,
  attention: AttentionReason,
  { dns, certificate }: CheckedHost["report"],
  source: SourceKind,
): readonly string[] {
  const cause = CAUSES[attention];
  if (attention === "dns_broken" || attention === "certificate_forbidden") {
    return [cause, "Fix the records as stated above, then choose Re-verify.", PROPAGATION];
  }
  if (attention === "validation_timed_out")
    return [cause, "Set the record at the DNS provider.", RENEW[source]];
  const verifies = { ok: "yes", unknown: "unknown, because DNS did not answer" };
  const forbids = { allowed: "no", forbidden: "yes", unknown: "unknown, because DNS did not answer" };
  return [
    cause,
    `Does ${host} still verify? Now: ${dns === "ok" || dns === "unknown" ? verifies[dns] : "no"}.`,
    `Do CAA records block the certificate authority? Now: ${forbids[certificate]}.`,
    RENEW[source],
  ];
}
