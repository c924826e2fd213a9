import { normalizeName } from "../normalize-name.ts";
import { isWithin } from "../zone.ts";
import { followCnames } from "./cname-chain.ts";
import {
  answersOnlyOwnZones,
  type CaaRecord,
  type DnsFailure,
  type DnsResolver,
  recordsIn,
} from "./resolver.ts";

/** A certificate authority, with every issuer name that identifies it in CAA records. */
export interface CertificateAuthority {
  readonly name: string;
  readonly issuers: readonly [string, ...string[]];
}

/** The known certificate authorities. */
export const AUTHORITIES = {
  amazon: { name: "Amazon", issuers: ["amazon.com", "amazontrust.com", "awstrust.com", "amazonaws.com"] },
} as const satisfies Record<string, CertificateAuthority>;

/** The name of a known authority, as the command line takes it. */
export type AuthorityName = keyof typeof AUTHORITIES;

/** Why a set of CAA records does not permit an authority. */
export type CaaErrorCode = "not_listed" | "unknown_critical";

/** Whether a set of CAA records permits an authority. */
export type CaaVerdict = { readonly ok: true } | { readonly ok: false; readonly code: CaaErrorCode };

/**
 * Evaluates the relevant set of CAA records (RFC 8659, 4). `issue` governs plain names; `issuewild`, if present,
 * governs wildcards instead. A set with neither restricts nothing. A critical record with an unknown tag forbids
 * everything. Only the issuer's name in a value counts, not the parameters after it.
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
  if (governing.length === 0) return { ok: true };
  const listed = governing.some(({ value }) => authority.issuers.includes(issuerOf(value)));
  return listed ? { ok: true } : { ok: false, code: "not_listed" };
}

const CRITICAL = 128;
const KNOWN_TAGS = new Set(["issue", "issuewild", "iodef"]);

/** The issuer in a value such as `amazon.com; account=1`; empty for `;`, which names none. */
function issuerOf(value: string): string {
  return normalizeName((value.split(";", 1)[0] ?? "").trim());
}

/** The relevant set of CAA records of a host, or why it could not be looked up. */
export type CaaLookup =
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
export async function findCaa(resolver: DnsResolver, host: string, zone: string): Promise<CaaLookup> {
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
export function formatCaa({ flags, tag, value }: CaaRecord): string {
  return `CAA ${flags} ${tag} ${JSON.stringify(value)}`;
}
