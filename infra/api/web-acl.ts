import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { nameInAccount, typeToken } from "../names.ts";

/** Arguments of {@link WebAcl}. */
export interface WebAclArgs {
  readonly stage: aws.apigateway.Stage;
  readonly requestsPerFiveMinutes: number;
  /** The metric of the blocked requests. @default after the component, the project and the stack */
  readonly metricName?: string;
}

/**
 * Blocks an address while it sends too many requests, before they count against the throttle that all callers share. An
 * address of IPv6 counts by itself, although a caller can have many.
 */
export class WebAcl extends pulumi.ComponentResource {
  readonly acl: aws.wafv2.WebAcl;

  constructor(name: string, args: WebAclArgs, options?: pulumi.ComponentResourceOptions) {
    super(typeToken("WebAcl"), name, {}, options);
    const { stage, requestsPerFiveMinutes, metricName = nameInAccount(name) } = args;
    const visibility = { cloudwatchMetricsEnabled: true, sampledRequestsEnabled: false };
    const limit = { limit: requestsPerFiveMinutes, aggregateKeyType: "IP", evaluationWindowSec: 300 };
    const rateLimit: aws.types.input.wafv2.WebAclRule = {
      ...{ name: "rate-limit", priority: 0, action: { block: {} } },
      statement: { rateBasedStatement: limit },
      visibilityConfig: { ...visibility, metricName: `${metricName}-rate-limit` },
    };
    const aclArgs = {
      description: "Limits the requests of each address",
      scope: "REGIONAL",
      defaultAction: { allow: {} },
      rules: [rateLimit],
      visibilityConfig: { ...visibility, metricName },
    };
    this.acl = new aws.wafv2.WebAcl(`${name}-acl`, aclArgs, { parent: this });
    const association = { resourceArn: stage.arn, webAclArn: this.acl.arn };
    new aws.wafv2.WebAclAssociation(`${name}-association`, association, { parent: this });
    this.registerOutputs({ arn: this.acl.arn });
  }
}
