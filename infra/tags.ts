import type * as pulumi from "@pulumi/pulumi";

const TAGGED: ReadonlySet<string> = new Set(
  [
    ...["acm/certificate:Certificate", "apigateway/domainName:DomainName", "apigateway/restApi:RestApi"],
    ...["apigateway/stage:Stage", "cloudwatch/eventRule:EventRule", "cloudwatch/logGroup:LogGroup"],
    ...["cloudwatch/metricAlarm:MetricAlarm", "dynamodb/table:Table", "iam/role:Role"],
    ...["lambda/eventSourceMapping:EventSourceMapping", "lambda/function:Function", "sns/topic:Topic"],
    ...["sqs/queue:Queue", "wafv2/webAcl:WebAcl"],
  ].map((type) => `aws:${type}`),
);

/** Options of a component whose resources get these tags, besides their own. */
export function withTags(
  tags: Readonly<Record<string, string>> | undefined,
  options: pulumi.ComponentResourceOptions = {},
): pulumi.ComponentResourceOptions {
  if (tags === undefined) return options;
  const add: pulumi.ResourceTransformation = ({ type, props, opts }) =>
    TAGGED.has(type) ? { props: { ...props, tags: { ...tags, ...props["tags"] } }, opts } : undefined;
  return { ...options, transformations: [...(options.transformations ?? []), add] };
}
