import type { DnsFailure, DnsResolver } from "./resolver.ts";

/** The names that CNAME records lead through, and how the way ends. */
export interface CnameChain {
  /** The name asked for, then every target in turn. One name where there is no CNAME. */
  readonly names: readonly string[];
  /** The last name: the one that other records are read from. */
  readonly last: string;
  /** `exists` and `nxdomain` tell of the last name; `endless` of a loop; `silent` of a question unanswered. */
  readonly end: "exists" | "nxdomain" | "endless" | "silent";
  /** There exactly where the end is `silent`. */
  readonly why?: DnsFailure;
}

/** Longer ways than this are given up, as resolvers do. */
const MAX_STEPS = 16;

/** Follows the CNAME records of a name, one question a step, so that a loop is seen and not run into. */
export async function followCnames(resolver: DnsResolver, name: string): Promise<CnameChain> {
  const names = [name];
  for (let last = name; ; ) {
    const answer = await resolver(last, "CNAME");
    if (answer.outcome === "silent") return { names, last, end: "silent", why: answer.why };
    const next = answer.outcome === "found" ? answer.records[0] : undefined;
    if (next === undefined)
      return { names, last, end: answer.outcome === "nxdomain" ? "nxdomain" : "exists" };
    const seen = names.includes(next);
    names.push(next);
    if (seen || names.length > MAX_STEPS) return { names, last: next, end: "endless" };
    last = next;
  }
}
