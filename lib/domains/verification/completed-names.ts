import { type CheckedHost, describeRecordToAdd } from "./reasons.ts";
import type { DnsResolver } from "./resolver.ts";

/** Describes how to correct the value of a CNAME. Many providers complete a value without a trailing dot. */
export function describeWrongValue({ zone, label, target }: CheckedHost, found: string | undefined): string {
  const change = `At the DNS provider of ${zone}, change the value of the CNAME record ${label} to ${target}.`;
  return found === `${target}.${zone}`
    ? `${change} End it with a dot: the provider has appended the zone.`
    : change;
}

/** Describes how to set a missing record. Providers append the zone to its name, also to a full one. */
export async function describeMissingRecord(resolver: DnsResolver, checked: CheckedHost): Promise<string> {
  const { host, zone, label } = checked;
  const completed = `${host}.${zone}`;
  const { outcome } = await resolver(completed, "CNAME");
  if (outcome !== "found") return describeRecordToAdd(checked);
  return `At the DNS provider of ${zone}, rename the CNAME record ${completed} to ${label}: the provider appends the zone to the name.`;
}
