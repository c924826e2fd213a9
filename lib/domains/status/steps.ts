import { escapeControls, formatTimestamp } from "../../core/text.ts";
import { MINUTE_MS } from "../../plans/windows.ts";
import type { HostRole } from "../mapping.ts";
import { type Deployment, SET_AGAIN, STACK_ZONES } from "../verification/providers.ts";
import type { AuthorityAnswer, CertificateCheck, Verification } from "./facts.ts";
import { REASONS, withoutImplied } from "./reasons.ts";
import {
  type AttentionReason,
  addHost,
  CERTIFICATE_TIMEOUT_MS,
  type HostState,
  type HostStatus,
  nextStatus,
  VALIDATION_TIMEOUT_MS,
} from "./status.ts";

export const PROPAGATION = "DNS changes may take up to 48 hours to propagate.";

/** What to do in each state, and for each reason why a host needs attention: most of these say the cause first. */
function adviceOn(deployment: Deployment) {
  const isMachine = deployment === "machine";
  // The console shows the domains of one machine.
  const verify = `then verify again: 'store-orders domains check'${isMachine ? ", or the console" : ""}.`;
  const correct = (step: string) =>
    `${STACK_ZONES[deployment] ? "Run 'npx pulumi up --refresh'" : `${step} at the DNS provider`}, ${verify}`;
  const issues = isMachine
    ? "Caddy in front requests the certificate by itself, at the first visit; for nginx, run certbot, then name the host and its certificate in the configuration."
    : "The certificate is issued automatically, usually within a couple of minutes.";
  const request = isMachine
    ? "Request a new certificate: reload the server in front that requests it, such as Caddy, or run certbot again."
    : "Request a new certificate: increase the host's number under 'reverify' in the stack configuration and deploy.";
  const checks = [
    "Check that the domain still verifies: run 'store-orders domains check'.",
    "Check that CAA records do not block the certificate authority.",
    ...(isMachine ? ["Check that the internet reaches the server in front, on ports 80 and 443."] : []),
  ];
  return {
    pending_dns: [correct("Set the record"), PROPAGATION],
    verified: [issues],
    certificate_pending: [issues],
    live: ["Nothing to do."],
    unknown: ["Retry, or use another resolver. A failed lookup does not change the state of the domain."],
    validation_timed_out: [
      "The domain was not verified within 72 hours, after which the certificate authority stops trying.",
      correct("Set the record"),
      request,
    ],
    certificate_forbidden: [
      `Change the CAA records that forbid the certificate, ${verify}`,
      `If the authority has already rejected a request: ${request}`,
      PROPAGATION,
    ],
    certificate_overdue: [
      "No certificate has been issued 30 minutes after verification.",
      ...checks,
      request,
    ],
    certificate_failed: ["The certificate is not valid, or its authority rejected it.", ...checks, request],
    dns_broken: ["The DNS records no longer lead to the platform.", correct("Fix them"), PROPAGATION],
  };
}

/** The next steps for a host, one per entry, in the state of a `HostStatus` or of a `Verification`. */
export function adviceFor(
  domain: { readonly state: HostState | "unknown"; readonly attention?: AttentionReason },
  deployment: Deployment = "manual",
): readonly string[] {
  const { state, attention = "certificate_overdue" } = domain;
  return adviceOn(deployment)[state === "needs_attention" ? attention : state];
}

/** A host as it was last seen, and its status then. */
export interface SeenHost {
  readonly status: HostStatus;
  readonly seen: Pick<Verification, "reasons" | "certificate" | "found"> & {
    readonly state: HostState | "unknown";
    readonly served?: CertificateCheck;
    readonly stack?: StackStatus;
  };
}

/** True if DNS did not answer for a host on its way, so that nobody knows more about it than before. */
export const isUnanswered = ({ status, seen }: SeenHost): boolean =>
  seen.state === "unknown" && status.state !== "live" && status.state !== "needs_attention";

/** What to do, one step per entry: each fix, which says what it is for if `isNamed`, and what else the state advises. */
export function stepsFor(
  host: SeenHost,
  deployment: Deployment,
  { isNamed = false }: { readonly isNamed?: boolean } = {},
): readonly string[] {
  const { status, seen } = host;
  const fixes = withoutImplied(seen.reasons).map(({ code, fix }) =>
    isNamed ? `${REASONS[code].title} ${fix}` : fix,
  );
  if (status.state === "live") return fixes;
  if (isUnanswered(host)) return [...fixes, ...adviceFor({ state: "unknown" })];
  if (status.state === "pending_dns" && fixes.length > 0) return [...fixes, PROPAGATION];
  return [...fixes, ...adviceFor(status, seen.stack?.dns ?? deployment)];
}

/** Why a host is in its state, as a sentence. Undefined if nothing is wrong with it. */
export function causeOf(host: SeenHost): string | undefined {
  const { status, seen } = host;
  const [reason] = withoutImplied(seen.reasons);
  if (reason !== undefined) return REASONS[reason.code].title;
  return status.attention && adviceFor(status)[0];
}

/** A step on the way of a host to live, as its owner experiences it. */
export interface ProgressStep {
  readonly name: "record" | "verified" | "certificate" | "live";
  readonly status: "done" | "current" | "failed" | "next";
  readonly detail: string;
}

export function describeProgress({ status, seen }: SeenHost): readonly ProgressStep[] {
  const [problem] = seen.reasons.filter(({ code }) => REASONS[code].aspect === "dns");
  const caaFailed = status.state !== "pending_dns" && seen.certificate === "unknown";
  const details = [
    ["record", seen.found ?? problem?.found ?? "not checked"],
    ["verified", caaFailed ? "the lookup of CAA records failed" : ""],
    ["certificate", describeCertificate(status, seen.served)],
    ["live", ""],
  ] as const;
  const [done, then] = stepsDone(status);
  return details.map(([name, detail], index) => {
    return { name, status: index < done ? "done" : index === done ? then : "next", detail };
  });
}

/** How many steps are done, and the status of the one after them. */
function stepsDone({ state, attention }: HostStatus): [done: number, then: ProgressStep["status"]] {
  if (state === "live") return [4, "next"];
  if (state === "needs_attention")
    return [attention === "dns_broken" || attention === "validation_timed_out" ? 0 : 2, "failed"];
  return [state === "pending_dns" ? 0 : 2, "current"];
}

function describeCertificate({ state }: HostStatus, served: CertificateCheck | undefined): string {
  if (served?.outcome === "valid")
    return `valid until ${new Date(served.expiresAt).toISOString().slice(0, 10)}`;
  if (state === "pending_dns") return "";
  const seen = served === undefined ? "" : `; ${served.found}`;
  return state === "certificate_pending" ? `awaited${seen}` : seen.slice(2);
}

/** The status of a host in the last update of its stack. Much may have changed since. */
export interface StackStatus {
  readonly state: HostState;
  /** Present only in the state `needs_attention`. */
  readonly attention?: AttentionReason;
  readonly reason: string;
  /** The next steps, one per entry. Empty if there is nothing to do. */
  readonly next: readonly string[];
  /** The time of the request for the awaited certificate. */
  readonly since?: string;
  /** The time at which ACM stops validating for it. */
  readonly until?: string;
  /** Who sets the host's records: the stack at its DNS provider, or its operator. Earlier versions do not say it. */
  readonly dns?: Exclude<Deployment, "machine">;
}

/** A DNS record in the outputs of a stack. */
export interface StackRecord {
  readonly zone: string;
  readonly type: string;
  /** Relative to the zone, as providers take it; `@` at the apex. */
  readonly name: string;
  readonly ttl: number;
  /** Missing until it is known. */
  readonly value?: string;
}

/** A host in the outputs of a stack, which `domains check --stack` reads. */
export interface StackHost extends StackStatus {
  readonly role: HostRole;
  readonly dns: Exclude<Deployment, "machine">;
  /** The record that routes traffic to the API. Its value is missing until the certificate has been issued. */
  readonly record: StackRecord;
  /**
   * The record by which ACM validates the host, which renewals need too. Missing if ACM has given up on the certificate that
   * it validates, or if the host has a certificate of its own.
   */
  readonly validationRecord?: StackRecord;
}

/** A host for which a stack awaits a certificate. */
export interface AwaitingHost extends Pick<StackHost, "dns"> {
  readonly host: string;
  /** The number that the host has under `reverify`. */
  readonly reverify: number;
  readonly validationRecord: { readonly name: string; readonly value: string };
}

/** The states in which ACM can have a certificate, those in which it has been issued first. */
export const CERTIFICATE_STATUSES = [
  ...(["ISSUED", "INACTIVE", "EXPIRED", "REVOKED"] as const),
  ...(["PENDING_VALIDATION", "VALIDATION_TIMED_OUT", "FAILED"] as const),
] as const;

/** The status of a certificate, as ACM names it. */
export type CertificateStatus = (typeof CERTIFICATE_STATUSES)[number];

/** The status of a host whose record this stack manages: it is set, and everything else before it. */
export const SERVED: StackStatus = { state: "live", reason: "The record points to the API.", next: [] };

/** The status of a host that is prepared, except for its record. */
export function describeHeldHost(host: string): StackStatus {
  const reason = "The host is under 'hold': everything is prepared, but its record is not set.";
  const step = `Remove ${host} from store-orders:hold and update. If it is served elsewhere now, follow infra/domains/README.md#move-a-live-host.`;
  return { state: "pending_dns", reason, next: [step] };
}

/** What an update found out about a host whose records the operator sets. */
interface ManualHost extends Pick<AwaitingHost, "host" | "reverify"> {
  /** True if the host has a domain name, which takes an issued certificate. */
  readonly isPrepared: boolean;
  /** The status of its certificate. Missing if ACM was not asked: the present run has requested it, or it is another's. */
  readonly certificate?: CertificateStatus | undefined;
  /** RFC 3339. Missing if it is not known. */
  readonly requestedAt?: string | undefined;
  /** What was observed of its records, before the domain name only of the validation record. @default not looked up */
  readonly seen?: Pick<Verification, "dns" | "reasons"> | undefined;
}

/** The status of a host whose records the operator sets. Pure. */
export function describeManualHost(manual: ManualHost): StackStatus {
  const { host, isPrepared, certificate, requestedAt, reverify, seen } = manual;
  const authority = (certificate && ENDED[certificate]) ?? (isPrepared ? "issued" : "requested");
  const facts = { authority, ...(seen && { dns: seen.dns, reasons: seen.reasons }) };
  const { state, attention } = nextStatus(addHost(host, 0), facts, 0);
  const describe = (reason: string, ...next: readonly string[]): StackStatus => {
    return { state, ...(attention && { attention }), reason, next };
  };
  const renew = `Request a new certificate: set store-orders:reverify to { ${host}: ${reverify + 1} } and update.`;
  if (attention === "validation_timed_out") {
    const reason = `ACM gave up, because it did not find the validation record within ${HOURS} hours of the request.`;
    return describe(reason, renew, "Then set the validationRecord in the outputs at the DNS provider.");
  }
  if (certificate === "FAILED") {
    const check = `Check that CAA records do not block the certificate authority, and that ACM accepts the name: the console of ACM shows the reason.`;
    return describe("ACM rejected the request for the certificate (FAILED).", check, renew);
  }
  if (attention !== undefined) {
    const keep = "Check that the validationRecord is still set at the DNS provider: renewals need it.";
    return describe(`The certificate is no longer valid (${certificate}).`, keep, renew);
  }
  const found = (seen?.reasons ?? []).map(({ code, ...reason }) => {
    return { code, found: escapeControls(reason.found), fix: escapeControls(reason.fix) };
  });
  const validation = found.find(({ code }) => code === "validation_record");
  if (!isPrepared) {
    const period = periodOf(requestedAt);
    const since = period.since === undefined ? "" : ` since ${period.since}`;
    const until = period.until === undefined ? "" : `, at ${period.until}`;
    const update =
      "Update again once ACM has issued the certificate: the outputs then have the host's record.";
    const requested = `The validation record is set. The certificate has been requested${since}; ACM issues it automatically, usually within minutes.`;
    const late = `If it takes longer than ${CERTIFICATE_TIMEOUT_MS / MINUTE_MS} minutes: check that CAA records do not block the certificate authority. ${renew}`;
    if (state === "certificate_pending") return { ...describe(requested, update, late), ...period };
    const waits = `ACM waits for the validation record${since}. It stops ${HOURS} hours after the request${until}.`;
    const step = `Set the validationRecord at the DNS provider, and keep it: renewals need it. ${PROPAGATION}`;
    return { ...describe(waits, step, ...(validation ? [validation.fix] : []), update), ...period };
  }
  if (seen?.dns === "ok") {
    if (validation === undefined) return SERVED;
    const reason = `${SERVED.reason} The certificate cannot be renewed, because its validation record is not right: ${validation.found}.`;
    return describe(reason, validation.fix);
  }
  const [problem] = found;
  const update = "Update again once it is set: the host is then reported as live.";
  if (problem === undefined) {
    const reason = "The certificate has been issued. The record of the host has not been checked.";
    return describe(reason, "Set the record at the DNS provider.", update);
  }
  const reason = `The certificate has been issued. The record of the host has not been observed yet: ${problem.found}.`;
  return describe(reason, problem.fix, PROPAGATION, update);
}

const HOURS = VALIDATION_TIMEOUT_MS / (60 * MINUTE_MS);

const ENDED: Readonly<Partial<Record<CertificateStatus, AuthorityAnswer>>> = {
  VALIDATION_TIMED_OUT: "timed_out",
  FAILED: "rejected",
  EXPIRED: "rejected",
  REVOKED: "rejected",
  INACTIVE: "rejected",
};

function periodOf(requestedAt: string | undefined): Pick<StackStatus, "since" | "until"> {
  const start = Date.parse(requestedAt ?? "");
  if (Number.isNaN(start)) return {};
  return { since: formatTimestamp(start), until: formatTimestamp(start + VALIDATION_TIMEOUT_MS) };
}

/** The steps after an update that has waited for a certificate in vain: what the authority looks at, in this order. */
export function stepsWithoutCertificate(awaiting: AwaitingHost): readonly string[] {
  const { host, dns, reverify, validationRecord: record } = awaiting;
  const { place, hides } = STACK_ZONES[dns] ?? {};
  const where =
    place === undefined
      ? "at the DNS provider, and set it. A provider that proxies or flattens it answers with addresses: switch that off."
      : `${place}. ${hides} ${SET_AGAIN}`;
  return [
    `Ask DNS for the validation record: 'dig +short CNAME ${record.name}' has to print ${record.value}.`,
    `If it prints nothing or something else, look at this record ${where}`,
    `If it is right there, DNS asks other servers: 'dig +short NS', with the domain of the zone, has to print the name servers of this zone. Correct them at the registrar, or in the zone above.`,
    `If DNS has it, a CAA record can forbid the certificate: 'dig +short CAA ${host}', then the same for each domain above it. The first answer, if any, has to allow amazon.com.`,
    `Update again: ACM looks for the record until ${HOURS} hours after the request. After that, or if it has rejected the request, first set store-orders:reverify to { ${host}: ${reverify + 1} }, which requests another certificate.`,
  ];
}

/** The line of the log when ACM has named the record that it waits for. */
export function describeWait({ host, validationRecord: { name, value } }: AwaitingHost): string {
  return `${host}: ACM issues the certificate once DNS has the record CNAME ${name} → ${value}.`;
}
