import { RECORD_TTL_SECONDS } from "../records.ts";
import type { CheckedHost, Reason } from "./reasons.ts";
import { type DnsResolver, recordsIn } from "./resolver.ts";

/** A label that no zone has: it is answered only by a wildcard record. */
const PROBE_LABEL = "store-orders-wildcard-probe";

/**
 * Explains a wrong record that other names below the same parent have, too: it comes from a wildcard record, so there
 * may be no record of the host itself to change or remove.
 */
export async function explainWildcard(
  resolver: DnsResolver,
  { host, zone, label, target, apex }: CheckedHost,
  reason: Reason,
  values: readonly string[],
): Promise<Reason> {
  if (apex) return reason;
  const sibling = `${PROBE_LABEL}${host.slice(host.indexOf("."))}`;
  const answers = await Promise.all([
    resolver(sibling, "CNAME"),
    resolver(sibling, "A"),
    resolver(sibling, "AAAA"),
  ]);
  const found = answers.flatMap((answer) => recordsIn<"CNAME" | "A" | "AAAA">(answer));
  if (!values.some((value) => found.includes(value))) return reason;
  return {
    ...reason,
    found: `${reason.found}, as for every name that matches a wildcard record`,
    fix: `At the DNS provider of ${zone}, set a CNAME record in place of any other record of ${label}: name ${label}, value ${target}, TTL ${RECORD_TTL_SECONDS}. It takes precedence over the wildcard record, which can stay.`,
  };
}
