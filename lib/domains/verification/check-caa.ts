import { locateInZone } from "../zone.ts";
import { evaluateCaa, findCaa } from "./caa.ts";
import { type CheckedHost, DNS_FAILURES, explainCaa, type Reason } from "./reasons.ts";
import type { DnsResolver } from "./resolver.ts";

/** Finds out whether CAA records permit the authority, or why that is not known. */
export async function checkCaa(resolver: DnsResolver, checked: CheckedHost): Promise<readonly Reason[]> {
  const { host, zone, authority } = checked;
  const lookup = await findCaa(resolver, host, zone);
  if (lookup.outcome === "none") return [];
  if (lookup.outcome === "failed") {
    const { name, reason } = lookup;
    return [
      {
        code: "caa_unanswered",
        host,
        name,
        found: `${name} CAA: ${DNS_FAILURES[reason]}`,
        expected: "an answer, even if there are no CAA records",
        fix: `Retry. If it keeps failing, check the name servers of ${locateInZone(name).zone}.`,
      },
    ];
  }
  const verdict = evaluateCaa(lookup.records, authority);
  return verdict.ok ? [] : [explainCaa(checked, lookup, verdict.code)];
}
