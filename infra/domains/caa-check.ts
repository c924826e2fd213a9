import { escapeControls } from "../../lib/core/text.ts";
import { REASONS } from "../../lib/domains/status/reasons.ts";
import { AUTHORITIES, checkCaa } from "../../lib/domains/verification/caa.ts";
import type { DnsResolver } from "../../lib/domains/verification/resolver.ts";
import type { ZoneMatch } from "../../lib/domains/zone.ts";

/** A host whose certificate ACM issues. */
interface HostWithCertificate {
  readonly host: string;
  readonly zone: ZoneMatch;
  /** True if the host already has a certificate, so that CAA records can only prevent its renewal. */
  readonly hasCertificate: boolean;
}

/**
 * Queries DNS for the CAA records of each host (RFC 8659). A host that cannot get a certificate is a problem, with the
 * record and the fix. A lookup that fails is a warning: it must not prevent an update, and ACM queries from elsewhere.
 */
export async function findCaaProblems(hosts: readonly HostWithCertificate[], resolver: DnsResolver) {
  const checked = await Promise.all(
    hosts.map(async ({ zone, ...each }) => {
      // The check does not depend on the target, which is not known before the host has been created.
      const input = { ...zone, host: each.host, target: "", authorities: [AUTHORITIES.amazon] };
      return { ...each, reasons: (await checkCaa(resolver, input)).reasons };
    }),
  );
  const problems: string[] = [];
  const warnings: string[] = [];
  for (const { host, hasCertificate, reasons } of checked)
    for (const { code, found, fix } of reasons) {
      const reason = escapeControls(`${REASONS[code].title} Found: ${found}. ${fix}`);
      const unanswered = `The CAA records of ${host} were not checked, because DNS did not answer (${found}). If they do not permit Amazon, no certificate is issued. Set store-orders:resolver to a DNS server that this machine can reach.`;
      if (code === "caa_unanswered") warnings.push(escapeControls(unanswered));
      else if (hasCertificate) warnings.push(`${host}: The certificate cannot be renewed. ${reason}`);
      else problems.push(`${host}: ${reason}`);
    }
  return { problems, warnings };
}
