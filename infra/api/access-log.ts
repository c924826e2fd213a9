import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { typeToken } from "../names.ts";

/** What an access log is made of. */
export interface AccessLogArgs {
  readonly logRetentionDays: number;
  /** Sets the logging role of the whole AWS account. @default false: the account has one */
  readonly manageAccount?: boolean;
}

/**
 * The log that the gateway keeps of every request. API Gateway writes logs with one role for a whole account and
 * region. That setting belongs to nobody's stack, so it is made only where it is asked for, and then never removed.
 */
export class AccessLog extends pulumi.ComponentResource {
  readonly group: aws.cloudwatch.LogGroup;
  /** What has to be there before a stage can log. */
  readonly ready: readonly pulumi.Resource[];

  constructor(name: string, args: AccessLogArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("AccessLog"), name, {}, options);
    this.group = new aws.cloudwatch.LogGroup(
      `${name}-group`,
      { retentionInDays: args.logRetentionDays },
      { parent: this },
    );
    this.ready = args.manageAccount === true ? this.setAccountRole(name) : [];
    this.registerOutputs({ group: this.group.name });
  }

  private setAccountRole(name: string): readonly pulumi.Resource[] {
    const kept = { parent: this, retainOnDelete: true };
    const role = new aws.iam.Role(`${name}-role`, { assumeRolePolicy: GATEWAY_MAY_ASSUME }, kept);
    const rights = new aws.iam.RolePolicyAttachment(
      `${name}-rights`,
      { role: role.name, policyArn: LOGGING_POLICY },
      kept,
    );
    const account = new aws.apigateway.Account(
      `${name}-account`,
      { cloudwatchRoleArn: role.arn },
      { ...kept, dependsOn: rights },
    );
    return [account];
  }
}

/** The managed policy that API Gateway asks for; a narrower one is refused as lacking permissions. */
export const LOGGING_POLICY = "arn:aws:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs";

/** A line of the access log, in the gateway's words. It holds no address and no key. */
export const ACCESS_LOG_FORMAT: string = JSON.stringify({
  at: "$context.requestTimeEpoch",
  id: "$context.requestId",
  host: "$context.domainName",
  method: "$context.httpMethod",
  path: "$context.path",
  status: "$context.status",
  bytes: "$context.responseLength",
  // Of a stream, the latency is the length; how long it took to begin stands here.
  firstByte: "$context.integration.timeToFirstContent",
  latency: "$context.responseLatency",
  mode: "$context.integration.responseTransferMode",
  tls: "$context.tlsVersion",
});

const GATEWAY_MAY_ASSUME = {
  Version: "2012-10-17",
  Statement: [
    { Effect: "Allow", Action: "sts:AssumeRole", Principal: { Service: "apigateway.amazonaws.com" } },
  ],
} as const satisfies aws.iam.PolicyDocument;
