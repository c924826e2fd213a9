import type { Registration } from "./registration.ts";
import type { Value } from "./wire.ts";

/** By type: the inputs whose change replaces a resource, because the cloud cannot change them. */
const FIXED_INPUTS: Readonly<Record<string, readonly string[]>> = {
  "aws:acm/certificate:Certificate": ["domainName", "validationMethod"],
  "aws:acm/certificateValidation:CertificateValidation": ["certificateArn"],
  "aws:apigateway/basePathMapping:BasePathMapping": ["domainName"],
  "aws:apigateway/deployment:Deployment": ["restApi", "triggers"],
  "aws:apigateway/domainName:DomainName": ["domainName"],
  "aws:apigateway/integration:Integration": [
    "httpMethod",
    "integrationHttpMethod",
    "resourceId",
    "restApi",
    "type",
  ],
  "aws:apigateway/method:Method": ["httpMethod", "resourceId", "restApi"],
  "aws:apigateway/methodSettings:MethodSettings": ["methodPath", "restApi", "stageName"],
  "aws:apigateway/resource:Resource": ["restApi"],
  "aws:apigateway/response:Response": ["responseType", "restApiId"],
  "aws:apigateway/stage:Stage": ["restApi", "stageName"],
  "aws:cloudwatch/dashboard:Dashboard": ["dashboardName"],
  "aws:cloudwatch/eventRule:EventRule": ["name"],
  "aws:cloudwatch/eventTarget:EventTarget": ["rule", "targetId"],
  "aws:cloudwatch/logGroup:LogGroup": ["name"],
  "aws:cloudwatch/metricAlarm:MetricAlarm": ["name"],
  "aws:dynamodb/table:Table": ["hashKey", "name", "rangeKey"],
  "aws:iam/role:Role": ["name", "path"],
  "aws:iam/rolePolicy:RolePolicy": ["name", "role"],
  "aws:lambda/alias:Alias": ["functionName", "name"],
  "aws:lambda/eventSourceMapping:EventSourceMapping": ["eventSourceArn", "startingPosition"],
  "aws:lambda/function:Function": ["name", "packageType"],
  "aws:lambda/permission:Permission": [
    "action",
    "function",
    "principal",
    "qualifier",
    "sourceArn",
    "statementId",
  ],
  "aws:route53/record:Record": ["name", "zoneId"],
  "aws:sns/topic:Topic": ["name"],
  "aws:sns/topicSubscription:TopicSubscription": ["endpoint", "protocol", "topic"],
  "aws:sqs/queue:Queue": ["name"],
  "aws:wafv2/webAcl:WebAcl": ["name", "scope"],
  "aws:wafv2/webAclAssociation:WebAclAssociation": ["resourceArn", "webAclArn"],
  "cloudflare:index/dnsRecord:DnsRecord": ["type", "zoneId"],
};

/** True if the provider asks the engine to replace a resource, instead of updating it. */
export function replaces(
  type: string,
  before: Registration["inputs"],
  after: Registration["inputs"],
): boolean {
  const differs = (one: Value | undefined, other: Value | undefined) =>
    JSON.stringify(one) !== JSON.stringify(other);
  return (FIXED_INPUTS[type] ?? []).some((input) => differs(before[input], after[input]));
}

/** By type with generated names: the most characters that the cloud accepts. */
const MAX_NAME_CHARS: Readonly<Record<string, number>> = {
  "aws:cloudwatch/eventRule:EventRule": 64,
  "aws:cloudwatch/logGroup:LogGroup": 512,
  "aws:iam/role:Role": 64,
  "aws:iam/rolePolicy:RolePolicy": 128,
  "aws:lambda/function:Function": 64,
  "aws:sns/topic:Topic": 256,
  "aws:sqs/queue:Queue": 80,
  "aws:wafv2/webAcl:WebAcl": 128,
};

/** Generates the name of a new resource: its logical name and seven random digits. Throws if it becomes too long. */
export function physicalName({ type, name, inputs }: Pick<Registration, "type" | "name" | "inputs">): string {
  const { name: given } = inputs;
  const generated = given === undefined || given === null ? `${name}-1a2b3c4` : String(given);
  if (generated.length > (MAX_NAME_CHARS[type] ?? Number.POSITIVE_INFINITY))
    throw new Error(
      `name '${name}' plus 8 random chars is longer than maximum length ${MAX_NAME_CHARS[type]}`,
    );
  return generated;
}
