import { isWithin } from "../zone.ts";
import { followCnames } from "./cname-chain.ts";
import { type CheckedHost, explainUnanswered, type Reason } from "./reasons.ts";
import { answersOnlyOwnZones, type DnsFailure, type DnsResolver, firstFailure } from "./resolver.ts";

/** What was found out about the platform host. */
export interface TargetCheck {
  readonly reasons: readonly Reason[];
  /** Why it was not checked, as an addition to what was found. */
  readonly unchecked?: string;
}

/**
 * Finds out whether the platform host exists. A record that points to a name without addresses serves nothing, and
 * whoever obtains that name takes over the host.
 */
export async function checkTarget(resolver: DnsResolver, checked: CheckedHost): Promise<TargetCheck> {
  const { target } = checked;
  const { names, last, end, failure } = await followCnames(resolver, target);
  const found = names.length === 1 ? "" : `CNAME ${names.join(" → ")}; `;
  switch (end) {
    case "failed":
      return explainTargetFailure(resolver, checked, last, failure ?? "malformed");
    case "nxdomain":
      return { reasons: [explainMissingTarget(checked, `${found}NXDOMAIN: ${last} does not exist`)] };
    case "loop":
      return { reasons: [explainMissingTarget(checked, `${found}the records form a loop`)] };
    case "exists": {
      const answers = await Promise.all([resolver(last, "A"), resolver(last, "AAAA")]);
      if (answers.some(({ outcome }) => outcome === "found")) return { reasons: [] };
      const failed = firstFailure(answers);
      if (failed !== undefined) return explainTargetFailure(resolver, checked, last, failed);
      return { reasons: [explainMissingTarget(checked, `${found}${last} has no A or AAAA record`)] };
    }
  }
}

/** Explains that the platform host has no address. */
export function explainMissingTarget(checked: CheckedHost, found: string): Reason {
  const { host, zone, target, label } = checked;
  return {
    code: "target_missing",
    host,
    name: target,
    found,
    expected: `an A or AAAA record for ${target}`,
    fix: `Check that ${target} is the present target of ${host}. If its deployment was removed, remove the record ${label} at the DNS provider of ${zone}, or others can take over the host.`,
  };
}

async function explainTargetFailure(
  resolver: DnsResolver,
  checked: CheckedHost,
  name: string,
  failure: DnsFailure,
): Promise<TargetCheck> {
  const refused = failure === "refused" && !isWithin(name, checked.zone);
  // The zone's own name server refuses queries for other names, such as the target.
  if (refused && (await answersOnlyOwnZones(resolver, checked.zone))) {
    return {
      reasons: [],
      unchecked: `${name} was not checked: this name server refuses names outside its zones`,
    };
  }
  return { reasons: [explainUnanswered(checked, name, failure)] };
}
