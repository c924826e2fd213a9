import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { typeToken } from "../names.ts";

/** Arguments of {@link AccessLog}. */
export interface AccessLogArgs {
  readonly logRetentionDays: number;
}

/** API Gateway writes all logs of an account and region with one role, which no stack sets: the account must have it. */
export class AccessLog extends pulumi.ComponentResource {
  readonly group: aws.cloudwatch.LogGroup;

  constructor(name: string, { logRetentionDays }: AccessLogArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("AccessLog"), name, {}, options);
    const groupArgs = { retentionInDays: logRetentionDays };
    this.group = new aws.cloudwatch.LogGroup(`${name}-group`, groupArgs, { parent: this });
    this.registerOutputs({ group: this.group.name });
  }
}

/** It contains no IP address and no key. */
export const ACCESS_LOG_FORMAT: string = JSON.stringify({
  at: "$context.requestTimeEpoch",
  id: "$context.requestId",
  host: "$context.domainName",
  method: "$context.httpMethod",
  path: "$context.path",
  status: "$context.status",
  bytes: "$context.responseLength",
  // The latency of a stream includes its whole transfer, so the time to first byte is logged as well.
  firstByte: "$context.integration.timeToFirstContent",
  latency: "$context.responseLatency",
  mode: "$context.integration.responseTransferMode",
  tls: "$context.tlsVersion",
});
