import type { ZoneMatch } from "../zone.ts";
import type { CertificateAuthority } from "./caa.ts";
import type { ApexRecord } from "./providers.ts";
import type { DnsFailure } from "./resolver.ts";

/**
 * Every reason why a host is not verified. Verification has two aspects: `dns` (the records of the host) and
 * `certificate` (CAA records). A reason sets the state of its aspect. If an aspect has several reasons, the first one
 * in this table decides. See lib/domains/README.md#domain-verification.
 */
export const REASONS = {
  zone_not_delegated: { aspect: "dns", state: "not_delegated", title: "The zone is not delegated." },
  zone_lame: { aspect: "dns", state: "lame", title: "The zone's name servers fail to answer for it." },
  cname_loop: {
    aspect: "dns",
    state: "loop",
    title: "The CNAME records form a loop, or a chain that is too long.",
  },
  blocking_address: { aspect: "dns", state: "conflict", title: "Address records block the CNAME." },
  stray_address: {
    aspect: "dns",
    state: "conflict",
    title: "There are address records besides the platform's.",
  },
  proxied: { aspect: "dns", state: "proxied", title: "The record is proxied, which hides its target." },
  wrong_target: { aspect: "dns", state: "wrong_target", title: "The record points to the wrong target." },
  answer_outdated: {
    aspect: "dns",
    state: "outdated",
    title: "The record is set, but your resolver remembers an old answer.",
  },
  record_missing: { aspect: "dns", state: "missing", title: "The record is missing." },
  target_missing: { aspect: "dns", state: "target_missing", title: "The platform host has no address." },
  target_unknown: { aspect: "dns", state: "target_unknown", title: "The target is not known yet." },
  dns_unanswered: { aspect: "dns", state: "unknown", title: "The DNS lookup failed." },
  caa_forbids: { aspect: "certificate", state: "forbidden", title: "CAA records forbid the certificate." },
  caa_unknown_critical: {
    aspect: "certificate",
    state: "forbidden",
    title: "A critical CAA record with an unknown tag forbids every certificate.",
  },
  caa_unanswered: {
    aspect: "certificate",
    state: "unknown",
    title: "The lookup of CAA records failed, so the authority may not issue a certificate.",
  },
} as const satisfies Record<string, { aspect: "dns" | "certificate"; state: string; title: string }>;

/** The code of a reason. */
export type ReasonCode = keyof typeof REASONS;

/** The states of one aspect that reasons can set. */
export type AspectState<A extends "dns" | "certificate"> = Extract<
  (typeof REASONS)[ReasonCode],
  { readonly aspect: A }
>["state"];

/** One reason why a host is not verified, with the finding, the expectation, and the fix. */
export interface Reason {
  readonly code: ReasonCode;
  /** The host that was checked. */
  readonly host: string;
  /** The name whose records are the problem: the host, its ancestor, or the target of a CNAME. */
  readonly name: string;
  readonly found: string;
  readonly expected: string;
  readonly fix: string;
}

/** The host that a check verifies, with everything that the check depends on. */
export interface HostCheckInput extends ZoneMatch {
  readonly host: string;
  /** If it is not known, a description that stands for it in the reasons. */
  readonly target: string;
  /** The authorities that may request the certificate. One that may issue it suffices. */
  readonly authorities: readonly CertificateAuthority[];
  /** The record of the host's DNS provider for an apex, if the provider is known. */
  readonly apexRecord?: ApexRecord | undefined;
}

/** The result of a check. */
export interface HostCheckResult {
  /** Every reason why the host is not verified. */
  readonly reasons: readonly Reason[];
  /** Facts that change no state. */
  readonly notes?: readonly string[];
  /** The record that is set. Present only if it points to the platform. */
  readonly found?: string;
}

/** The reasons why a lookup failed, in words. */
export const DNS_FAILURES = {
  servfail: "SERVFAIL",
  timeout: "no response in time",
  refused: "REFUSED",
  unreachable: "no DNS server at the resolver's address",
  malformed: "malformed response",
  not_authoritative: "not authoritative for the zone",
} as const satisfies Record<DnsFailure, string>;
