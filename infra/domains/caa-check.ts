import { escapeControls } from "../../lib/core/text.ts";
import { AUTHORITIES, checkCaa } from "../../lib/domains/verification/caa.ts";
import { findZone } from "../../lib/domains/verification/find-zone.ts";
import { REASONS, type Reason } from "../../lib/domains/verification/reasons.ts";
import type { DnsResolver } from "../../lib/domains/verification/resolver.ts";

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
  const explain = ({ host, reason: { code, found, fix } }: (typeof forbidden)[number]) =>
    escapeControls(
      `${host.host}: ${host.hasCertificate ? "The certificate cannot be renewed. " : ""}${REASONS[code].title} Found: ${found}. ${fix}`,
    );
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

function describeFailures(reasons: readonly Reason[]): string {
  const hosts = [...new Set(reasons.map(({ host }) => host))].join(", ");
  const causes = [...new Set(reasons.map(({ found }) => found))].slice(0, 3).join("; ");
  return escapeControls(
    `The CAA records of ${hosts} were not checked, because DNS did not answer (${causes}). If they do not permit Amazon, no certificate is issued. Set store-orders:resolver to a DNS server that this machine can reach.`,
  );
}
