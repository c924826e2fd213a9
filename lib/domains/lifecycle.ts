import type { Instant } from "../clock.ts";

/**
 * The life of a custom domain (decision 21): for every state, what each event does. `to` is the next state,
 * `why` the reason that a domain needs attention, `refused` why the event does not fit.
 */
export const DOMAIN_LIFECYCLE = {
  pending_dns: {
    dns_verified: { to: "verified" },
    dns_failed: { to: "pending_dns" },
    dns_unknown: { to: "pending_dns" },
    certificate_requested: { refused: "not_verified" },
    certificate_issued: { refused: "not_verified" },
    certificate_failed: { refused: "not_verified" },
    reverify: { refused: "nothing_to_reverify" },
    remove: { to: "removed" },
  },
  verified: {
    dns_verified: { to: "verified" },
    dns_failed: { to: "pending_dns" },
    dns_unknown: { to: "verified" },
    certificate_requested: { to: "certificate_pending" },
    certificate_issued: { refused: "certificate_not_requested" },
    certificate_failed: { refused: "certificate_not_requested" },
    reverify: { refused: "nothing_to_reverify" },
    remove: { to: "removed" },
  },
  certificate_pending: {
    dns_verified: { to: "certificate_pending" },
    dns_failed: { to: "pending_dns" },
    dns_unknown: { to: "certificate_pending" },
    certificate_requested: { to: "certificate_pending" },
    certificate_issued: { to: "live" },
    certificate_failed: { to: "needs_attention", why: "certificate_failed" },
    reverify: { refused: "nothing_to_reverify" },
    remove: { to: "removed" },
  },
  live: {
    dns_verified: { to: "live" },
    dns_failed: { to: "needs_attention", why: "dns_broken" },
    // A resolver that did not answer has said nothing about the domain.
    dns_unknown: { to: "live" },
    certificate_requested: { to: "live" },
    certificate_issued: { to: "live" },
    certificate_failed: { to: "needs_attention", why: "certificate_failed" },
    reverify: { refused: "nothing_to_reverify" },
    remove: { to: "removed" },
  },
  needs_attention: {
    dns_verified: { to: "needs_attention" },
    dns_failed: { to: "needs_attention" },
    dns_unknown: { to: "needs_attention" },
    certificate_requested: { refused: "reverify_first" },
    // The authority may be late rather than unwilling.
    certificate_issued: { to: "live" },
    certificate_failed: { to: "needs_attention" },
    reverify: { to: "pending_dns" },
    remove: { to: "removed" },
  },
  removed: {
    dns_verified: { refused: "domain_removed" },
    dns_failed: { refused: "domain_removed" },
    dns_unknown: { refused: "domain_removed" },
    certificate_requested: { refused: "domain_removed" },
    certificate_issued: { refused: "domain_removed" },
    certificate_failed: { refused: "domain_removed" },
    reverify: { refused: "domain_removed" },
    remove: { to: "removed" },
  },
} as const satisfies Record<string, Record<string, DomainMove | DomainRefused>>;

interface DomainMove {
  readonly to: string;
  readonly why?: AttentionReason;
}

interface DomainRefused {
  readonly refused: string;
}

/** A state that a custom domain can be in. */
export type DomainState = keyof typeof DOMAIN_LIFECYCLE;

/** What can happen to a custom domain. */
export type DomainEvent = keyof (typeof DOMAIN_LIFECYCLE)[DomainState];

/** Why a domain needs attention. */
export type AttentionReason = "certificate_overdue" | "certificate_failed" | "dns_broken";

/** Why a domain did not move. */
export type DomainRefusal = Extract<
  { [S in DomainState]: (typeof DOMAIN_LIFECYCLE)[S][DomainEvent] }[DomainState],
  DomainRefused
>["refused"];

/** A custom domain in the course of its life. */
export interface DomainStatus {
  readonly host: string;
  readonly state: DomainState;
  /** When this state was entered. */
  readonly since: Instant;
  /** When DNS was last found right for the certificate that is waited for. */
  readonly verifiedAt?: Instant;
  /** There exactly while the domain needs attention. */
  readonly attention?: AttentionReason;
}

/** What became of an event: the domain as it is now, or the reason with the state that refused it. */
export type DomainTransition =
  | { readonly moved: true; readonly domain: DomainStatus }
  | {
      readonly moved: false;
      readonly refused: DomainRefusal;
      readonly state: DomainState;
      readonly event: DomainEvent;
    };

/** Every state, in the order of a life. */
export const DOMAIN_STATES = Object.keys(DOMAIN_LIFECYCLE) as readonly DomainState[];

/** Every event. */
export const DOMAIN_EVENTS = Object.keys(DOMAIN_LIFECYCLE.pending_dns) as readonly DomainEvent[];

/** A certificate that has not come this long after verification needs attention (specification, "Rules"). */
export const CERTIFICATE_TIMEOUT_MS = 30 * 60_000;

/** A domain that has just been added. */
export function addedDomain(host: string, at: Instant): DomainStatus {
  return { host, state: "pending_dns", since: at };
}

/** The domain at an instant: one that has waited too long for its certificate needs attention by itself. */
export function domainAt(domain: DomainStatus, at: Instant): DomainStatus {
  const { host, state, verifiedAt } = domain;
  if (verifiedAt === undefined || (state !== "verified" && state !== "certificate_pending")) return domain;
  const due = verifiedAt + CERTIFICATE_TIMEOUT_MS;
  if (at < due) return domain;
  return { host, state: "needs_attention", since: due, verifiedAt, attention: "certificate_overdue" };
}

/** Tells what an event does to a domain at an instant. Pure: nothing is stored. */
export function transitionDomain(earlier: DomainStatus, event: DomainEvent, at: Instant): DomainTransition {
  const domain = domainAt(earlier, at);
  const { state } = domain;
  const rule: { to: DomainState; why?: AttentionReason } | { refused: DomainRefusal } =
    DOMAIN_LIFECYCLE[state][event];
  if ("refused" in rule) return { moved: false, refused: rule.refused, state, event };
  if (rule.to === state) return { moved: true, domain };
  return { moved: true, domain: entered(domain, rule.to, rule.why, at) };
}

function entered(
  { host, verifiedAt }: DomainStatus,
  state: DomainState,
  attention: AttentionReason | undefined,
  at: Instant,
): DomainStatus {
  const verified = state === "verified" ? at : verifiedAt;
  return {
    host,
    state,
    since: at,
    ...(verified === undefined || state === "pending_dns" ? {} : { verifiedAt: verified }),
    ...(attention === undefined ? {} : { attention }),
  };
}
