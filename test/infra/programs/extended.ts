/** A program with additional resources. The config key `add` selects them; all but `valid` violate a policy. */

import * as aws from "@pulumi/aws";
import { DnsRecord } from "@pulumi/cloudflare/dnsRecord.js";
import * as pulumi from "@pulumi/pulumi";
import { enforcePolicies } from "../../../infra/policy/enforce.ts";

enforcePolicies({ protect: true });
const resources: Readonly<Record<string, () => pulumi.Resource>> = {
  valid: () => new aws.cloudwatch.LogGroup("logs", { retentionInDays: 7 }),
  log: () => new aws.cloudwatch.LogGroup("logs", {}),
  table: () => new aws.dynamodb.Table("carts", { hashKey: "id", attributes: [{ name: "id", type: "S" }] }),
  record: () =>
    new DnsRecord("shop", { zoneId: "z", type: "CNAME", name: "shop", content: "x", ttl: 60, proxied: true }),
  policy: () =>
    new aws.iam.Policy("all", {
      policy: {
        Version: "2012-10-17",
        Statement: [
          { Effect: "Allow", Action: ["dynamodb:*"], Resource: pulumi.output(Promise.resolve("*")) },
        ],
      },
    }),
  // Known only once the topic has been created, so that only an update can detect the violation.
  late: () => {
    const { arn } = new aws.sns.Topic("topic");
    return new aws.iam.Policy("late", {
      policy: pulumi.jsonStringify({ Statement: [{ Effect: "Allow", Action: "sns:*", Resource: arn }] }),
    });
  },
  // Each of the two inputs is allowed on its own.
  lateTogether: () => {
    const { arn } = new aws.sns.Topic("other-topic");
    return new aws.lambda.Permission("late-together", {
      action: "lambda:InvokeFunction",
      function: "list",
      principal: arn.apply(() => "sns.amazonaws.com"),
      sourceArn: arn.apply(() => "*"),
    });
  },
};

const errors = new pulumi.Config().requireObject<readonly string[]>("add").flatMap((name) => {
  try {
    resources[name]?.();
    return [];
  } catch (error) {
    return [String(error)];
  }
});
if (errors.length > 0) throw new pulumi.RunError(errors.join("\n"));
