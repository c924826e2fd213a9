import { parseHostname } from "../hostname.ts";
import { isWithin, locateInZone } from "../zone.ts";
import { DNS_FAILURES, type HostCheckInput, type HostCheckResult, type Reason } from "./reasons.ts";
import {
  answersOnlyOwnZones,
  type CaaRecord,
  type DnsFailure,
  type DnsResolver,
  followCnames,
  normalizeName,
  recordsIn,
} from "./resolver.ts";

/** A certificate authority, with every issuer name that identifies it in CAA records. */
export interface CertificateAuthority {
  readonly name: string;
  readonly issuers: readonly [string, ...string[]];
}

const SECTIGO_ISSUERS = ["sectigo.com", "usertrust.com", "trust-provider.com", "comodoca.com"] as const;

/** The known certificate authorities, with the issuer names that their own documents list. */
export const AUTHORITIES = {
  amazon: { name: "Amazon", issuers: ["amazon.com", "amazontrust.com", "awstrust.com", "amazonaws.com"] },
  letsencrypt: { name: "Let's Encrypt", issuers: ["letsencrypt.org"] },
  google: { name: "Google Trust Services", issuers: ["pki.goog"] },
  // ZeroSSL's certificates are issued by Sectigo.
  zerossl: { name: "ZeroSSL", issuers: SECTIGO_ISSUERS },
  sectigo: { name: "Sectigo", issuers: SECTIGO_ISSUERS },
  digicert: {
    name: "DigiCert",
    issuers: ["digicert.com", "symantec.com", "thawte.com", "geotrust.com", "rapidssl.com"],
  },
} as const satisfies Record<string, CertificateAuthority>;

/** The name of a known authority, as the command line takes it. */
export type AuthorityName = keyof typeof AUTHORITIES;

/** Finds a known authority by its name, or one by its issuer domain. Undefined if the name is neither. */
export function findAuthority(name: string): CertificateAuthority | undefined {
  const known: readonly [string, CertificateAuthority][] = Object.entries(AUTHORITIES);
  const found = known.find(
    ([key, { issuers }]) => key === name.toLowerCase() || issuers[0] === normalizeName(name),
  );
  if (found !== undefined) return found[1];
  const parsed = parseHostname(name);
  return parsed.ok ? { name: parsed.hostname, issuers: [parsed.hostname] } : undefined;
}

/** The reason why a set of CAA records does not permit an authority. */
type CaaErrorCode = "not_listed" | "unknown_critical";

/** The verdict of a set of CAA records on an authority: permitted, with the limits (RFC 8657), or not. */
type CaaVerdict =
  | {
      readonly ok: true;
      /** One entry per record that permits it, such as `accounturi=https://…`. Empty if one permits it without limits. */
      readonly limits: readonly string[];
    }
  | { readonly ok: false; readonly code: CaaErrorCode };

/**
 * Evaluates the relevant set of CAA records (RFC 8659, 4). `issue` governs plain names; `issuewild`, if present,
 * governs wildcards instead. A set with neither restricts nothing. A critical record with an unknown tag forbids
 * everything. An empty or malformed value names no issuer.
 */
export function evaluateCaa(
  records: readonly CaaRecord[],
  authority: CertificateAuthority,
  { wildcard = false }: { readonly wildcard?: boolean } = {},
): CaaVerdict {
  const tagged = (tag: string) => records.filter((record) => record.tag.toLowerCase() === tag);
  if (records.some(({ flags, tag }) => (flags & CRITICAL) !== 0 && !KNOWN_TAGS.has(tag.toLowerCase()))) {
    return { ok: false, code: "unknown_critical" };
  }
  const forWildcards = wildcard ? tagged("issuewild") : [];
  const governing = forWildcards.length > 0 ? forWildcards : tagged("issue");
  if (governing.length === 0) return { ok: true, limits: [] };
  const limits = governing.flatMap(({ value }) => {
    const { issuer, limits } = parseIssue(value);
    return authority.issuers.includes(issuer) ? [limits.join("; ")] : [];
  });
  if (limits.length === 0) return { ok: false, code: "not_listed" };
  return { ok: true, limits: limits.includes("") ? [] : limits };
}

const CRITICAL = 128;
const KNOWN_TAGS = new Set(["issue", "issuewild", "iodef"]);

/** The parameters that authorities have to respect (RFC 8657). */
const LIMITING_PARAMETERS = new Set(["accounturi", "validationmethods"]);

/** Parses a value such as `amazon.com; account=1` (RFC 8659, 4.2). The issuer is empty if the parameters are malformed. */
function parseIssue(value: string) {
  const [issuer = "", ...parameters] = value.split(";").map((part) => part.replace(/^[ \t]+|[ \t]+$/g, ""));
  const isValid = parameters.every(
    (parameter, index) =>
      /^[a-z0-9]+(-+[a-z0-9]+)*[ \t]*=[ \t]*[\x21-\x3a\x3c-\x7e]*$/i.test(parameter) ||
      // A semicolon may end the value.
      (parameter === "" && index === parameters.length - 1),
  );
  const limits = parameters
    .map((parameter) => parameter.replace(/[ \t]*=[ \t]*/, "="))
    .filter((parameter) => LIMITING_PARAMETERS.has(parameter.split("=", 1)[0]?.toLowerCase() ?? ""));
  return { issuer: isValid ? normalizeName(issuer) : "", limits };
}

/** The relevant set of CAA records of a host, or the reason why it could not be looked up. */
type CaaLookup =
  | { readonly outcome: "none" }
  | {
      readonly outcome: "found";
      /** The name that has the records. */
      readonly owner: string;
      /** The host, or its ancestor, that was queried; differs from the owner if it is a CNAME. */
      readonly queried: string;
      readonly records: readonly CaaRecord[];
    }
  | { readonly outcome: "failed"; readonly name: string; readonly reason: DnsFailure };

/**
 * Finds the relevant set of CAA records of a host (RFC 8659, 3): its own, otherwise the nearest ancestor's; sets are
 * never merged. A CNAME is followed at every step, but the ancestors of its target do not count.
 */
async function findCaa(resolver: DnsResolver, host: string, zone: string): Promise<CaaLookup> {
  const labels = host.split(".");
  const names = labels.map((_, index) => labels.slice(index).join("."));
  const lookups = await Promise.all(names.map((name) => lookUpCaa(resolver, name, zone)));
  // A name whose lookup failed may have a set, so the sets of its ancestors cannot be relied on.
  return lookups.find(({ outcome }) => outcome !== "none") ?? { outcome: "none" };
}

async function lookUpCaa(resolver: DnsResolver, queried: string, zone: string): Promise<CaaLookup> {
  const chain = await followCnames(resolver, queried);
  if (chain.end === "nxdomain") return { outcome: "none" };
  if (chain.end === "loop") return { outcome: "failed", name: queried, reason: "servfail" };
  const owner = chain.last;
  const answer = await resolver(owner, "CAA");
  if (answer.outcome === "failed") {
    // The zone's own name server refuses queries for other names, such as the parent zone.
    const refused = answer.reason === "refused" && !isWithin(owner, zone);
    if (refused && (await answersOnlyOwnZones(resolver, zone))) return { outcome: "none" };
    return { outcome: "failed", name: owner, reason: answer.reason };
  }
  const records = recordsIn<"CAA">(answer);
  return records.length === 0 ? { outcome: "none" } : { outcome: "found", owner, queried, records };
}

/** Formats a CAA record as in a zone file. */
function formatCaa({ flags, tag, value }: CaaRecord): string {
  return `CAA ${flags} ${tag} ${JSON.stringify(value)}`;
}

/** Queries whether CAA records permit one of the authorities. The result has the reason if that is not known. */
export async function checkCaa(resolver: DnsResolver, input: HostCheckInput): Promise<HostCheckResult> {
  const { host, zone, authorities } = input;
  const lookup = await findCaa(resolver, host, zone);
  if (lookup.outcome === "none") return { reasons: [] };
  if (lookup.outcome === "failed") {
    const { name, reason } = lookup;
    const unanswered: Reason = {
      code: "caa_unanswered",
      host,
      name,
      found: `${name} CAA: ${DNS_FAILURES[reason]}`,
      expected: "an answer, even if there are no CAA records",
      fix: `Retry. If it keeps failing, check the name servers of ${locateInZone(name).zone}.`,
    };
    return { reasons: [unanswered] };
  }
  const { owner, records } = lookup;
  const verdicts = authorities.map((authority) => ({
    ...authority,
    verdict: evaluateCaa(records, authority),
  }));
  const [first] = verdicts;
  if (first?.verdict.ok === false && verdicts.every(({ verdict }) => !verdict.ok)) {
    return { reasons: [explainCaa(input, lookup, first.verdict.code)] };
  }
  const notes = verdicts.flatMap(({ name, verdict }) => {
    if (!verdict.ok) return [`The CAA records at ${owner} permit no certificate of ${name}.`];
    return verdict.limits.length === 0
      ? []
      : [`The CAA records at ${owner} limit ${name}: ${verdict.limits.join(", or ")}.`];
  });
  return { reasons: [], notes };
}

/** Explains why a set of CAA records forbids the authority, and which record to change. */
function explainCaa(
  input: HostCheckInput,
  set: Extract<CaaLookup, { outcome: "found" }>,
  code: CaaErrorCode,
): Reason {
  const { owner, records } = set;
  const common = {
    host: input.host,
    name: owner,
    found: `${owner} ${records.map(formatCaa).join(", ")}`,
    fix: describeCaaFix(input, set, code),
  };
  if (code === "not_listed") {
    return { ...common, code: "caa_forbids", expected: `${owner} ${allowRecord(input)}` };
  }
  const expected = "no critical CAA record except issue, issuewild and iodef";
  return { ...common, code: "caa_unknown_critical", expected };
}

function describeCaaFix(
  input: HostCheckInput,
  { owner, queried }: Extract<CaaLookup, { outcome: "found" }>,
  code: CaaErrorCode,
): string {
  const { host, target } = input;
  const allow = allowRecord(input);
  if (owner === target) {
    const change = code === "not_listed" ? `add ${allow}` : "remove the critical record";
    return `These records belong to the platform. Ask its operator to ${change} at ${owner}.`;
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

function allowRecord({ authorities: [authority] }: HostCheckInput): string {
  return `CAA 0 issue "${authority?.issuers[0]}"`;
}
