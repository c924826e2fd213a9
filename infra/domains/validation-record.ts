import type * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";

/** The DNS record by which ACM validates that its owner controls the host. */
export interface ValidationRecord {
  readonly type: "CNAME";
  /** The full name, without a trailing dot. */
  readonly name: pulumi.Output<string>;
  readonly value: pulumi.Output<string>;
}

/**
 * A certificate for one host has exactly one validation record. A trailing dot would show as a change on every update.
 */
export function validationRecordOf({ domainValidationOptions }: aws.acm.Certificate): ValidationRecord {
  const option = domainValidationOptions.apply(([first]) => {
    if (first === undefined)
      throw new pulumi.RunError("ACM returned no validation record for the certificate.");
    return first;
  });
  return {
    type: "CNAME",
    name: option.resourceRecordName.apply(withoutTrailingDot),
    value: option.resourceRecordValue.apply(withoutTrailingDot),
  };
}

function withoutTrailingDot(name: string): string {
  return name.replace(/\.$/, "");
}
