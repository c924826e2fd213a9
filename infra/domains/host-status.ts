import { escapeControls, formatTimestamp } from "../../lib/core/text.ts";
import {
  type AttentionReason,
  CERTIFICATE_TIMEOUT_MS,
  type DomainState,
  VALIDATION_TIMEOUT_MS,
} from "../../lib/domains/lifecycle.ts";
import { PROPAGATION } from "../../lib/domains/verification/advice.ts";
import { REASONS } from "../../lib/domains/verification/reasons.ts";
import type { DnsResolver } from "../../lib/domains/verification/resolver.ts";
import {
  type Verification,
  type VerificationOptions,
  verifyHost,
} from "../../lib/domains/verification/verify.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";
import type { CertificateStatus } from "./certificates.ts";

/** The state of a host in its lifecycle, as the outputs of a stack report it. */
export interface HostStatus {
  readonly state: DomainState;
  /** Present only in the state `needs_attention`. */
  readonly attention?: AttentionReason;
  /** The cause of this state. */
  readonly reason: string;
  /** The next steps, one per entry. Empty if there is nothing to do. */
  readonly next: readonly string[];
  /** The time of the request for the awaited certificate. */
  readonly since?: string;
  /** The time at which ACM stops validating for it. */
  readonly until?: string;
}

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
export const SERVED: HostStatus = { state: "live", reason: "The record points to the API.", next: [] };

/** Describes a host that is prepared, except for its record. */
export function describeHeldHost(host: string): HostStatus {
  const reason = "The host is under 'hold': everything is prepared, but its record is not set.";
  const step = `Remove ${host} from store-orders:hold and update. If it is served elsewhere now, follow infra/domains/README.md#move-a-live-host.`;
  return { state: "pending_dns", reason, next: [step] };
}

/** Describes a host whose certificate has not been issued. Pure. */
export function describeAwaitedCertificate(awaited: AwaitedCertificate): HostStatus {
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
): HostStatus {
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

function periodOf(requestedAt: string | undefined): Pick<HostStatus, "since" | "until"> {
  const start = Date.parse(requestedAt ?? "");
  if (Number.isNaN(start)) return {};
  return { since: formatTimestamp(start), until: formatTimestamp(start + VALIDATION_TIMEOUT_MS) };
}

/** Looks up the records of a host whose DNS is managed elsewhere: without a target only the validation record. */
export type RecordObserver = (
  host: string,
  records: Pick<VerificationOptions, "target" | "validationRecord">,
) => Promise<Pick<Verification, "dns" | "reasons">>;

/** Creates an observer that queries DNS. */
export function createRecordObserver(resolver: DnsResolver): RecordObserver {
  return (host, records) => verifyHost(host, { resolver, ...records });
}
