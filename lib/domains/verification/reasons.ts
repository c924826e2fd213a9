import { RECORD_TTL_SECONDS } from "../records.ts";
import { locateInZone, type ZoneMatch } from "../zone.ts";
import { type ApexRecord, formatApexRecord } from "./apex-record.ts";
import { type CaaErrorCode, type CaaLookup, type CertificateAuthority, formatCaa } from "./caa.ts";
import type { DnsFailure } from "./resolver.ts";

/**
 * Every reason why a host is not verified. Verification has two aspects: `dns` (the records of the host) and
 * `certificate` (CAA records). A reason sets the state of its aspect. If an aspect has several reasons, the first one
 * in this table decides. See lib/README.md#domain-verification.
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

/** One reason why a host is not verified: what was found, what is expected, and how to fix it. */
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

/** A host under verification. */
export interface CheckedHost extends ZoneMatch {
  readonly host: string;
  /** If it is not known, a text that stands for it in the reasons. */
  readonly target: string;
  readonly authority: CertificateAuthority;
  /** The record of the host's DNS provider for an apex, if the provider is known. */
  readonly apexRecord?: ApexRecord | undefined;
}

/** Describes the record that the host needs. */
export function describeExpectedRecord({ apex, apexRecord, target }: CheckedHost): string {
  if (!apex) return `CNAME ${target}`;
  const { type = "ALIAS, ANAME or flattened CNAME", provider = "" } = apexRecord ?? {};
  return `${type} ${target}${type === "CNAME" ? `, flattened by ${provider}` : ""}`;
}

/** Describes how to add the record that the host needs. */
export function describeRecordToAdd({ zone, label, target, apex, apexRecord }: CheckedHost): string {
  const type = apex ? describeApexRecord(apexRecord) : "a CNAME record";
  return `At the DNS provider of ${zone}, add ${type}: name ${label}, value ${target}, TTL ${RECORD_TTL_SECONDS}.`;
}

function describeApexRecord(record: ApexRecord | undefined): string {
  if (record === undefined) return "an ALIAS or ANAME record (or a CNAME that the provider flattens)";
  return record.type === "CNAME"
    ? `a CNAME record, which ${record.provider} flattens`
    : `an ${record.type} record`;
}

/** Describes the addresses at an apex that are the platform's, and the record that they come from. */
export function describeApexAddresses({ target, apexRecord }: CheckedHost, addresses: string): string {
  return `${addresses}, the addresses of ${target} (${formatApexRecord(apexRecord)})`;
}

/** Why a lookup failed, in words. */
export const DNS_FAILURES = {
  servfail: "SERVFAIL",
  timeout: "no response in time",
  refused: "REFUSED",
  unreachable: "no DNS server at the resolver's address",
  malformed: "malformed response",
} as const satisfies Record<DnsFailure, string>;

/** Explains that the platform has not assigned a target. The record can be set only afterwards. */
export function explainUnknownTarget(checked: CheckedHost): Reason {
  return {
    code: "target_unknown",
    host: checked.host,
    name: checked.host,
    found: "no target, because the certificate has not been issued",
    expected: describeExpectedRecord(checked),
    fix: "Set the certificate's validation record from the stack's outputs, wait until it has been issued, and deploy again.",
  };
}

/** Explains a lookup that failed. It says nothing about the domain, so the state is unknown. */
export function explainUnanswered(checked: CheckedHost, name: string, failure: DnsFailure): Reason {
  return {
    code: "dns_unanswered",
    host: checked.host,
    name,
    found: `${name}: ${DNS_FAILURES[failure]}`,
    expected: describeExpectedRecord(checked),
    fix: `Retry, or use another resolver. If it keeps failing, check the name servers of ${locateInZone(name).zone}.`,
  };
}

/** Explains why a set of CAA records forbids the authority, and which record to change. */
export function explainCaa(
  checked: CheckedHost,
  set: Extract<CaaLookup, { outcome: "found" }>,
  code: CaaErrorCode,
): Reason {
  const { owner, records } = set;
  const common = {
    host: checked.host,
    name: owner,
    found: `${owner} ${records.map(formatCaa).join(", ")}`,
    fix: describeCaaFix(checked, set, code),
  };
  if (code === "not_listed") {
    return { ...common, code: "caa_forbids", expected: `${owner} ${allowRecord(checked)}` };
  }
  const expected = "no critical CAA record except issue, issuewild and iodef";
  return { ...common, code: "caa_unknown_critical", expected };
}

function describeCaaFix(
  checked: CheckedHost,
  { owner, queried }: Extract<CaaLookup, { outcome: "found" }>,
  code: CaaErrorCode,
): string {
  const { host, target } = checked;
  const allow = allowRecord(checked);
  if (owner === target) {
    return `These records belong to the platform. Ask its operator to add ${allow} at ${owner}.`;
  }
  if (owner !== queried && queried === host) {
    return `${host} inherits these records through its CNAME. Point it to ${target} instead.`;
  }
  const where = owner === queried ? owner : `${owner}, the target of the CNAME at ${queried}`;
  const provider = `At the DNS provider of ${locateInZone(owner).zone}`;
  return code === "not_listed"
    ? `${provider}, add the record ${allow} at ${where}; keep the existing records.`
    : `${provider}, remove the critical record at ${where}, or set its flags to 0.`;
}

function allowRecord({ authority }: CheckedHost): string {
  return `CAA 0 issue "${authority.issuers[0]}"`;
}
