import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";

/** The tag by which a stack knows its certificates. */
export const STACK_TAG = "store-orders:stack";

/**
 * Which of the hosts have a certificate of this stack's that has ever been issued. For hosts whose DNS is elsewhere
 * this tells whether the domain can be made now, or has to wait for a record that somebody sets by hand.
 */
export async function findHostsWithCertificate(
  hosts: readonly string[],
  stackTag: string,
): Promise<ReadonlySet<string>> {
  const found = await Promise.all(
    hosts.map(async (host) => ((await isIssued(host, stackTag)) ? [host] : [])),
  );
  return new Set(found.flat());
}

/** One that has run out was issued all the same: its domain stays, so that its alarm is about something. */
const EVER_ISSUED = ["ISSUED", "INACTIVE", "EXPIRED", "REVOKED"];

async function isIssued(domain: string, stackTag: string): Promise<boolean> {
  const tags = { [STACK_TAG]: stackTag };
  try {
    await aws.acm.getCertificate({ domain, statuses: EVER_ISSUED, tags, mostRecent: true });
    return true;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    // The provider has no other way to say "none". Any other failure must not take a living domain for a new one.
    if (/no ACM Certificate matching|no matching ACM Certificate|empty result/i.test(reason)) return false;
    throw new pulumi.RunError(`The certificate of ${domain} could not be looked up: ${reason}`);
  }
}
