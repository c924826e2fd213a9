import type { Instant } from "../../core/time.ts";
import { MINUTE_MS } from "../../plans/windows.ts";
import type { HostFacts } from "./facts.ts";
import { REASONS, SAYS_NOTHING } from "./reasons.ts";

/** A state that a host can be in, in order. See lib/domains/README.md#domain-verification. */
export const HOST_STATES = [
  "pending_dns",
  "verified",
  "certificate_pending",
  "live",
  "needs_attention",
] as const;

/** A state of a host. */
export type HostState = (typeof HOST_STATES)[number];

export const ATTENTION_REASONS = [
  "validation_timed_out",
  "certificate_forbidden",
  "certificate_overdue",
  "certificate_failed",
  "dns_broken",
] as const;

/** The reason why a host needs attention. */
export type AttentionReason = (typeof ATTENTION_REASONS)[number];

/** Where a host is on its way to live. It is plain data, for a program to store. */
export interface HostStatus {
  readonly host: string;
  readonly state: HostState;
  /** The time at which the host entered this state. */
  readonly since: Instant;
  /** The time at which the host was added, its certificate was requested, or the present attempt began. */
  readonly startedAt: Instant;
  /** The time at which its records were first seen to be right. Missing while they are not, or no longer. */
  readonly verifiedAt?: Instant;
  /** Present only in the state `needs_attention`. */
  readonly attention?: AttentionReason;
}

/** The time that a certificate may take after verification before the host needs attention. */
export const CERTIFICATE_TIMEOUT_MS = 30 * MINUTE_MS;

/** The time that a certificate authority (ACM) has to validate a host. Then a new certificate must be requested. */
export const VALIDATION_TIMEOUT_MS = 72 * 60 * MINUTE_MS;

/** The status of a host that was just added, or that is tried anew. */
export function addHost(host: string, at: Instant): HostStatus {
  return { host, state: "pending_dns", since: at, startedAt: at };
}

/**
 * The status at an instant. Time alone makes a host need attention: if its certificate is overdue 30 minutes after
 * verification, or if it is not verified 72 hours after the attempt began, however often its records changed before.
 */
export function statusAt(status: HostStatus, at: Instant): HostStatus {
  const { state, since, startedAt, verifiedAt } = status;
  if (state === "live" || state === "needs_attention") return status;
  const [due, attention] =
    verifiedAt === undefined
      ? [startedAt + VALIDATION_TIMEOUT_MS, "validation_timed_out" as const]
      : [verifiedAt + CERTIFICATE_TIMEOUT_MS, "certificate_overdue" as const];
  if (at < due) return status;
  return { ...status, state: "needs_attention", since: Math.max(due, since), attention };
}

/**
 * The status of a host after new facts, which outweigh earlier ones, for a platform that certifies verified hosts. Pure.
 */
export function nextStatus(before: HostStatus, facts: HostFacts, at: Instant): HostStatus {
  const due = statusAt(before, at);
  const status = isResolved(due, facts) ? addHost(due.host, at) : due;
  const isRight = facts.dns === "ok";
  const verifiedAt = isWrong(facts) ? undefined : (status.verifiedAt ?? (isRight ? at : undefined));
  const [state, attention] = judge(status, facts, verifiedAt !== undefined);
  const { host, startedAt } = status;
  const next = {
    ...{ host, state, since: state === status.state ? status.since : at, startedAt },
    ...(verifiedAt === undefined ? {} : { verifiedAt }),
    ...(attention === undefined ? {} : { attention }),
  };
  return statusAt(next, at);
}

function judge(
  { state, attention }: HostStatus,
  facts: HostFacts,
  isVerified: boolean,
): readonly [HostState, (AttentionReason | undefined)?] {
  const { dns, certificate, served, authority } = facts;
  // A certificate makes nothing live whose records are wrong. It may come late.
  if (dns === "ok" && served?.outcome === "valid") return ["live"];
  if (authority === "issued" && isVerified && served?.outcome !== "invalid") return ["live"];
  if (state === "needs_attention") return [state, attention];
  if (authority === "rejected") return ["needs_attention", "certificate_failed"];
  if (authority === "timed_out") return ["needs_attention", "validation_timed_out"];
  if (isWrong(facts)) return state === "live" ? ["needs_attention", "dns_broken"] : ["pending_dns"];
  // What says nothing changes nothing. Some authorities validate by a record of their own, before the host has its record.
  if (state === "live")
    return dns === "ok" && served?.outcome === "invalid"
      ? ["needs_attention", "certificate_failed"]
      : [state];
  if (dns !== "ok") return [authority === "requested" && isValidated(facts) ? "certificate_pending" : state];
  // The certificate of a live host works until it expires: only its renewal is forbidden.
  if (certificate === "forbidden") return ["needs_attention", "certificate_forbidden"];
  const isRequested = certificate === "allowed" || state === "certificate_pending";
  return [isRequested ? "certificate_pending" : "verified"];
}

/** True if the records lead elsewhere, or nowhere. */
export function isWrong({ dns }: Pick<HostFacts, "dns">): boolean {
  return dns !== undefined && dns !== "ok" && !SAYS_NOTHING.has(dns);
}

/** True if the authority finds the record by which it validates the host. A lookup that fails says nothing. */
function isValidated({ reasons }: HostFacts): boolean {
  return (
    reasons?.every(({ code }) => code === "target_unknown" || REASONS[code].aspect === "certificate") ?? false
  );
}

/** True if the cause of a host's need for attention is gone, so that it is tried anew without a request. */
function isResolved({ attention }: HostStatus, { dns, certificate }: HostFacts): boolean {
  if (attention === "certificate_forbidden") return dns === "ok" && certificate === "allowed";
  return attention === "dns_broken" && dns === "ok";
}
