import type { Settings } from "../config/settings.ts";

/** Calls of the provider to one service, and the resources that they may be limited to. */
interface ServiceCalls {
  /** The types of resources that they are for. The other provider, Cloudflare, has its own token. */
  readonly types: readonly string[];
  /** The service and the names of its actions, such as `dynamodb: CreateTable DeleteTable`. */
  readonly actions: string;
  /** Resource names after the partition of their ARN, with the placeholders of policy-documents.ts, such as REGION. */
  readonly resources: readonly string[];
  /** True if the settings of a stack need these calls. @default always */
  readonly neededBy?: (settings: Settings) => boolean;
}

const ROLES = ["list", "api", "events"];
const hasDomains = ({ domains }: Settings) => domains?.primary !== undefined;
const hasEvents = ({ events }: Settings) => events !== undefined;
const hasWaf = ({ waf }: Settings) => waf !== undefined;

export const TABLES = {
  orders: "dynamodb:REGION:ACCOUNT:table/ORDERS_TABLE",
  accounts: "dynamodb:REGION:ACCOUNT:table/ACCOUNTS_TABLE",
} as const;
export const DEAD_LETTERS = ["sqs:REGION:ACCOUNT:PREFIX-events-dead-letters-*"];
const STAGES = "apigateway:REGION::/restapis/*/stages/*";
const WEB_ACLS = ["wafv2:REGION:ACCOUNT:regional/webacl/PREFIX-gateway-waf-acl-*"];
/** The tags of an API, a stage or a domain name are a resource of their own. */
const TAGS = "apigateway:REGION::/tags/*";
/** The role that API Gateway creates with the first domain name of an account. */
export const DOMAIN_NAMES_SERVICE = "ops.apigateway.amazonaws.com";

/**
 * Every call that creates, reads, changes or deletes a resource of a stack, or looks something up for it. Names are
 * complete up to the suffix that Pulumi adds: the stack `staging` has no rights on the stack `staging-eu`.
 */
const SERVICES: readonly ServiceCalls[] = [
  { types: [], actions: "sts: GetCallerIdentity", resources: [] },
  {
    types: ["aws:dynamodb/table:Table"],
    actions:
      "dynamodb: CreateTable DeleteTable DescribeContinuousBackups DescribeTable DescribeTimeToLive ListTagsOfResource TagResource UntagResource UpdateContinuousBackups UpdateTable",
    resources: Object.values(TABLES),
  },
  {
    types: ["aws:iam/role:Role", "aws:iam/rolePolicy:RolePolicy"],
    actions:
      "iam: CreateRole DeleteRole DeleteRolePolicy GetRole GetRolePolicy ListAttachedRolePolicies ListInstanceProfilesForRole ListRolePolicies PassRole PutRolePermissionsBoundary PutRolePolicy TagRole UntagRole",
    resources: ROLES.map((role) => `iam::ACCOUNT:role/PREFIX-${role}-role-*`),
  },
  {
    types: ["aws:cloudwatch/logGroup:LogGroup"],
    actions:
      "logs: CreateLogGroup DeleteLogGroup DeleteRetentionPolicy DescribeLogGroups ListTagsForResource PutRetentionPolicy TagResource UntagResource",
    resources: [
      ...ROLES.map((role) => `logs:REGION:ACCOUNT:log-group:PREFIX-${role}-logs-*`),
      "logs:REGION:ACCOUNT:log-group:PREFIX-access-group-*",
      "logs:REGION:ACCOUNT:log-group::log-stream:*",
    ],
  },
  {
    types: ["aws:lambda/function:Function", "aws:lambda/alias:Alias", "aws:lambda/permission:Permission"],
    actions:
      "lambda: AddPermission CreateAlias CreateFunction DeleteAlias DeleteFunction DeleteFunctionConcurrency GetAlias GetFunction GetFunctionCodeSigningConfig GetFunctionConfiguration GetPolicy ListTags ListVersionsByFunction PublishVersion PutFunctionConcurrency RemovePermission TagResource UntagResource UpdateAlias UpdateFunctionCode UpdateFunctionConfiguration",
    resources: ROLES.map((role) => `lambda:REGION:ACCOUNT:function:PREFIX-${role}-function-*`),
  },
  {
    types: [
      "aws:apigateway/restApi:RestApi",
      "aws:apigateway/resource:Resource",
      "aws:apigateway/method:Method",
      "aws:apigateway/integration:Integration",
      "aws:apigateway/response:Response",
      "aws:apigateway/deployment:Deployment",
      "aws:apigateway/stage:Stage",
      "aws:apigateway/methodSettings:MethodSettings",
    ],
    actions: "apigateway: DELETE GET PATCH POST PUT",
    // API Gateway chooses identifiers, so its resources cannot be limited to those of a stack.
    resources: ["apigateway:REGION::/restapis", "apigateway:REGION::/restapis/*", TAGS],
  },
  {
    types: ["aws:apigateway/domainName:DomainName", "aws:apigateway/basePathMapping:BasePathMapping"],
    actions: "apigateway: DELETE GET PATCH POST PUT",
    resources: ["apigateway:REGION::/domainnames", "apigateway:REGION::/domainnames/*", TAGS],
    neededBy: hasDomains,
  },
  {
    types: [],
    actions: "iam: CreateServiceLinkedRole",
    resources: [`iam::ACCOUNT:role/aws-service-role/${DOMAIN_NAMES_SERVICE}/*`],
    neededBy: hasDomains,
  },
  {
    types: ["aws:acm/certificate:Certificate", "aws:acm/certificateValidation:CertificateValidation"],
    actions:
      "acm: AddTagsToCertificate DeleteCertificate DescribeCertificate ListTagsForCertificate RemoveTagsFromCertificate RequestCertificate",
    // ACM chooses identifiers, too.
    resources: ["acm:REGION:ACCOUNT:certificate/*"],
    neededBy: hasDomains,
  },
  {
    types: [],
    actions: "acm: GetCertificate ListCertificates ListTagsForCertificate",
    resources: ["acm:REGION:ACCOUNT:certificate/*"],
    neededBy: ({ dns, domains }) => dns === "manual" && domains !== undefined,
  },
  {
    types: ["aws:route53/record:Record"],
    actions:
      "route53: ChangeResourceRecordSets GetChange GetHostedZone ListHostedZones ListResourceRecordSets ListTagsForResource",
    // Their identifiers are not known either. The names and types of records are a condition: see policy-documents.ts.
    resources: ["route53:::hostedzone/*", "route53:::change/*"],
    neededBy: (settings) => hasDomains(settings) && settings.dns === "route53",
  },
  {
    types: ["aws:cloudwatch/metricAlarm:MetricAlarm"],
    actions:
      "cloudwatch: DeleteAlarms DescribeAlarms ListTagsForResource PutMetricAlarm TagResource UntagResource",
    resources: ["cloudwatch:REGION:ACCOUNT:alarm:PREFIX-*"],
  },
  {
    types: ["aws:cloudwatch/dashboard:Dashboard"],
    actions: "cloudwatch: DeleteDashboards GetDashboard PutDashboard",
    // The second is the name in earlier versions, which is deleted once.
    resources: ["cloudwatch::ACCOUNT:dashboard/PREFIX-REGION", "cloudwatch::ACCOUNT:dashboard/PREFIX"],
  },
  {
    types: ["aws:sns/topic:Topic", "aws:sns/topicSubscription:TopicSubscription"],
    actions:
      "sns: CreateTopic DeleteTopic GetSubscriptionAttributes GetTopicAttributes ListTagsForResource SetSubscriptionAttributes SetTopicAttributes Subscribe TagResource Unsubscribe UntagResource",
    resources: ["sns:REGION:ACCOUNT:PREFIX-alarms-*"],
    neededBy: ({ alarmEmail }) => alarmEmail !== undefined,
  },
  {
    types: ["aws:sqs/queue:Queue"],
    actions:
      "sqs: CreateQueue DeleteQueue GetQueueAttributes ListQueueTags SetQueueAttributes TagQueue UntagQueue",
    resources: DEAD_LETTERS,
    neededBy: hasEvents,
  },
  {
    types: ["aws:lambda/eventSourceMapping:EventSourceMapping"],
    actions:
      "lambda: CreateEventSourceMapping DeleteEventSourceMapping GetEventSourceMapping ListTags TagResource UntagResource UpdateEventSourceMapping",
    // Lambda chooses the identifiers of mappings. Their function is a condition: see policy-documents.ts.
    resources: ["lambda:REGION:ACCOUNT:event-source-mapping:*"],
    neededBy: hasEvents,
  },
  {
    types: ["aws:cloudwatch/eventRule:EventRule", "aws:cloudwatch/eventTarget:EventTarget"],
    actions:
      "events: DeleteRule DescribeRule ListTagsForResource ListTargetsByRule PutRule PutTargets RemoveTargets TagResource UntagResource",
    resources: ["events:REGION:ACCOUNT:rule/PREFIX-events-schedule-*"],
    neededBy: hasEvents,
  },
  {
    types: ["aws:wafv2/webAcl:WebAcl"],
    actions:
      "wafv2: CreateWebACL DeleteWebACL GetWebACL ListTagsForResource TagResource UntagResource UpdateWebACL",
    resources: WEB_ACLS,
    neededBy: hasWaf,
  },
  {
    types: ["aws:wafv2/webAclAssociation:WebAclAssociation"],
    actions: "wafv2: AssociateWebACL DisassociateWebACL GetWebACLForResource",
    resources: [...WEB_ACLS, STAGES],
    neededBy: hasWaf,
  },
  { types: [], actions: "apigateway: SetWebACL", resources: [...WEB_ACLS, STAGES], neededBy: hasWaf },
];

/** The same with each action by its own name, such as `dynamodb:CreateTable`. */
export const CALLS = SERVICES.map(({ actions, ...others }) => {
  const [service, names = ""] = actions.split(": ");
  return { ...others, actions: names.split(" ").map((name) => `${service}:${name}`) };
});
