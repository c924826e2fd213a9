const dns = <State extends string>(state: State, title: string) => ({ aspect: "dns", state, title }) as const;
const certificate = <State extends string>(state: State, title: string) =>
  ({ aspect: "certificate", state, title }) as const;

/**
 * Every reason why a host is not verified. Verification has three aspects: `dns` (the records of the host), `certificate`
 * (CAA records) and `validation` (the record that renewals need). A reason sets the state of its aspect. If an aspect has
 * several reasons, the first one in this table decides. See lib/domains/README.md#domain-verification.
 */
export const REASONS = {
  zone_not_delegated: dns("not_delegated", "The zone is not delegated."),
  zone_lame: dns("lame", "The zone's name servers fail to answer for it."),
  cname_loop: dns("loop", "The CNAME records form a loop, or a chain that is too long."),
  blocking_address: dns("conflict", "Address records block the CNAME."),
  stray_address: dns("conflict", "There are address records besides the platform's."),
  proxied: dns("proxied", "The record is proxied, which hides its target."),
  wrong_target: dns("wrong_target", "The record points to the wrong target."),
  answer_outdated: dns("outdated", "The record is set, but your resolver remembers an old answer."),
  record_missing: dns("missing", "The record is missing."),
  target_missing: dns("target_missing", "The platform host has no address."),
  name_servers_disagree: dns("disagreement", "The name servers of the zone have different records."),
  target_unknown: dns("target_unknown", "The target is not known yet."),
  target_varies: dns("unknown", "The target has more addresses than its answers show."),
  dns_unanswered: dns("unknown", "The DNS lookup failed."),
  caa_forbids: certificate("forbidden", "CAA records forbid the certificate."),
  caa_unknown_critical: certificate(
    "forbidden",
    "A critical CAA record with a tag that the authority does not know forbids its certificates.",
  ),
  caa_method: certificate(
    "forbidden",
    "CAA records permit no validation method that the server in front has.",
  ),
  validation_record: {
    aspect: "validation",
    state: "missing",
    title: "The validation record of the certificate is not set, or not right.",
  },
  caa_unanswered: certificate(
    "unknown",
    "The lookup of CAA records failed, so the authority may not issue a certificate.",
  ),
} as const;

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

/** Reasons that imply a failed lookup of the host's CAA records, too. */
const IMPLY_CAA_FAILURE: ReadonlySet<ReasonCode> = new Set(["dns_unanswered", "zone_lame", "cname_loop"]);

export function withoutImplied(reasons: readonly Reason[]): readonly Reason[] {
  const implied = reasons.some(({ code }) => IMPLY_CAA_FAILURE.has(code));
  return implied ? reasons.filter(({ code }) => code !== "caa_unanswered") : reasons;
}
