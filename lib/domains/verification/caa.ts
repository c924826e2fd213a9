import { normalizeName } from "../hostname.ts";
import { isWithin } from "../zone.ts";
import { followCnames } from "./cname-chain.ts";
import { type CaaRecord, type DnsFailure, type DnsResolver, recordsIn } from "./resolver.ts";

/** A certificate authority, with every issuer name that CAA records know it by. */
export interface CertificateAuthority {
  readonly name: string;
  readonly issuers: readonly [string, ...string[]];
}

/** The authorities that can be checked for. */
export const AUTHORITIES = {
  amazon: { name: "Amazon", issuers: ["amazon.com", "amazontrust.com", "awstrust.com", "amazonaws.com"] },
} as const satisfies Record<string, CertificateAuthority>;

/** The name of an authority, as the command line takes it. */
export type AuthorityName = keyof typeof AUTHORITIES;

/** What a set of CAA records says about an authority. */
export type CaaVerdict =
  | { readonly permits: true }
  | { readonly permits: false; readonly because: "not_listed" | "unknown_critical" };

/**
 * Judges the set of CAA records that counts (RFC 8659, 4). `issue` governs plain names; `issuewild`, where there
 * is one, governs wildcards instead of it. A set with neither restricts nothing. A critical record of an unknown
 * tag forbids everything. Of a value, only the issuer's name counts, not the parameters after it.
 */
export function judgeCaa(
  records: readonly CaaRecord[],
  authority: CertificateAuthority,
  { wildcard = false }: { readonly wildcard?: boolean } = {},
): CaaVerdict {
  const tagged = (tag: string) => records.filter((record) => record.tag.toLowerCase() === tag);
  if (records.some(({ flags, tag }) => (flags & CRITICAL) !== 0 && !KNOWN_TAGS.has(tag.toLowerCase()))) {
    return { permits: false, because: "unknown_critical" };
  }
  const forWildcards = wildcard ? tagged("issuewild") : [];
  const governing = forWildcards.length > 0 ? forWildcards : tagged("issue");
  if (governing.length === 0) return { permits: true };
  const listed = governing.some(({ value }) => authority.issuers.includes(issuerOf(value)));
  return listed ? { permits: true } : { permits: false, because: "not_listed" };
}

const CRITICAL = 128;
const KNOWN_TAGS = new Set(["issue", "issuewild", "iodef"]);

/** The issuer in a value such as `amazon.com; account=1`; empty for `;`, which names none. */
function issuerOf(value: string): string {
  return normalizeName((value.split(";", 1)[0] ?? "").trim());
}

/** The set of CAA records that counts for a host, or why it is not known. */
export type CaaLookup =
  | { readonly outcome: "none" }
  | {
      readonly outcome: "set";
      /** The name whose records these are. */
      readonly owner: string;
      /** The host or the ancestor of it that was asked; another name than the owner where it is a CNAME. */
      readonly asked: string;
      readonly records: readonly CaaRecord[];
    }
  | { readonly outcome: "silent"; readonly name: string; readonly why: DnsFailure };

/**
 * Finds the set of CAA records that counts for a host (RFC 8659, 3): the host's own, else the nearest ancestor's;
 * a set is never merged with another. A CNAME is followed at every step, but its target's parents do not count.
 */
export async function findCaa(resolver: DnsResolver, host: string, zone: string): Promise<CaaLookup> {
  const labels = host.split(".");
  const climb = labels.map((_, index) => labels.slice(index).join("."));
  const lookups = await Promise.all(climb.map((name) => caaAt(resolver, name, zone)));
  // A nearer name that did not answer may have a set, so what lies above it cannot be trusted.
  return lookups.find(({ outcome }) => outcome !== "none") ?? { outcome: "none" };
}

async function caaAt(resolver: DnsResolver, asked: string, zone: string): Promise<CaaLookup> {
  const chain = await followCnames(resolver, asked);
  if (chain.end === "nxdomain") return { outcome: "none" };
  if (chain.end === "endless") return { outcome: "silent", name: asked, why: "servfail" };
  const owner = chain.last;
  const answer = await resolver(owner, "CAA");
  // The zone's own name servers can be asked directly. They refuse what is not theirs, such as the parent zone.
  if (answer.outcome === "silent" && answer.why === "refused" && !isWithin(owner, zone))
    return { outcome: "none" };
  if (answer.outcome === "silent") return { outcome: "silent", name: owner, why: answer.why };
  const records = recordsIn<"CAA">(answer);
  return records.length === 0 ? { outcome: "none" } : { outcome: "set", owner, asked, records };
}

/** A CAA record as it is written in a zone. */
export function caaText({ flags, tag, value }: CaaRecord): string {
  return `CAA ${flags} ${tag} ${JSON.stringify(value)}`;
}
