/** What somebody adds to a stack, with everything wrong that the rules know; `broken` says which. */

import * as aws from "@pulumi/aws";
import { DnsRecord } from "@pulumi/cloudflare/dnsRecord.js";
import * as pulumi from "@pulumi/pulumi";
import { enforcePolicies } from "../../../infra/policy/enforce.ts";

enforcePolicies({ protect: true });
const add: Readonly<Record<string, () => pulumi.Resource>> = {
  none: () => new aws.cloudwatch.LogGroup("logs", { retentionInDays: 7 }),
  log: () => new aws.cloudwatch.LogGroup("logs", {}),
  table: () => new aws.dynamodb.Table("carts", { hashKey: "id", attributes: [{ name: "id", type: "S" }] }),
  record: () =>
    new DnsRecord("shop", { zoneId: "z", type: "CNAME", name: "shop", content: "x", ttl: 60, proxied: true }),
  rights: () =>
    new aws.iam.Policy("all", {
      policy: {
        Version: "2012-10-17",
        Statement: [
          { Effect: "Allow", Action: ["dynamodb:*"], Resource: pulumi.output(Promise.resolve("*")) },
        ],
      },
    }),
  // Known only once the topic has been made, so that nothing but the update can tell.
  late: () => {
    const { arn } = new aws.sns.Topic("topic");
    return new aws.iam.Policy("late", {
      policy: pulumi.jsonStringify({ Statement: [{ Effect: "Allow", Action: "sns:*", Resource: arn }] }),
    });
  },
};

const told = new pulumi.Config().requireObject<readonly string[]>("broken").flatMap((broken) => {
  try {
    add[broken]?.();
    return [];
  } catch (error) {
    return [String(error)];
  }
});
if (told.length > 0) throw new pulumi.RunError(told.join("\n"));
