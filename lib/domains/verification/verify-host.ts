import { normalizeName } from "../hostname.ts";
import type { DomainEvent } from "../lifecycle.ts";
import { locateInZone } from "../zone.ts";
import { AUTHORITIES, type CertificateAuthority, findCaa, judgeCaa } from "./caa.ts";
import { checkRecords } from "./check-records.ts";
import { type AxisState, type Checked, caaReason, DNS_FAILURES, REASONS, type Reason } from "./reasons.ts";
import type { DnsResolver } from "./resolver.ts";

/** Where the host's records lead. */
export type DnsState = "ok" | AxisState<"dns">;

/** Whether the authority may issue a certificate for the host. */
export type CertificateState = "allowed" | AxisState<"certificate">;

/**
 * The two axes as one state: `verified` where both are right; `pending_dns` while the records are wrong,
 * `needs_attention` where only the certificate is forbidden, `unknown` where DNS did not say.
 */
export type VerificationState = "verified" | "pending_dns" | "needs_attention" | "unknown";

/** What DNS says about a host right now (decision 21). */
export interface Verification {
  readonly host: string;
  readonly state: VerificationState;
  readonly dns: DnsState;
  readonly certificate: CertificateState;
  /** Everything that is wrong, on both axes. */
  readonly reasons: readonly Reason[];
}

/** What to check a host against. */
export interface VerificationOptions {
  readonly resolver: DnsResolver;
  /** The platform host, which the record has to point to. */
  readonly target: string;
  /** @default Amazon's */
  readonly authority?: CertificateAuthority;
  /** Zones known to exist, where the public suffix list does not tell. */
  readonly knownZones?: readonly string[];
}

/** Looks at real DNS and tells whether a host is verified, with every reason why not. */
export async function verifyHost(
  host: string,
  { resolver, target, authority = AUTHORITIES.amazon, knownZones }: VerificationOptions,
): Promise<Verification> {
  const checked = { ...locateInZone(host, knownZones), host, target: normalizeName(target), authority };
  const [records, caa] = await Promise.all([checkRecords(resolver, checked), checkCaa(resolver, checked)]);
  const reasons = [...records, ...caa];
  const dns = axisState<"dns">("dns", reasons) ?? "ok";
  const certificate = axisState<"certificate">("certificate", reasons) ?? "allowed";
  return { host, state: stateOf(dns, certificate), dns, certificate, reasons };
}

/**
 * What a verification means to the life of a domain. A zone that fails to answer is told to the reader, but it
 * may be an outage as well, so it takes no domain down.
 */
export function eventOf({ dns }: Pick<Verification, "dns">): DomainEvent {
  if (dns === "ok") return "dns_verified";
  return dns === "unknown" || dns === "lame" ? "dns_unknown" : "dns_failed";
}

function stateOf(dns: DnsState, certificate: CertificateState): VerificationState {
  if (dns === "unknown") return "unknown";
  if (dns !== "ok") return "pending_dns";
  if (certificate === "allowed") return "verified";
  return certificate === "unknown" ? "unknown" : "needs_attention";
}

async function checkCaa(resolver: DnsResolver, checked: Checked): Promise<readonly Reason[]> {
  const lookup = await findCaa(resolver, checked.host, checked.zone);
  if (lookup.outcome === "none") return [];
  if (lookup.outcome === "silent") {
    const { name, why } = lookup;
    return [
      {
        code: "caa_silent",
        host: checked.host,
        name,
        found: `${name} CAA: ${DNS_FAILURES[why]}`,
        expected: "an answer, be it that there are no CAA records",
        fix: `Try again. If it stays so, check the name servers of ${locateInZone(name).zone}.`,
      },
    ];
  }
  const verdict = judgeCaa(lookup.records, checked.authority);
  return verdict.permits ? [] : [caaReason(checked, lookup, verdict.because)];
}

function axisState<A extends "dns" | "certificate">(
  axis: A,
  reasons: readonly Reason[],
): AxisState<A> | undefined {
  const codes = new Set<string>(reasons.map(({ code }) => code));
  const worst = Object.entries(REASONS).find(([code, rule]) => rule.axis === axis && codes.has(code));
  return worst?.[1].state as AxisState<A> | undefined;
}
