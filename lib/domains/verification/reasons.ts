import { RECORD_TTL } from "../records.ts";
import { locateInZone, type ZoneMatch } from "../zone.ts";
import { type CaaLookup, type CertificateAuthority, caaText } from "./caa.ts";
import type { DnsFailure } from "./resolver.ts";

/** What each reason says of the two axes; of several on one axis, the first in this table is its state. */
export const REASONS = {
  zone_not_delegated: { axis: "dns", state: "not_delegated", title: "The zone is not delegated." },
  zone_lame: { axis: "dns", state: "lame", title: "The zone's name servers fail to answer for it." },
  cname_loop: { axis: "dns", state: "loop", title: "The CNAME records lead round in a circle." },
  address_in_the_way: {
    axis: "dns",
    state: "conflict",
    title: "Address records stand where the CNAME belongs.",
  },
  stray_address: { axis: "dns", state: "conflict", title: "There are addresses beside the platform's." },
  proxied: { axis: "dns", state: "proxied", title: "The record is proxied, so what it points to is hidden." },
  wrong_target: { axis: "dns", state: "wrong_target", title: "The record points to the wrong place." },
  record_missing: { axis: "dns", state: "missing", title: "The record is missing." },
  target_missing: {
    axis: "dns",
    state: "unknown",
    title: "The platform host has no address to compare with.",
  },
  dns_silent: { axis: "dns", state: "unknown", title: "DNS did not answer, so nothing is known." },
  caa_forbids: { axis: "certificate", state: "forbidden", title: "CAA records forbid the certificate." },
  caa_unknown_critical: {
    axis: "certificate",
    state: "forbidden",
    title: "A critical CAA record that authorities do not know forbids every certificate.",
  },
  caa_silent: {
    axis: "certificate",
    state: "unknown",
    title: "DNS did not answer for CAA records, so authorities may refuse.",
  },
} as const satisfies Record<string, { axis: "dns" | "certificate"; state: string; title: string }>;

/** A code that a reason can carry. */
export type ReasonCode = keyof typeof REASONS;

/** The states of one axis that reasons can lead to. */
export type AxisState<A extends "dns" | "certificate"> = Extract<
  (typeof REASONS)[ReasonCode],
  { readonly axis: A }
>["state"];

/** One thing that keeps a host from being verified: what was found, what is expected, and how to mend it. */
export interface Reason {
  readonly code: ReasonCode;
  /** The host that was checked. */
  readonly host: string;
  /** The very name whose records are meant: the host, an ancestor of it, or where a CNAME leads. */
  readonly name: string;
  readonly found: string;
  readonly expected: string;
  readonly fix: string;
}

/** What a reason is written from. */
export interface Checked extends ZoneMatch {
  readonly host: string;
  readonly target: string;
  readonly authority: CertificateAuthority;
}

/** The record that a host has to have, in words. */
export function expectedRecord({ apex, target }: Checked): string {
  return apex ? `ALIAS, ANAME or flattened CNAME ${target}` : `CNAME ${target}`;
}

/** The sentence that sets the record, at the provider of the zone. */
export function setRecord(checked: Checked): string {
  const { zone, label, target, apex } = checked;
  const type = apex ? "an ALIAS or ANAME record (or a CNAME that the provider flattens)" : "a CNAME record";
  return `At the DNS provider of ${zone}, add ${type}: name ${label}, value ${target}, TTL ${RECORD_TTL}.`;
}

/** Why a question has no answer, in words. */
export const DNS_FAILURES = {
  servfail: "SERVFAIL",
  timeout: "no answer in time",
  refused: "REFUSED",
  unreachable: "no DNS server at the resolver's address",
  malformed: "an answer that cannot be read",
} as const satisfies Record<DnsFailure, string>;

/** The reason in a set of CAA records that forbids the authority, naming the name that has to change. */
export function caaReason(
  checked: Checked,
  set: Extract<CaaLookup, { outcome: "set" }>,
  because: "not_listed" | "unknown_critical",
): Reason {
  const { host, target, authority } = checked;
  const allow = `CAA 0 issue "${authority.issuers[0]}"`;
  const { owner, asked } = set;
  return {
    code: because === "not_listed" ? "caa_forbids" : "caa_unknown_critical",
    host,
    name: owner,
    found: `${owner} ${set.records.map(caaText).join(", ")}`,
    expected:
      because === "not_listed"
        ? `${owner} ${allow}`
        : "no critical CAA record but issue, issuewild and iodef",
    fix: mendCaa(),
  };

  function mendCaa(): string {
    if (owner === target)
      return `These are the platform's own records. Ask its operator to add ${allow} at ${owner}.`;
    if (owner !== asked && asked === host) {
      return `${host} inherits them through its CNAME. Point it to ${target} instead, and they no longer count.`;
    }
    const where = owner === asked ? owner : `${owner}, where the CNAME of ${asked} leads`;
    const provider = `At the DNS provider of ${locateInZone(owner).zone}`;
    return because === "not_listed"
      ? `${provider}, add the record ${allow} at ${where}; the records there can stay.`
      : `${provider}, remove the critical record at ${where}, or set its flags to 0.`;
  }
}
