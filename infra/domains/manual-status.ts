import type * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { REQUESTED_TAG } from "../names.ts";
import type { ManualDns } from "./host-dns.ts";
import { describeAwaitedCertificate, describeRecord, type HostStatus } from "./host-status.ts";
import type { ValidationRecord } from "./validation-record.ts";

/** A host whose records the operator sets. */
export interface ManualHost {
  readonly host: string;
  readonly reverify: number;
  readonly dns: ManualDns;
  readonly certificate: aws.acm.Certificate;
  readonly validationRecord: ValidationRecord;
}

/** The status of a host while its certificate has not been issued. */
export function statusBeforeDomain(of: ManualHost): pulumi.Output<HostStatus> {
  const { host, reverify, dns, certificate, validationRecord } = of;
  const facts = pulumi.all([
    certificate.arn,
    certificate.tags,
    validationRecord.name,
    validationRecord.value,
  ]);
  return facts.apply(async ([arn, tags, name, value]) =>
    describeAwaitedCertificate({
      host,
      reverify,
      status: statusOf(arn, dns),
      requestedAt: tags?.[REQUESTED_TAG],
      validated: (await dns.observer?.isSet({ name, value })) === true,
    }),
  );
}

/** The status of a host whose domain name exists: live once its record has been observed to lead there. */
export function statusWithDomain(
  { host, reverify, dns, certificate }: ManualHost,
  target: pulumi.Output<string>,
): pulumi.Output<HostStatus> {
  return pulumi
    .all([certificate.arn, target])
    .apply(async ([arn, value]) =>
      describeRecord(host, statusOf(arn, dns), await dns.observer?.checkRecord(host, value), reverify),
    );
}

/** The state of the present certificate. Another one may be left from before it was requested again. */
function statusOf(arn: string, { certificates }: ManualDns) {
  return certificates.find((found) => found.arn === arn)?.status;
}
