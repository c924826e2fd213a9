import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { errorMessage } from "../../lib/core/errors.ts";
import { CERTIFICATE_STATUSES, type CertificateStatus } from "../../lib/domains/status/steps.ts";
import { isMocked } from "../mocks.ts";

/** A certificate as ACM has it. */
export interface FoundCertificate {
  readonly arn: string;
  readonly status: CertificateStatus;
  /** True if this stack has not requested it, but API Gateway serves the host with it already. @default false */
  readonly isForeign?: boolean;
}

/**
 * The certificates of this stack, identified by its tags, by host: the most recent one in each state, and if none has been
 * issued, the one with which API Gateway serves the host already. With DNS managed elsewhere they decide whether a domain name
 * can be created now. The provider repeats a query that finds nothing for a minute, so all run in parallel.
 */
export async function findCertificates(
  hosts: readonly string[],
  tags: Readonly<Record<string, string>>,
  options: pulumi.InvokeOptions,
): Promise<ReadonlyMap<string, readonly FoundCertificate[]>> {
  const found = hosts.map(async (host) => {
    const own = await certificatesOf(host, tags, options);
    const arn = own.some(wasIssued) ? "" : (await findDomainName(host, options))?.regionalCertificateArn;
    const present = arn ? [{ arn, status: "ISSUED", isForeign: true } as const] : [];
    return [host, [...own, ...present]] as const;
  });
  return new Map(await Promise.all(found));
}

/** True if the certificate has been issued, even if it has ended since: an expired one must not remove the domain. */
export function wasIssued({ status }: FoundCertificate): boolean {
  return CERTIFICATE_STATUSES.indexOf(status) < CERTIFICATE_STATUSES.indexOf("PENDING_VALIDATION");
}

/** One query finds most hosts at once. The provider rejects it if a host has certificates in different states. */
async function certificatesOf(
  domain: string,
  tags: Readonly<Record<string, string>>,
  options: pulumi.InvokeOptions,
): Promise<readonly FoundCertificate[]> {
  async function query(statuses: readonly CertificateStatus[]) {
    try {
      const args = { domain, statuses: [...statuses], tags, mostRecent: true };
      const { arn, status } = await aws.acm.getCertificate(args, options);
      // A preview calls no provider whose own inputs it does not know.
      if (arn === undefined && !isMocked()) throw new Error("the provider is not configured yet.");
      return [{ arn, status: status as CertificateStatus }];
    } catch (error) {
      const reason = errorMessage(error);
      // The provider distinguishes these cases only by its messages. Any other error must not treat a live domain as new.
      if (/most_recent filtering on different/i.test(reason)) return undefined;
      if (/no ACM Certificate matching|no matching ACM Certificate|empty result/i.test(reason)) return [];
      throw new pulumi.RunError(`Cannot look up the certificate of ${domain}: ${reason}`);
    }
  }
  const inEachState = () => Promise.all(CERTIFICATE_STATUSES.map((status) => query([status])));
  return (await query(CERTIFICATE_STATUSES)) ?? (await inEachState()).flatMap((found) => found ?? []);
}

/** Looks up the domain name of a host in this account and region. Mocks return it without most properties. */
export async function findDomainName(domainName: string, options: pulumi.InvokeOptions) {
  try {
    return await aws.apigateway.getDomainName({ domainName }, options);
  } catch (error) {
    if (/couldn't find|not ?found|empty result/i.test(errorMessage(error))) return undefined;
    throw new pulumi.RunError(`Cannot look up the domain name ${domainName}: ${errorMessage(error)}`);
  }
}
