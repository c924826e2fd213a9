import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { typeToken } from "../names.ts";

/** Arguments of {@link AccessLog}. */
export interface AccessLogArgs {
  readonly logRetentionDays: number;
  /** Sets the logging role of the AWS account. @default false: the account already has one */
  readonly manageAccount?: boolean;
  /** The ARN of a managed policy that limits the permissions of that role. @default none */
  readonly permissionsBoundary?: string | undefined;
}

/**
 * The access log of the API. API Gateway writes all logs of an account and region with one role. Because that setting
 * is account-wide, it is opt-in and retained on destroy.
 */
export class AccessLog extends pulumi.ComponentResource {
  readonly group: aws.cloudwatch.LogGroup;
  /** The resources on which a stage that writes this log has to depend. */
  readonly ready: readonly pulumi.Resource[];

  constructor(name: string, args: AccessLogArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("AccessLog"), name, {}, options);
    const groupArgs = { retentionInDays: args.logRetentionDays };
    this.group = new aws.cloudwatch.LogGroup(`${name}-group`, groupArgs, { parent: this });
    this.ready = args.manageAccount === true ? [this.#setAccountRole(name, args.permissionsBoundary)] : [];
    this.registerOutputs({ group: this.group.name });
  }

  #setAccountRole(name: string, permissionsBoundary: string | undefined): pulumi.Resource {
    const retained = { parent: this, retainOnDelete: true };
    const bounded = permissionsBoundary === undefined ? {} : { permissionsBoundary };
    const roleArgs = { assumeRolePolicy: GATEWAY_TRUST_POLICY, ...bounded };
    const role = new aws.iam.Role(`${name}-role`, roleArgs, retained);
    const attached = { role: role.name, policyArn: LOGGING_POLICY };
    const dependsOn = new aws.iam.RolePolicyAttachment(`${name}-policy`, attached, retained);
    const accountArgs = { cloudwatchRoleArn: role.arn };
    return new aws.apigateway.Account(`${name}-account`, accountArgs, { ...retained, dependsOn });
  }
}

/** The managed policy that API Gateway requires: it rejects a role with a narrower one. */
export const LOGGING_POLICY = "arn:aws:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs";

/** The format of an access log line. It contains no IP address and no key. */
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

const GATEWAY_TRUST_POLICY = {
  Version: "2012-10-17",
  Statement: [
    { Effect: "Allow", Action: "sts:AssumeRole", Principal: { Service: "apigateway.amazonaws.com" } },
  ],
} as const satisfies aws.iam.PolicyDocument;
