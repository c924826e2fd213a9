import type { DnsFailure, DnsResolver } from "./resolver.ts";

/** A chain of CNAME records, and how it ends. */
export interface CnameChain {
  /** The name that was looked up, then every target in order. A single name if it has no CNAME. */
  readonly names: readonly string[];
  /** The last name: the one that other records are read from. */
  readonly last: string;
  /** `exists` and `nxdomain` describe the last name; `loop` also stands for a chain that is too long. */
  readonly end: "exists" | "nxdomain" | "loop" | "failed";
  /** Present only if the end is `failed`. */
  readonly failure?: DnsFailure;
}

/** Longer chains are not followed, as in resolvers. */
const MAX_NAMES = 16;

/** Follows the CNAME records of a name with one query per step, so that it can report a loop. */
export async function followCnames(resolver: DnsResolver, name: string): Promise<CnameChain> {
  const names = [name];
  for (let last = name; ; ) {
    const answer = await resolver(last, "CNAME");
    if (answer.outcome === "failed") return { names, last, end: "failed", failure: answer.reason };
    const next = answer.outcome === "found" ? answer.records[0] : undefined;
    if (next === undefined) {
      return { names, last, end: answer.outcome === "nxdomain" ? "nxdomain" : "exists" };
    }
    const seen = names.includes(next);
    names.push(next);
    if (seen || names.length > MAX_NAMES) return { names, last: next, end: "loop" };
    last = next;
  }
}
