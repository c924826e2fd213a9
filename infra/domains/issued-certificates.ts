import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";

/**
 * Returns the hosts for which a certificate of this stack, identified by its tags, has ever been issued. With DNS
 * managed elsewhere this decides whether a domain name can be created now, or has to wait until someone has set the
 * validation record.
 */
export async function findHostsWithCertificate(
  hosts: readonly string[],
  tags: Readonly<Record<string, string>>,
): Promise<ReadonlySet<string>> {
  const found = await Promise.all(
    hosts.map(async (host) => ((await hasCertificate(host, tags)) ? [host] : [])),
  );
  return new Set(found.flat());
}

/** Includes ended certificates, so that an expired one does not remove the domain: its alarm reports it instead. */
const EVER_ISSUED = ["ISSUED", "INACTIVE", "EXPIRED", "REVOKED"];

async function hasCertificate(domain: string, tags: Readonly<Record<string, string>>): Promise<boolean> {
  try {
    await aws.acm.getCertificate({ domain, statuses: EVER_ISSUED, tags, mostRecent: true });
    return true;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    // The provider reports "none found" only by its message. Any other error must not treat a live domain as new.
    if (/no ACM Certificate matching|no matching ACM Certificate|empty result/i.test(reason)) return false;
    throw new pulumi.RunError(`Cannot look up the certificate of ${domain}: ${reason}`);
  }
}
