import type { AttentionReason, DomainEvent } from "../lifecycle.ts";
import { normalizeName } from "../normalize-name.ts";
import { locateInZone } from "../zone.ts";
import { AUTHORITIES, type CertificateAuthority } from "./caa.ts";
import { checkCaa } from "./check-caa.ts";
import { checkRecords, type RecordCheck } from "./check-records.ts";
import { type AspectState, type CheckedHost, explainUnknownTarget, REASONS, type Reason } from "./reasons.ts";
import type { DnsResolver } from "./resolver.ts";

/** Whether the host's records point to the platform. */
export type DnsState = "ok" | AspectState<"dns">;

/** Whether the authority may issue a certificate for the host. */
export type CertificateState = "allowed" | AspectState<"certificate">;

/**
 * Both aspects as one state of the lifecycle: `verified` if both are right, `pending_dns` while the records are wrong,
 * `needs_attention` if only the certificate is forbidden. `unknown` if a lookup failed, which changes no state.
 */
export type VerificationState = "verified" | "pending_dns" | "needs_attention" | "unknown";

/** The result of verifying a host against live DNS. */
export interface Verification {
  readonly host: string;
  readonly state: VerificationState;
  /** Present only in the state `needs_attention`. */
  readonly attention?: AttentionReason;
  readonly dns: DnsState;
  readonly certificate: CertificateState;
  /** What is set at the DNS provider. Present only if it points to the target. */
  readonly found?: string;
  /** Everything that is wrong, in both aspects. */
  readonly reasons: readonly Reason[];
}

/** What to verify a host against. */
export interface VerificationOptions {
  readonly resolver: DnsResolver;
  /** The platform host that the record must point to. Omit it if the platform has not assigned one yet. */
  readonly target?: string;
  /** @default Amazon's */
  readonly authority?: CertificateAuthority;
  /** Zones that are known to exist, if they differ from the public suffix list. */
  readonly knownZones?: readonly string[];
}

/**
 * Queries live DNS for a host and returns its state with every reason why it is not verified. See
 * lib/README.md#domain-verification.
 */
export async function verifyHost(
  host: string,
  { resolver, target, authority = AUTHORITIES.amazon, knownZones }: VerificationOptions,
): Promise<Verification> {
  const zone = locateInZone(host, knownZones);
  const checked = { ...zone, host, target: normalizeName(target ?? "the platform host"), authority };
  const [records, caa] = await Promise.all([
    target === undefined ? withoutTarget(checked) : checkRecords(resolver, checked),
    checkCaa(resolver, checked),
  ]);
  const reasons = [...records.reasons, ...caa];
  const dns = aspectState<"dns">("dns", reasons) ?? "ok";
  const certificate = aspectState<"certificate">("certificate", reasons) ?? "allowed";
  const state = stateOf(dns, certificate);
  return {
    host,
    state,
    ...(state === "needs_attention" ? { attention: "certificate_forbidden" } : {}),
    dns,
    certificate,
    ...(records.found === undefined || dns !== "ok" ? {} : { found: records.found }),
    reasons,
  };
}

/**
 * The lifecycle event that a verification amounts to. A lame zone is reported, but it may be an outage, so it does
 * not take a domain down.
 */
export function eventOf({ dns, certificate }: Pick<Verification, "dns" | "certificate">): DomainEvent {
  if (dns === "ok") return certificate === "forbidden" ? "certificate_forbidden" : "dns_verified";
  return dns === "unknown" || dns === "lame" || dns === "target_unknown" ? "dns_unknown" : "dns_failed";
}

function withoutTarget(checked: CheckedHost): RecordCheck {
  return { reasons: [explainUnknownTarget(checked)] };
}

function stateOf(dns: DnsState, certificate: CertificateState): VerificationState {
  if (dns === "unknown") return "unknown";
  if (dns !== "ok") return "pending_dns";
  if (certificate === "allowed") return "verified";
  return certificate === "unknown" ? "unknown" : "needs_attention";
}

function aspectState<A extends "dns" | "certificate">(
  aspect: A,
  reasons: readonly Reason[],
): AspectState<A> | undefined {
  const codes = new Set<string>(reasons.map(({ code }) => code));
  const worst = Object.entries(REASONS).find(([code, rule]) => rule.aspect === aspect && codes.has(code));
  return worst?.[1].state as AspectState<A> | undefined;
}
