/**
 * The status of a host as it was derived before: a table of events, and the events of an observation. Only for the
 * comparison in walk.test.ts; nothing here is to be changed.
 */
import type { CertificateState, DnsState } from "../../../lib/domains/status/facts.ts";

const MINUTE_MS = 60_000;

const TABLE: Record<string, Record<string, Rule>> = {
  pending_dns: {
    dns_verified: { to: "verified" },
    dns_failed: { to: "pending_dns" },
    dns_unknown: { to: "pending_dns" },
    certificate_forbidden: { to: "needs_attention", attention: "certificate_forbidden" },
    certificate_requested: { error: "not_verified" },
    certificate_issued: { error: "not_verified" },
    certificate_failed: { error: "not_verified" },
    reverify: { error: "nothing_to_reverify" },
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
  },
  live: {
    dns_verified: { to: "live" },
    dns_failed: { to: "needs_attention", attention: "dns_broken" },
    dns_unknown: { to: "live" },
    certificate_forbidden: { to: "live" },
    certificate_requested: { to: "live" },
    certificate_issued: { to: "live" },
    certificate_failed: { to: "needs_attention", attention: "certificate_failed" },
    reverify: { error: "nothing_to_reverify" },
  },
  needs_attention: {
    dns_verified: { to: "needs_attention" },
    dns_failed: { to: "needs_attention" },
    dns_unknown: { to: "needs_attention" },
    certificate_forbidden: { to: "needs_attention" },
    certificate_requested: { error: "reverify_first" },
    certificate_issued: { to: "live", unverified: "not_verified" },
    certificate_failed: { to: "needs_attention" },
    reverify: { to: "pending_dns" },
  },
};

interface Rule {
  readonly to?: string;
  readonly attention?: string;
  readonly unverified?: string;
  readonly error?: string;
}

export interface OldDomain {
  readonly state: string;
  readonly since: number;
  readonly verifiedAt?: number | undefined;
  readonly attemptSince?: number;
  readonly attention?: string | undefined;
}

const IN_ATTEMPT = new Set(["pending_dns", "verified", "certificate_pending"]);

export function oldDomainAt(domain: OldDomain, at: number): OldDomain {
  const { state, since, verifiedAt, attemptSince = since } = domain;
  if (!IN_ATTEMPT.has(state)) return domain;
  const [due, attention] =
    verifiedAt === undefined
      ? [attemptSince + 72 * 60 * MINUTE_MS, "validation_timed_out"]
      : [verifiedAt + 30 * MINUTE_MS, "certificate_overdue"];
  return at < due ? domain : { state: "needs_attention", since: Math.max(due, since), verifiedAt, attention };
}

export function oldTransition(earlier: OldDomain, event: string, at: number): OldDomain | undefined {
  const domain = oldDomainAt(earlier, at);
  const { state, since, attemptSince = since } = domain;
  const rule = TABLE[state]?.[event] ?? {};
  const now = domain.verifiedAt;
  const isRight = event === "dns_verified" || event === "certificate_forbidden";
  const verifiedAt = event === "dns_failed" || event === "reverify" ? undefined : isRight ? (now ?? at) : now;
  if (rule.error ?? (verifiedAt === undefined ? rule.unverified : undefined)) return undefined;
  const { to = state, attention } = rule;
  if (to === state && verifiedAt === domain.verifiedAt) return domain;
  const continues = IN_ATTEMPT.has(state) && IN_ATTEMPT.has(to);
  const entered = {
    state: to,
    since: to === state ? since : at,
    verifiedAt,
    ...(continues ? { attemptSince } : {}),
    attention: to === state ? domain.attention : attention,
  };
  return oldDomainAt(entered, at);
}

const SAYS_NOTHING = new Set(["unknown", "lame", "outdated", "target_unknown", "disagreement"]);

export interface OldObservation {
  readonly dns: DnsState;
  readonly certificate: CertificateState;
  readonly served?: { readonly outcome: "valid" | "invalid" | "unreachable" } | undefined;
}

export function oldAdvance(earlier: OldDomain, seen: OldObservation, at: number): OldDomain {
  const { dns, certificate, served } = seen;
  let domain = oldDomainAt(earlier, at);
  const apply = (event: string) => {
    const result = oldTransition(domain, event, at);
    // The defect: what the same state remembers is lost.
    if (result !== undefined && result.state !== domain.state) domain = result;
  };
  const { attention } = domain;
  const pointsHere = dns === "ok";
  const isResolved =
    attention === "certificate_forbidden"
      ? pointsHere && certificate === "allowed"
      : attention === "dns_broken" && pointsHere;
  if (isResolved) apply("reverify");
  if (pointsHere) apply(certificate === "forbidden" ? "certificate_forbidden" : "dns_verified");
  else apply(SAYS_NOTHING.has(dns) ? "dns_unknown" : "dns_failed");
  if (pointsHere && (certificate === "allowed" || served?.outcome === "valid"))
    apply("certificate_requested");
  if (pointsHere && served?.outcome === "valid") apply("certificate_issued");
  if (pointsHere && served?.outcome === "invalid" && domain.state === "live") apply("certificate_failed");
  return domain;
}
