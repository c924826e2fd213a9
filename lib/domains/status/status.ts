import type { Failure } from "../../core/errors.ts";
import { assertOneOf } from "../../core/lifecycle.ts";
import type { Instant } from "../../core/time.ts";
import { MINUTE_MS } from "../../plans/windows.ts";
import type { CertificateCheck, DnsState, Verification } from "./facts.ts";

/**
 * The lifecycle of a custom domain: for every state, the effect of each event. `to` is the next state, `attention` the
 * reason why the domain then needs attention, `error` the reason why the event is not allowed, `unverified` the reason
 * why it is not allowed while the records are not verified. See lib/domains/README.md#domain-verification.
 */
export const DOMAIN_LIFECYCLE = {
  pending_dns: {
    dns_verified: { to: "verified" },
    dns_failed: { to: "pending_dns" },
    dns_unknown: { to: "pending_dns" },
    certificate_forbidden: { to: "needs_attention", attention: "certificate_forbidden" },
    certificate_requested: { error: "not_verified" },
    certificate_issued: { error: "not_verified" },
    certificate_failed: { error: "not_verified" },
    reverify: { error: "nothing_to_reverify" },
    remove: { to: "removed" },
  },
  verified: {
    dns_verified: { to: "verified" },
    dns_failed: { to: "pending_dns" },
    dns_unknown: { to: "verified" },
    certificate_forbidden: { to: "needs_attention", attention: "certificate_forbidden" },
    certificate_requested: { to: "certificate_pending" },
    certificate_issued: { error: "certificate_not_requested" },
    certificate_failed: { error: "certificate_not_requested" },
    reverify: { error: "nothing_to_reverify" },
    remove: { to: "removed" },
  },
  certificate_pending: {
    dns_verified: { to: "certificate_pending" },
    dns_failed: { to: "pending_dns" },
    dns_unknown: { to: "certificate_pending" },
    certificate_forbidden: { to: "needs_attention", attention: "certificate_forbidden" },
    certificate_requested: { to: "certificate_pending" },
    certificate_issued: { to: "live" },
    certificate_failed: { to: "needs_attention", attention: "certificate_failed" },
    reverify: { error: "nothing_to_reverify" },
    remove: { to: "removed" },
  },
  live: {
    dns_verified: { to: "live" },
    dns_failed: { to: "needs_attention", attention: "dns_broken" },
    // A failed lookup says nothing about the domain.
    dns_unknown: { to: "live" },
    // The certificate works until it expires; only its renewal is forbidden.
    certificate_forbidden: { to: "live" },
    certificate_requested: { to: "live" },
    certificate_issued: { to: "live" },
    certificate_failed: { to: "needs_attention", attention: "certificate_failed" },
    reverify: { error: "nothing_to_reverify" },
    remove: { to: "removed" },
  },
  needs_attention: {
    dns_verified: { to: "needs_attention" },
    dns_failed: { to: "needs_attention" },
    dns_unknown: { to: "needs_attention" },
    certificate_forbidden: { to: "needs_attention" },
    certificate_requested: { error: "reverify_first" },
    // The certificate may have been issued late. It makes nothing live whose records are wrong.
    certificate_issued: { to: "live", unverified: "not_verified" },
    certificate_failed: { to: "needs_attention" },
    reverify: { to: "pending_dns" },
    remove: { to: "removed" },
  },
  removed: {
    dns_verified: { error: "domain_removed" },
    dns_failed: { error: "domain_removed" },
    dns_unknown: { error: "domain_removed" },
    certificate_forbidden: { error: "domain_removed" },
    certificate_requested: { error: "domain_removed" },
    certificate_issued: { error: "domain_removed" },
    certificate_failed: { error: "domain_removed" },
    reverify: { error: "domain_removed" },
    remove: { to: "removed" },
  },
} as const satisfies Record<string, Record<string, DomainRule<string, string>>>;

type DomainRule<State = DomainState, Code = DomainTransitionErrorCode> =
  | { readonly to: State; readonly attention?: AttentionReason; readonly unverified?: Code }
  | { readonly error: Code };

/** A state that a custom domain can be in. */
export type DomainState = keyof typeof DOMAIN_LIFECYCLE;

/** An event in the lifecycle of a custom domain. */
export type DomainEvent = keyof (typeof DOMAIN_LIFECYCLE)[DomainState];

/** Every reason why a domain needs attention. */
export const ATTENTION_REASONS = [
  "validation_timed_out",
  "certificate_forbidden",
  "certificate_overdue",
  "certificate_failed",
  "dns_broken",
] as const;

/** The reason why a domain needs attention. */
export type AttentionReason = (typeof ATTENTION_REASONS)[number];

/** The reason why an event was not allowed. */
export type DomainTransitionErrorCode = Extract<
  { [S in DomainState]: (typeof DOMAIN_LIFECYCLE)[S][DomainEvent] }[DomainState],
  { readonly error: string }
>["error"];

/** The status of a custom domain. */
export interface TrackedDomain {
  readonly host: string;
  readonly state: DomainState;
  /** The time at which the domain entered this state. */
  readonly since: Instant;
  /** The time at which DNS was verified. Missing while it is not, or no longer. */
  readonly verifiedAt?: Instant;
  /** The time at which the attempt to become live began, if that was before the present state. */
  readonly attemptSince?: Instant;
  /** Present only in the state `needs_attention`. */
  readonly attention?: AttentionReason;
}

/** The error of an event that the domain's state does not allow. */
export interface DomainTransitionError extends Failure<DomainTransitionErrorCode> {
  /** The state of the domain, which has not changed. */
  readonly state: DomainState;
  readonly event: DomainEvent;
}

/** The result of an event: the domain afterwards, or the reason why nothing changed. */
export type DomainTransitionResult =
  | { readonly ok: true; readonly domain: TrackedDomain }
  | DomainTransitionError;

/** Every state, in lifecycle order. */
export const DOMAIN_STATES = Object.keys(DOMAIN_LIFECYCLE) as readonly DomainState[];

/** Every event. */
export const DOMAIN_EVENTS = Object.keys(DOMAIN_LIFECYCLE.pending_dns) as readonly DomainEvent[];

/** The time that a certificate may take after verification before the domain needs attention. */
export const CERTIFICATE_TIMEOUT_MS = 30 * MINUTE_MS;

/** The time that a certificate authority (ACM) has to validate a domain. Then a new certificate must be requested. */
export const VALIDATION_TIMEOUT_MS = 72 * 60 * MINUTE_MS;

/** The status of a domain that has just been added. */
export function addDomain(host: string, at: Instant): TrackedDomain {
  return { host, state: "pending_dns", since: at };
}

/**
 * The status at an instant. A domain needs attention without any event if its certificate is overdue 30 minutes after
 * verification, or if it is not verified 72 hours after the attempt began, however often its records changed before.
 */
export function domainAt(domain: TrackedDomain, at: Instant): TrackedDomain {
  const { host, state, since, verifiedAt, attemptSince = since } = domain;
  if (!IN_ATTEMPT.has(state)) return domain;
  const [due, attention] =
    verifiedAt === undefined
      ? [attemptSince + VALIDATION_TIMEOUT_MS, "validation_timed_out" as const]
      : [verifiedAt + CERTIFICATE_TIMEOUT_MS, "certificate_overdue" as const];
  if (at < due) return domain;
  const verified = verifiedAt === undefined ? {} : { verifiedAt };
  return { host, state: "needs_attention", since: Math.max(due, since), ...verified, attention };
}

const IN_ATTEMPT: ReadonlySet<DomainState> = new Set(["pending_dns", "verified", "certificate_pending"]);

/**
 * Applies an event to a domain at an instant. Pure: nothing is stored. Throws an `InvalidInputError` if there is no
 * such event or state.
 */
export function transitionDomain(
  earlier: TrackedDomain,
  event: DomainEvent,
  at: Instant,
): DomainTransitionResult {
  assertOneOf(DOMAIN_EVENTS, event, "event");
  const domain = domainAt(earlier, at);
  const { state } = domain;
  assertOneOf(DOMAIN_STATES, state, "state");
  const rule: DomainRule = DOMAIN_LIFECYCLE[state][event];
  const verifiedAt = verificationAfter(domain, event, at);
  const error = "error" in rule ? rule.error : verifiedAt === undefined ? rule.unverified : undefined;
  if (error !== undefined) return { ok: false, code: error, state, event };
  if ("error" in rule || (rule.to === state && verifiedAt === domain.verifiedAt)) return { ok: true, domain };
  return { ok: true, domain: domainAt(enterState(domain, rule, verifiedAt, at), at) };
}

/** The time of DNS verification, after an event. CAA records are evaluated only if the host's own records are right. */
function verificationAfter({ verifiedAt }: TrackedDomain, event: DomainEvent, at: Instant) {
  if (event === "dns_failed" || event === "reverify") return undefined;
  return event === "dns_verified" || event === "certificate_forbidden" ? (verifiedAt ?? at) : verifiedAt;
}

function enterState(
  domain: TrackedDomain,
  { to: state, attention }: Extract<DomainRule, { to: DomainState }>,
  verifiedAt: Instant | undefined,
  at: Instant,
): TrackedDomain {
  const { host, since, attemptSince = since } = domain;
  const stays = state === domain.state;
  const continues = IN_ATTEMPT.has(domain.state) && IN_ATTEMPT.has(state);
  const reason = stays ? domain.attention : attention;
  return {
    host,
    state,
    since: stays ? since : at,
    ...(verifiedAt === undefined ? {} : { verifiedAt }),
    ...(continues ? { attemptSince } : {}),
    ...(reason === undefined ? {} : { attention: reason }),
  };
}

/** The observation of a host at one time. */
export interface DomainObservation {
  readonly verification: Pick<Verification, "state" | "dns" | "certificate">;
  /** Missing if it was not checked: it counts only while the records point to the platform. */
  readonly certificate?: CertificateCheck;
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

/**
 * The lifecycle event that a verification amounts to. A lame zone is reported, but it may be an outage, so it does
 * not take a domain down.
 */
export function eventOf({ dns, certificate }: Pick<Verification, "dns" | "certificate">): DomainEvent {
  if (dns === "ok") return certificate === "forbidden" ? "certificate_forbidden" : "dns_verified";
  return SAYS_NOTHING.has(dns) ? "dns_unknown" : "dns_failed";
}

const SAYS_NOTHING: ReadonlySet<DnsState> = new Set([
  "unknown",
  "lame",
  "outdated",
  "target_unknown",
  // Some visitors reach the platform.
  "disagreement",
]);

/** The state of a host in its lifecycle, as the outputs of a stack report it. */
export interface StackStatus {
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
