const dns = <State extends string>(state: State, title: string) =>
  ({ aspect: "dns", level: "blocks", state, title }) as const;
const unsure = <State extends string>(state: State, title: string) =>
  ({ aspect: "dns", level: "says_nothing", state, title }) as const;
const certificate = <State extends string>(state: State, title: string) =>
  ({ aspect: "certificate", level: state === "unknown" ? "says_nothing" : "blocks", state, title }) as const;

/**
 * Every reason why a host is not verified. Verification has three aspects: `dns` (the records of the host), `certificate`
 * (CAA records) and `validation` (the record that renewals need). A reason sets the state of its aspect. If an aspect has
 * several reasons, the first one in this table decides. What `says_nothing` changes no state: a lame zone may be an outage,
 * and where name servers disagree, some visitors reach the platform. The fix is with the finding. See lib/domains/README.md#domain-verification.
 */
export const REASONS = {
  zone_not_delegated: dns("not_delegated", "The zone is not delegated."),
  zone_lame: unsure("lame", "The zone's name servers fail to answer for it."),
  cname_loop: dns("loop", "The CNAME records form a loop, or a chain that is too long."),
  blocking_address: dns("conflict", "Other records block the CNAME."),
  stray_address: dns("conflict", "There are address records besides the platform's."),
  proxied: dns("proxied", "The record is proxied, which hides its target."),
  wrong_target: dns("wrong_target", "The record points to the wrong target."),
  answer_outdated: unsure("outdated", "The record is set, but your resolver remembers an old answer."),
  record_missing: dns("missing", "The record is missing."),
  target_missing: dns("target_missing", "The platform host has no address."),
  name_servers_disagree: unsure("disagreement", "The name servers of the zone have different records."),
  target_unknown: unsure("target_unknown", "The target is not known yet."),
  target_varies: unsure("unknown", "The target has more addresses than its answers show."),
  dns_unanswered: unsure("unknown", "The DNS lookup failed."),
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
    level: "blocks",
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

/** The states of a host's records that change no state of the host. */
export const SAYS_NOTHING: ReadonlySet<string> = new Set(
  Object.values(REASONS).flatMap(({ aspect, level, state }) =>
    aspect === "dns" && level === "says_nothing" ? [state] : [],
  ),
);

/** One reason why a host is not verified, with the finding, the expectation, and the fix. */
export interface Reason {
  readonly code: ReasonCode;
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
