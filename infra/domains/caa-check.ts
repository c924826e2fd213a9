import { escapeControls } from "../../lib/core/text.ts";
import { AUTHORITIES, checkCaa } from "../../lib/domains/verification/caa.ts";
import { findZone } from "../../lib/domains/verification/find-zone.ts";
import type { Reason } from "../../lib/domains/verification/reasons.ts";
import type { DnsResolver } from "../../lib/domains/verification/resolver.ts";
import { isWithin } from "../../lib/domains/zone.ts";

/** A host whose certificate ACM issues. */
interface HostWithCertificate {
  readonly host: string;
  /** The zone of the host, if known. */
  readonly zone?: string | undefined;
  /** True if the host already has a certificate, so that CAA records can only prevent its renewal. */
  readonly hasCertificate: boolean;
}

/** The effect of CAA records on an update. */
interface CaaResult {
  /** Every host that cannot get a certificate, with the offending record and the fix. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Queries DNS for the CAA records of each host (RFC 8659). A lookup that fails is a warning: it must not prevent an
 * update, and ACM queries from elsewhere.
 */
export async function findCaaProblems(
  hosts: readonly HostWithCertificate[],
  resolver: DnsResolver,
): Promise<CaaResult> {
  const checked = await Promise.all(
    hosts.map(async (host) => ({ host, reasons: await check(host, resolver) })),
  );
  const forbidden = checked.flatMap(({ host, reasons }) =>
    reasons.filter(({ code }) => code !== "caa_unanswered").map((reason) => ({ host, reason })),
  );
  const failed = checked.flatMap(({ reasons }) => reasons.filter(({ code }) => code === "caa_unanswered"));
  const explain = ({ host, reason }: (typeof forbidden)[number]) =>
    `${describe(reason, host.hasCertificate ? "renew" : "issue")} ${describeFix(reason)}`;
  return {
    problems: forbidden.filter(({ host }) => !host.hasCertificate).map(explain),
    warnings: [
      ...forbidden.filter(({ host }) => host.hasCertificate).map(explain),
      ...(failed.length === 0 ? [] : [describeFailures(failed)]),
    ],
  };
}

async function check({ host, zone }: HostWithCertificate, resolver: DnsResolver): Promise<readonly Reason[]> {
  const located = await findZone(resolver, host, { zone });
  // The CAA check does not depend on the target, which is not known before the host has been created.
  const input = { ...located, host, target: "", authorities: [AUTHORITIES.amazon] };
  return (await checkCaa(resolver, input)).reasons;
}

function describe({ host, found, code }: Reason, action: "issue" | "renew"): string {
  const what =
    code === "caa_forbids"
      ? `CAA records forbid Amazon to ${action} the certificate`
      : `a critical CAA record with a tag that Amazon does not know forbids it to ${action} the certificate`;
  return escapeControls(`${host}: ${what}: ${found}.`);
}

function describeFix({ host, name, expected, fix, code }: Reason): string {
  if (isWithin(host, name)) return escapeControls(fix);
  const change =
    code === "caa_forbids"
      ? `add ${expected.slice(name.length + 1)}`
      : "set the flags of the critical record to 0";
  return escapeControls(
    `${host} or one of its parents is a CNAME that leads to ${name}, so these records count. Remove that CNAME until the certificate has been issued, or ask the operator of ${name} to ${change}.`,
  );
}

function describeFailures(reasons: readonly Reason[]): string {
  const hosts = [...new Set(reasons.map(({ host }) => host))].join(", ");
  const causes = [...new Set(reasons.map(({ found }) => found))].slice(0, 3).join("; ");
  return escapeControls(
    `The CAA records of ${hosts} were not checked, because DNS did not answer (${causes}). If they do not permit Amazon, no certificate is issued. Set store-orders:resolver to a DNS server that this machine can reach.`,
  );
}
