import { parseHostname } from "../hostname.ts";
import type { Reason, ReasonCode } from "../status/reasons.ts";
import { locateInZone } from "../zone.ts";
import { checkEach, type HostCheckInput, type HostCheckResult, isSameResult } from "./host-check.ts";
import {
  type CaaRecord,
  DNS_FAILURES,
  type DnsFailure,
  type DnsResolver,
  followCnames,
  normalizeName,
  recordsIn,
} from "./resolver.ts";

/** A certificate authority, with every issuer name that identifies it in CAA records, and how it reads them. */
export interface CertificateAuthority {
  readonly name: string;
  readonly issuers: readonly [string, ...string[]];
  /**
   * True if it compares issuers and names of parameters octet by octet and refuses a parameter that occurs twice, which
   * the RFCs leave open. @default not known: such a record permits, and a note says so
   */
  readonly isExact?: boolean;
  /** The tags that it knows besides those of RFC 8659. Any other one forbids if it is critical. @default none */
  readonly tags?: readonly string[];
  /** The bits of the flags that make a record critical. @default 128, as in RFC 8659 */
  readonly criticalBits?: number;
}

const SECTIGO_ISSUERS = ["sectigo.com", "usertrust.com", "trust-provider.com", "comodoca.com"] as const;

/** The known certificate authorities, as their own documents list them. */
export const AUTHORITIES = {
  // docs.aws.amazon.com/acm/latest/userguide/setup-caa.html
  amazon: { name: "Amazon", issuers: ["amazon.com", "amazontrust.com", "awstrust.com", "amazonaws.com"] },
  // github.com/letsencrypt/boulder, the functions of va/caa.go, tried at v0.20261110.0
  letsencrypt: {
    name: "Let's Encrypt",
    issuers: ["letsencrypt.org"],
    isExact: true,
    tags: ["issuemail", "issuevmc"],
    // Software that counted the bits from the other end has set 1 for what should be 128.
    criticalBits: 128 | 1,
  },
  // pki.goog/faq
  google: { name: "Google Trust Services", issuers: ["pki.goog"] },
  // ZeroSSL's certificates are issued by Sectigo: sectigo.com/knowledge-base, "CAA".
  zerossl: { name: "ZeroSSL", issuers: SECTIGO_ISSUERS },
  sectigo: { name: "Sectigo", issuers: SECTIGO_ISSUERS },
  // docs.digicert.com, "CAA resource record check"
  digicert: {
    name: "DigiCert",
    issuers: ["digicert.com", "symantec.com", "thawte.com", "geotrust.com", "rapidssl.com"],
  },
} as const satisfies Record<string, CertificateAuthority>;

/** What a server in front of one machine, such as Caddy, can do without an account at the DNS provider (RFC 8555, 8737). */
const MACHINE_METHODS = ["http-01", "tls-alpn-01"];

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

interface CaaCheckInput extends HostCheckInput {
  /** One that may issue the certificate suffices. */
  readonly authorities: readonly CertificateAuthority[];
}

type CaaErrorCode = Extract<ReasonCode, "caa_forbids" | "caa_unknown_critical" | "caa_method">;

/** The verdict of a set of CAA records on an authority: permitted, with the limits (RFC 8657), or not. */
type CaaVerdict =
  /** One entry per record that permits it, such as `accounturi=https://…`. Empty if one permits it without limits. */
  | { readonly ok: true; readonly limits: readonly string[] }
  | { readonly ok: false; readonly code: CaaErrorCode };

/**
 * Evaluates the relevant set of CAA records (RFC 8659, 4) for a name that is no wildcard: `issue` governs it, and a set
 * without it restricts nothing. A critical record with a tag that the authority does not know forbids everything. On
 * one machine, one of its validation methods has to be permitted; elsewhere a limit to others permits.
 */
export function evaluateCaa(
  records: readonly CaaRecord[],
  authority: CertificateAuthority,
  { deployment }: Pick<HostCheckInput, "deployment"> = {},
): CaaVerdict {
  if (records.some((record) => isForbidding(record, authority)))
    return { ok: false, code: "caa_unknown_critical" };
  const governing = records.filter(({ tag }) => tag.toLowerCase() === "issue");
  if (governing.length === 0) return { ok: true, limits: [] };
  const permitting = governing.flatMap(({ value }) => readIssue(value, authority) ?? []);
  if (permitting.length === 0) return { ok: false, code: "caa_forbids" };
  const usable = permitting.filter((each) =>
    each.methods.every((list) => deployment !== "machine" || permitsMethod(list)),
  );
  if (usable.length === 0) return { ok: false, code: "caa_method" };
  const limits = usable.map((record) => record.limits.join("; "));
  return { ok: true, limits: limits.includes("") ? [] : limits };
}

const KNOWN_TAGS = ["issue", "issuewild", "iodef"];

/** True for a critical record with a tag that the authority does not know. */
function isForbidding({ flags, tag }: CaaRecord, authority: CertificateAuthority): boolean {
  const { tags = [], criticalBits = 128 } = authority;
  return (flags & criticalBits) !== 0 && ![...KNOWN_TAGS, ...tags].includes(tag.toLowerCase());
}

/** The parameters that limit a permission (RFC 8657). */
const LIMITING_PARAMETERS = ["accounturi", "validationmethods"];

const PARAMETER = /^([a-z0-9]+(?:-+[a-z0-9]+)*)[ \t]*=[ \t]*([\x21-\x3a\x3c-\x7e]*)$/i;

/**
 * Reads a value such as `amazon.com; account=1` (RFC 8659, 4.2), with the limits of its permission. Undefined if it does not
 * permit the authority: a malformed value permits nobody.
 */
function readIssue(value: string, { name: authority, issuers, isExact = false }: CertificateAuthority) {
  const [issuer = "", ...rest] = value.split(";").map((part) => part.replace(/^[ \t]+|[ \t]+$/g, ""));
  const parameters: { readonly name: string; readonly value: string }[] = [];
  // A semicolon may follow the issuer, but not the last parameter.
  for (const text of rest.length === 1 && rest[0] === "" ? [] : rest) {
    const [, name, value = ""] = PARAMETER.exec(text) ?? [];
    if (name === undefined) return undefined;
    parameters.push({ name, value });
  }
  const isOwn = issuers.includes(issuer);
  if (!isOwn && (isExact || !issuers.includes(issuer.toLowerCase()))) return undefined;
  const count = (wanted: string) => parameters.filter(({ name }) => name === wanted).length;
  // Two accounts permit none (RFC 8657, 3).
  if (count("accounturi") > 1 || (isExact && count("validationmethods") > 1)) return undefined;
  const limiting = parameters.filter(({ name }) =>
    LIMITING_PARAMETERS.includes(isExact ? name : name.toLowerCase()),
  );
  const limits = limiting.map(({ name, value }) => `${name}=${value}`);
  return {
    limits: isOwn ? limits : [`the name "${issuer}", if ${authority} accepts capital letters`, ...limits],
    methods: limiting.flatMap(({ name, value }) => (name === "validationmethods" ? [value] : [])),
  };
}

/** True if a list permits a method of one machine before its first malformed entry, as Let's Encrypt reads it. */
function permitsMethod(list: string): boolean {
  const listed = list.split(",");
  const malformed = listed.findIndex((method) => !/^[a-z0-9-]+$/i.test(method));
  const read = malformed === -1 ? listed : listed.slice(0, malformed);
  return read.some((method) => MACHINE_METHODS.includes(method));
}

/** `queried`: the host, or its ancestor, that was queried; differs from the owner if it is a CNAME. */
interface CaaSet {
  readonly owner: string;
  readonly queried: string;
  readonly records: readonly CaaRecord[];
}

type CaaLookup =
  | { readonly outcome: "none" }
  | ({ readonly outcome: "found" } & CaaSet)
  | { readonly outcome: "failed"; readonly name: string; readonly reason: DnsFailure | "loop" };

/**
 * Finds the relevant set of CAA records of a host (RFC 8659, 3): its own, otherwise the nearest ancestor's; sets are
 * never merged. A CNAME is followed at every step, but the ancestors of its target do not count.
 */
async function findCaa(resolver: DnsResolver, host: string): Promise<CaaLookup> {
  const labels = host.split(".");
  const names = labels.map((_, index) => labels.slice(index).join("."));
  const lookups = await Promise.all(names.map((name) => lookUpCaa(resolver, name)));
  // A name whose lookup failed may have a set, so the sets of its ancestors cannot be relied on.
  return lookups.find(({ outcome }) => outcome !== "none") ?? { outcome: "none" };
}

async function lookUpCaa(resolver: DnsResolver, queried: string): Promise<CaaLookup> {
  const chain = await followCnames(resolver, queried);
  if (chain.end === "nxdomain") return { outcome: "none" };
  if (chain.end === "loop") return { outcome: "failed", name: queried, reason: "loop" };
  const owner = chain.last;
  const answer = await resolver(owner, "CAA");
  if (answer.outcome === "failed") return { outcome: "failed", name: owner, reason: answer.reason };
  const records = recordsIn<"CAA">(answer);
  return records.length === 0 ? { outcome: "none" } : { outcome: "found", owner, queried, records };
}

function formatCaa({ flags, tag, value }: CaaRecord): string {
  return `CAA ${flags} ${tag} ${JSON.stringify(value)}`;
}

/**
 * Queries whether CAA records permit one of the authorities. The result has the reason if that is not known. An authority
 * asks the name servers of the zone, too, and may ask any of them: so one that forbids decides.
 */
export async function checkCaa(resolver: DnsResolver, input: CaaCheckInput): Promise<HostCheckResult> {
  const said = await checkEach(resolver, input.zone, (ask) => checkCaaAt(ask, input));
  const [server, result] = said.find(([, { reasons }]) => reasons.length > 0) ?? said[0] ?? [];
  if (result === undefined) return checkCaaAt(resolver, input);
  if (said.every(([, other]) => isSameResult(result, other))) return result;
  return { ...result, notes: [...(result.notes ?? []), `Only some name servers say so, such as ${server}.`] };
}

async function checkCaaAt(resolver: DnsResolver, input: CaaCheckInput): Promise<HostCheckResult> {
  const { host, authorities } = input;
  const lookup = await findCaa(resolver, host);
  if (lookup.outcome === "none") return { reasons: [] };
  if (lookup.outcome === "failed") {
    const { name, reason } = lookup;
    const found = `${name} CAA: ${reason === "loop" ? "its CNAME records form a loop" : DNS_FAILURES[reason]}`;
    const expected = "an answer, even if there are no CAA records";
    const retry = `Retry. If it keeps failing, check the name servers of ${locateInZone(name).zone}.`;
    const fix = reason === "loop" ? `Correct the CNAME records of ${name}.` : retry;
    return { reasons: [{ code: "caa_unanswered", host, name, found, expected, fix }] };
  }
  const { owner, records } = lookup;
  const verdicts = authorities.map((each) => ({ ...each, verdict: evaluateCaa(records, each, input) }));
  const [first] = verdicts;
  if (first?.verdict.ok === false && verdicts.every(({ verdict }) => !verdict.ok)) {
    return { reasons: [explainCaa(input, lookup, first.verdict.code)] };
  }
  const notes = verdicts.flatMap(({ name, verdict }) => {
    if (!verdict.ok) return [`The CAA records at ${owner} permit no certificate of ${name}.`];
    const limits = `The CAA records at ${owner} limit ${name}: ${verdict.limits.join(", or ")}.`;
    return verdict.limits.length === 0 ? [] : [limits];
  });
  return { reasons: [], notes };
}

/** Explains why a set of CAA records forbids the first authority, and which record to change. */
function explainCaa(
  { host, target, authorities: [authority] }: CaaCheckInput,
  { owner, queried, records }: CaaSet,
  code: CaaErrorCode,
): Reason {
  const issuer = authority?.issuers[0];
  const allow = `CAA 0 issue "${issuer}"`;
  const forbidding = records.filter((record) => authority !== undefined && isForbidding(record, authority));
  const known = [...KNOWN_TAGS, ...(authority?.tags ?? [])].join(", ");
  const meant = records.filter(({ value }) => normalizeName(value.split(";", 1)[0]?.trim() ?? "") === issuer);
  const notRead = `. ${authority?.name} does not read ${meant.map(formatCaa).join(" or ")} as a permission`;
  const unread = meant.length === 0 ? "" : notRead;
  const byCode: Record<CaaErrorCode, readonly [expected: string, change: string, suffix?: string]> = {
    caa_forbids: [`${owner} ${allow}`, `add the record ${allow}`, `; keep the existing records${unread}`],
    caa_unknown_critical: [
      `no critical CAA record except ${known}`,
      // Other authorities may know the tag, and respect it with any flags.
      `set the flags of ${forbidding.map(formatCaa).join(" and ")} to 0`,
    ],
    caa_method: [
      `${owner} CAA 0 issue "${issuer}; validationmethods=${MACHINE_METHODS.join(",")}"`,
      `permit ${MACHINE_METHODS.join(" or ")} in the record for ${issuer}`,
      ", or let the server in front use a method that is permitted",
    ],
  };
  const [expected, change, suffix = ""] = byCode[code];
  const where = owner === queried ? owner : `${owner}, the target of the CNAME at ${queried}`;
  const instead =
    target === ""
      ? `Remove it until the certificate has been issued, or ask the operator of ${owner} to ${change}`
      : `Point it to ${target} instead`;
  const fix =
    owner === target
      ? `These records belong to the platform. Ask its operator to ${change} at ${owner}.`
      : owner !== queried && queried === host
        ? `${host} inherits these records through its CNAME. ${instead}.`
        : `At the DNS provider of ${locateInZone(owner).zone}, ${change} at ${where}${suffix}.`;
  const found = `${owner} ${records.map(formatCaa).join(", ")}`;
  return { code, host, name: owner, found, expected, fix };
}
