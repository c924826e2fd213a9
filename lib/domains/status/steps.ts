import { escapeControls, formatTimestamp } from "../../core/text.ts";
import { MINUTE_MS } from "../../plans/windows.ts";
import type { CertificateCheck, Deployment, Verification } from "./facts.ts";
import { REASONS } from "./reasons.ts";
import {
  type AttentionReason,
  CERTIFICATE_TIMEOUT_MS,
  type DomainState,
  type StackStatus,
  type TrackedDomain,
  VALIDATION_TIMEOUT_MS,
} from "./status.ts";

/** The note for everyone who has changed a record. */
export const PROPAGATION = "DNS changes may take up to 48 hours to propagate.";

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

/** A step on the way of a host to live, as its owner experiences it. */
export interface ProgressStep {
  readonly name: "record" | "verified" | "certificate" | "live";
  readonly status: "done" | "current" | "failed" | "next";
  readonly detail: string;
}

/** The progress of a host to live, from its status and its last observation. Pure. */
export function describeProgress(
  domain: TrackedDomain,
  {
    verification,
    certificate,
  }: {
    readonly verification: Pick<Verification, "found" | "reasons" | "certificate">;
    readonly certificate?: CertificateCheck;
  },
): readonly ProgressStep[] {
  const [problem] = verification.reasons.filter(({ code }) => REASONS[code].aspect === "dns");
  const caaFailed = domain.state !== "pending_dns" && verification.certificate === "unknown";
  const details = [
    ["record", verification.found ?? problem?.found ?? "not checked"],
    ["verified", caaFailed ? "the lookup of CAA records failed" : ""],
    ["certificate", describeCertificate(domain, certificate)],
    ["live", ""],
  ] as const;
  const [done, then] = stepsDone(domain);
  return details.map(([name, detail], index) => {
    return { name, status: index < done ? "done" : index === done ? then : "next", detail };
  });
}

/** How many steps are done, and the status of the one after them. */
function stepsDone({ state, attention }: TrackedDomain): [done: number, then: ProgressStep["status"]] {
  const steps: Readonly<Record<DomainState, [done: number, then: ProgressStep["status"]]>> = {
    pending_dns: [0, "current"],
    verified: [2, "current"],
    certificate_pending: [2, "current"],
    live: [4, "next"],
    needs_attention: [attention === "dns_broken" || attention === "validation_timed_out" ? 0 : 2, "failed"],
    removed: [0, "next"],
  };
  return steps[state];
}

function describeCertificate({ state }: TrackedDomain, check: CertificateCheck | undefined): string {
  if (check?.outcome === "valid")
    return `valid until ${new Date(check.expiresAt).toISOString().slice(0, 10)}`;
  if (state === "pending_dns" || state === "removed") return "";
  const seen = check === undefined ? "" : `; ${check.found}`;
  return state === "certificate_pending" ? `requested${seen}` : seen.slice(2);
}

/** The status of a certificate, as ACM names it. */
type CertificateStatus =
  | "ISSUED"
  | "INACTIVE"
  | "EXPIRED"
  | "REVOKED"
  | "PENDING_VALIDATION"
  | "VALIDATION_TIMED_OUT"
  | "FAILED";

/** A host whose DNS is managed elsewhere and that awaits its certificate. */
interface AwaitedCertificate {
  readonly host: string;
  /** Missing if ACM has not been asked about this certificate: it was requested by the present run. */
  readonly status?: CertificateStatus | undefined;
  /** RFC 3339. Missing if it is not known. */
  readonly requestedAt?: string | undefined;
  /** What was observed of its validation record. @default not looked up */
  readonly verification?: Pick<Verification, "reasons"> | undefined;
  /** The number of the host under `reverify`. */
  readonly reverify: number;
}

/** Describes a host whose record this stack manages: it is set, and everything else before it. */
export const SERVED: StackStatus = { state: "live", reason: "The record points to the API.", next: [] };

/** Describes a host that is prepared, except for its record. */
export function describeHeldHost(host: string): StackStatus {
  const reason = "The host is under 'hold': everything is prepared, but its record is not set.";
  const step = `Remove ${host} from store-orders:hold and update. If it is served elsewhere now, follow infra/domains/README.md#move-a-live-host.`;
  return { state: "pending_dns", reason, next: [step] };
}

/** Describes a host whose certificate has not been issued. Pure. */
export function describeAwaitedCertificate(awaited: AwaitedCertificate): StackStatus {
  const { host, status, requestedAt, verification, reverify } = awaited;
  const problem = verification?.reasons.find(({ code }) => code === "validation_record");
  // A lookup that fails says nothing.
  const validated = verification?.reasons.every(
    ({ code }) => code === "target_unknown" || REASONS[code].aspect === "certificate",
  );
  const renew = describeReverify(host, reverify);
  if (status === "VALIDATION_TIMED_OUT") {
    const reason = `ACM gave up, because it did not find the validation record within ${HOURS} hours of the request.`;
    const next = [renew, "Then set the validationRecord in the outputs at the DNS provider."];
    return { state: "needs_attention", attention: "validation_timed_out", reason, next };
  }
  if (status === "FAILED") {
    const check = `Check that CAA records do not block the certificate authority, and that ACM accepts the name: the console of ACM shows the reason.`;
    const reason = "ACM rejected the request for the certificate (FAILED).";
    return { state: "needs_attention", attention: "certificate_failed", reason, next: [check, renew] };
  }
  const period = periodOf(requestedAt);
  const since = period.since === undefined ? "" : ` since ${period.since}`;
  const until = period.until === undefined ? "" : `, at ${period.until}`;
  const update = "Update again once ACM has issued the certificate: the outputs then have the host's record.";
  if (validated) {
    const reason = `The validation record is set. The certificate has been requested${since}; ACM issues it automatically, usually within minutes.`;
    const late = `If it takes longer than ${CERTIFICATE_TIMEOUT_MS / MINUTE_MS} minutes: check that CAA records do not block the certificate authority. ${renew}`;
    return { state: "certificate_pending", reason, next: [update, late], ...period };
  }
  const reason = `ACM waits for the validation record${since}. It stops ${HOURS} hours after the request${until}.`;
  const step = `Set the validationRecord at the DNS provider, and keep it: renewals need it. ${PROPAGATION}`;
  const fixes = problem === undefined ? [] : [escapeControls(problem.fix)];
  return { state: "pending_dns", reason, next: [step, ...fixes, update], ...period };
}

/** Describes a host whose certificate has been issued and whose record the operator sets. Pure. */
export function describeRecord(
  host: string,
  status: CertificateStatus | undefined,
  verification: Pick<Verification, "dns" | "reasons"> | undefined,
  reverify: number,
): StackStatus {
  if (status === "EXPIRED" || status === "REVOKED" || status === "INACTIVE") {
    const keep = "Check that the validationRecord is still set at the DNS provider: renewals need it.";
    const reason = `The certificate is no longer valid (${status}).`;
    const next = [keep, describeReverify(host, reverify)];
    return { state: "needs_attention", attention: "certificate_failed", reason, next };
  }
  const validation = verification?.reasons.find(({ code }) => code === "validation_record");
  if (verification?.dns === "ok" && validation !== undefined) {
    const reason = `${SERVED.reason} The certificate cannot be renewed, because its validation record is not right: ${escapeControls(validation.found)}.`;
    return { ...SERVED, reason, next: [escapeControls(validation.fix)] };
  }
  if (verification?.dns === "ok") return SERVED;
  const [problem] = verification?.reasons ?? [];
  const update = "Update again once it is set: the host is then reported as live.";
  if (verification === undefined || problem === undefined) {
    const reason = "The certificate has been issued. The record of the host has not been checked.";
    return { state: "pending_dns", reason, next: ["Set the record at the DNS provider.", update] };
  }
  const reason = `The certificate has been issued. The record of the host has not been observed yet: ${escapeControls(problem.found)}.`;
  return { state: "pending_dns", reason, next: [escapeControls(problem.fix), PROPAGATION, update] };
}

const HOURS = VALIDATION_TIMEOUT_MS / (60 * MINUTE_MS);

function describeReverify(host: string, reverify: number): string {
  return `Request a new certificate: set store-orders:reverify to { ${host}: ${reverify + 1} } and update.`;
}

function periodOf(requestedAt: string | undefined): Pick<StackStatus, "since" | "until"> {
  const start = Date.parse(requestedAt ?? "");
  if (Number.isNaN(start)) return {};
  return { since: formatTimestamp(start), until: formatTimestamp(start + VALIDATION_TIMEOUT_MS) };
}

/** A host of a stack. */
export interface StackHost {
  readonly host: string;
  /** Who sets its records: the stack at its DNS provider, or by hand its operator. */
  readonly dns: "cloudflare" | "route53" | "manual";
  /** The number that the host has under `reverify`. */
  readonly reverify: number;
  /** The record by which ACM validates the host, as far as it is known. */
  readonly validationRecord?: { readonly name: string; readonly value: string } | undefined;
}

/** The steps after an update that has waited for a certificate in vain. `dns` and the record say what can be looked at. */
export function stepsWithoutCertificate({ host, reverify }: StackHost): readonly string[] {
  return [
    "Check that the DNS records of the host are correct: store-orders domains check",
    "Check that no CAA record forbids the certificate authority: if the host has CAA records, one allows amazon.com.",
    `Request a new certificate: set store-orders:reverify to { ${host}: ${reverify + 1} } and update again.`,
  ];
}
