import type { Instant } from "../clock.ts";
import type { Failure } from "../errors.ts";
import { MINUTE_MS } from "../plans/windows.ts";

/**
 * The lifecycle of a custom domain: for every state, what each event does. `to` is the next state, `attention` why
 * the domain then needs attention, `error` why the event is not allowed. See lib/README.md#domain-verification.
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
    // The certificate may have been issued late.
    certificate_issued: { to: "live" },
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
} as const satisfies Record<string, Record<string, DomainMove | DomainConflict>>;

interface DomainMove {
  readonly to: string;
  readonly attention?: AttentionReason;
}

interface DomainConflict {
  readonly error: string;
}

/** A state that a custom domain can be in. */
export type DomainState = keyof typeof DOMAIN_LIFECYCLE;

/** What can happen to a custom domain. */
export type DomainEvent = keyof (typeof DOMAIN_LIFECYCLE)[DomainState];

/** Every reason why a domain needs attention. */
export const ATTENTION_REASONS = [
  "validation_timed_out",
  "certificate_forbidden",
  "certificate_overdue",
  "certificate_failed",
  "dns_broken",
] as const;

/** Why a domain needs attention. */
export type AttentionReason = (typeof ATTENTION_REASONS)[number];

/** Why an event was not allowed. */
export type DomainTransitionErrorCode = Extract<
  { [S in DomainState]: (typeof DOMAIN_LIFECYCLE)[S][DomainEvent] }[DomainState],
  DomainConflict
>["error"];

/** The status of a custom domain. */
export interface TrackedDomain {
  readonly host: string;
  readonly state: DomainState;
  /** When the domain entered this state. */
  readonly since: Instant;
  /** When DNS was last verified for the pending certificate. */
  readonly verifiedAt?: Instant;
  /** Present only in the state `needs_attention`. */
  readonly attention?: AttentionReason;
}

/** The error of an event that the domain's state does not allow. */
export interface DomainTransitionError extends Failure<DomainTransitionErrorCode> {
  /** The state of the domain, which has not changed. */
  readonly state: DomainState;
  readonly event: DomainEvent;
}

/** The result of an event: the domain afterwards, or why nothing changed. */
export type DomainTransitionResult =
  | { readonly ok: true; readonly domain: TrackedDomain }
  | DomainTransitionError;

/** Every state, in lifecycle order. */
export const DOMAIN_STATES = Object.keys(DOMAIN_LIFECYCLE) as readonly DomainState[];

/** Every event. */
export const DOMAIN_EVENTS = Object.keys(DOMAIN_LIFECYCLE.pending_dns) as readonly DomainEvent[];

/** How long after verification a certificate may take before the domain needs attention. */
export const CERTIFICATE_TIMEOUT_MS = 30 * MINUTE_MS;

/** How long a certificate authority (ACM) tries to validate a domain. Then the certificate must be requested anew. */
export const VALIDATION_TIMEOUT_MS = 72 * 60 * MINUTE_MS;

/** The status of a domain that has just been added. */
export function addDomain(host: string, at: Instant): TrackedDomain {
  return { host, state: "pending_dns", since: at };
}

/**
 * The status at an instant. A domain needs attention without any event if it was not verified in time, or if its
 * certificate is overdue.
 */
export function domainAt(domain: TrackedDomain, at: Instant): TrackedDomain {
  const { host, state, since, verifiedAt } = domain;
  if (state === "pending_dns" && at >= since + VALIDATION_TIMEOUT_MS) {
    const due = since + VALIDATION_TIMEOUT_MS;
    return { host, state: "needs_attention", since: due, attention: "validation_timed_out" };
  }
  if (verifiedAt === undefined || (state !== "verified" && state !== "certificate_pending")) return domain;
  const due = verifiedAt + CERTIFICATE_TIMEOUT_MS;
  if (at < due) return domain;
  return { host, state: "needs_attention", since: due, verifiedAt, attention: "certificate_overdue" };
}

/** Applies an event to a domain at an instant. Pure: nothing is stored. */
export function transitionDomain(
  earlier: TrackedDomain,
  event: DomainEvent,
  at: Instant,
): DomainTransitionResult {
  const domain = domainAt(earlier, at);
  const { state } = domain;
  const rule: { to: DomainState; attention?: AttentionReason } | { error: DomainTransitionErrorCode } =
    DOMAIN_LIFECYCLE[state][event];
  if ("error" in rule) return { ok: false, code: rule.error, state, event };
  if (rule.to === state) return { ok: true, domain };
  return { ok: true, domain: enterState(domain, rule.to, rule.attention, at) };
}

function enterState(
  { host, verifiedAt }: TrackedDomain,
  state: DomainState,
  attention: AttentionReason | undefined,
  at: Instant,
): TrackedDomain {
  const verified = state === "verified" ? at : verifiedAt;
  return {
    host,
    state,
    since: at,
    ...(verified === undefined || state === "pending_dns" ? {} : { verifiedAt: verified }),
    ...(attention === undefined ? {} : { attention }),
  };
}
