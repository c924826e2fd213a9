import type { Settings } from "../config/settings.ts";

/** The calls that the provider makes for a type of resource, and the resources that they may be limited to. */
interface ResourceCalls {
  /** To read the resource: in a preview with --refresh, and in every deployment. */
  readonly read: readonly string[];
  /** To create, change and delete it. */
  readonly write: readonly string[];
  /** Resource names after `arn:aws:`, with the placeholders of policy-documents.ts, such as REGION. */
  readonly resources: readonly string[];
  /** True if the settings of a stack need this type. @default always */
  readonly neededBy?: (settings: Settings) => boolean;
}

const hasDomains = ({ domains }: Settings) => domains?.primary !== undefined;
/** The stack creates records at Route 53. */
export const usesRoute53 = (settings: Settings) => hasDomains(settings) && settings.dns === "route53";
const hasAlarmEmail = ({ alarmEmail }: Settings) => alarmEmail !== undefined;
const hasEvents = ({ events }: Settings) => events !== undefined;
const hasWaf = ({ waf }: Settings) => waf !== undefined;

/** API Gateway chooses identifiers, so its resources cannot be limited to those of a stack. */
const APIS = ["apigateway:REGION::/restapis", "apigateway:REGION::/restapis/*"];
const api = callsOf("apigateway", APIS, "GET", "DELETE PATCH POST");
/** The tags of an API, a stage or a domain name are a resource of their own, below `/tags`. */
const TAGS = "apigateway:REGION::/tags/*";
const taggedApi = callsOf("apigateway", [...APIS, TAGS], "GET", "DELETE PATCH POST PUT");
/** Created by PUT, because the path that is created is known before. */
const apiPart = callsOf("apigateway", APIS, "GET", "DELETE PATCH PUT");
// Names are complete up to the suffix that Pulumi adds: the stack `staging` has no rights on the stack `staging-eu`.
/** The tables, which can have names of their own. */
export const TABLES = {
  orders: "dynamodb:REGION:ACCOUNT:table/ORDERS_TABLE",
  accounts: "dynamodb:REGION:ACCOUNT:table/ACCOUNTS_TABLE",
} as const;
const ROLES = ["list", "api", "events"].map((role) => `iam::ACCOUNT:role/PREFIX-${role}-role-*`);
const LOG_GROUPS = ["list-logs", "api-logs", "events-logs", "access-group"].map(
  (group) => `logs:REGION:ACCOUNT:log-group:PREFIX-${group}-*`,
);
const FUNCTIONS = ["list", "api", "events"].map(
  (role) => `lambda:REGION:ACCOUNT:function:PREFIX-${role}-function-*`,
);
const DOMAIN_NAMES = ["apigateway:REGION::/domainnames", "apigateway:REGION::/domainnames/*"];
/** ACM chooses identifiers, too. */
const CERTIFICATES = ["acm:REGION:ACCOUNT:certificate/*"];
/** Their identifiers are not known either. The names and types of records are a condition: see policy-documents.ts. */
export const HOSTED_ZONES = ["route53:::hostedzone/*"];
const TOPICS = ["sns:REGION:ACCOUNT:PREFIX-alarms-*"];
/** The queue of the setting `events`. */
export const DEAD_LETTERS = ["sqs:REGION:ACCOUNT:PREFIX-events-dead-letters-*"];
const RULES = ["events:REGION:ACCOUNT:rule/PREFIX-events-schedule-*"];
const WEB_ACLS = ["wafv2:REGION:ACCOUNT:regional/webacl/PREFIX-gateway-waf-acl-*"];

/** By type of AWS resource. The other provider, Cloudflare, has its own token. */
export const CALLS: Readonly<Record<string, ResourceCalls>> = {
  "aws:dynamodb/table:Table": callsOf(
    "dynamodb",
    Object.values(TABLES),
    "DescribeContinuousBackups DescribeTable DescribeTimeToLive ListTagsOfResource",
    "CreateTable DeleteTable TagResource UntagResource UpdateContinuousBackups UpdateTable",
  ),
  "aws:iam/role:Role": callsOf(
    "iam",
    ROLES,
    "GetRole ListAttachedRolePolicies ListInstanceProfilesForRole ListRolePolicies",
    "CreateRole DeleteRole PassRole PutRolePermissionsBoundary TagRole UntagRole",
  ),
  "aws:iam/rolePolicy:RolePolicy": callsOf("iam", ROLES, "GetRolePolicy", "DeleteRolePolicy PutRolePolicy"),
  "aws:cloudwatch/logGroup:LogGroup": callsOf(
    "logs",
    [...LOG_GROUPS, "logs:REGION:ACCOUNT:log-group::log-stream:*"],
    "DescribeLogGroups ListTagsForResource",
    "CreateLogGroup DeleteLogGroup DeleteRetentionPolicy PutRetentionPolicy TagResource UntagResource",
  ),
  "aws:lambda/function:Function": callsOf(
    "lambda",
    FUNCTIONS,
    "GetFunction GetFunctionCodeSigningConfig GetFunctionConfiguration ListTags ListVersionsByFunction",
    "CreateFunction DeleteFunction DeleteFunctionConcurrency PublishVersion PutFunctionConcurrency TagResource UntagResource UpdateFunctionCode UpdateFunctionConfiguration",
  ),
  "aws:lambda/alias:Alias": callsOf("lambda", FUNCTIONS, "GetAlias", "CreateAlias DeleteAlias UpdateAlias"),
  "aws:lambda/permission:Permission": callsOf(
    "lambda",
    FUNCTIONS,
    "GetPolicy",
    "AddPermission RemovePermission",
  ),
  "aws:apigateway/restApi:RestApi": taggedApi,
  "aws:apigateway/resource:Resource": api,
  "aws:apigateway/method:Method": apiPart,
  "aws:apigateway/integration:Integration": apiPart,
  "aws:apigateway/response:Response": apiPart,
  "aws:apigateway/deployment:Deployment": api,
  "aws:apigateway/stage:Stage": taggedApi,
  "aws:apigateway/methodSettings:MethodSettings": callsOf("apigateway", APIS, "GET", "PATCH"),
  "aws:apigateway/domainName:DomainName": {
    ...callsOf("apigateway", [...DOMAIN_NAMES, TAGS], "GET", "DELETE PATCH POST PUT"),
    neededBy: hasDomains,
  },
  "aws:apigateway/basePathMapping:BasePathMapping": {
    ...callsOf("apigateway", DOMAIN_NAMES, "GET", "DELETE PATCH POST"),
    neededBy: hasDomains,
  },
  "aws:acm/certificate:Certificate": {
    ...callsOf(
      "acm",
      CERTIFICATES,
      "DescribeCertificate ListTagsForCertificate",
      "AddTagsToCertificate DeleteCertificate RemoveTagsFromCertificate RequestCertificate",
    ),
    neededBy: hasDomains,
  },
  "aws:acm/certificateValidation:CertificateValidation": {
    ...callsOf("acm", CERTIFICATES, "DescribeCertificate"),
    neededBy: hasDomains,
  },
  "aws:route53/record:Record": {
    ...callsOf(
      "route53",
      [...HOSTED_ZONES, "route53:::change/*"],
      "GetHostedZone ListResourceRecordSets",
      "ChangeResourceRecordSets GetChange",
    ),
    neededBy: usesRoute53,
  },
  "aws:cloudwatch/metricAlarm:MetricAlarm": callsOf(
    "cloudwatch",
    ["cloudwatch:REGION:ACCOUNT:alarm:PREFIX-*"],
    "DescribeAlarms ListTagsForResource",
    "DeleteAlarms PutMetricAlarm TagResource UntagResource",
  ),
  "aws:cloudwatch/dashboard:Dashboard": callsOf(
    "cloudwatch",
    // The second is the name in earlier versions, which is deleted once.
    ["cloudwatch::ACCOUNT:dashboard/PREFIX-REGION", "cloudwatch::ACCOUNT:dashboard/PREFIX"],
    "GetDashboard",
    "DeleteDashboards PutDashboard",
  ),
  "aws:sns/topic:Topic": {
    ...callsOf(
      "sns",
      TOPICS,
      "GetTopicAttributes ListTagsForResource",
      "CreateTopic DeleteTopic SetTopicAttributes TagResource UntagResource",
    ),
    neededBy: hasAlarmEmail,
  },
  "aws:sns/topicSubscription:TopicSubscription": {
    ...callsOf("sns", TOPICS, "GetSubscriptionAttributes", "SetSubscriptionAttributes Subscribe Unsubscribe"),
    neededBy: hasAlarmEmail,
  },
  "aws:sqs/queue:Queue": {
    ...callsOf(
      "sqs",
      DEAD_LETTERS,
      "GetQueueAttributes ListQueueTags",
      "CreateQueue DeleteQueue SetQueueAttributes TagQueue UntagQueue",
    ),
    neededBy: hasEvents,
  },
  // Lambda chooses the identifiers of mappings. Their function is a condition: see policy-documents.ts.
  "aws:lambda/eventSourceMapping:EventSourceMapping": {
    ...callsOf(
      "lambda",
      ["lambda:REGION:ACCOUNT:event-source-mapping:*"],
      "GetEventSourceMapping ListTags",
      "CreateEventSourceMapping DeleteEventSourceMapping TagResource UntagResource UpdateEventSourceMapping",
    ),
    neededBy: hasEvents,
  },
  "aws:cloudwatch/eventRule:EventRule": {
    ...callsOf(
      "events",
      RULES,
      "DescribeRule ListTagsForResource",
      "DeleteRule PutRule TagResource UntagResource",
    ),
    neededBy: hasEvents,
  },
  "aws:cloudwatch/eventTarget:EventTarget": {
    ...callsOf("events", RULES, "ListTargetsByRule", "PutTargets RemoveTargets"),
    neededBy: hasEvents,
  },
  "aws:wafv2/webAcl:WebAcl": {
    ...callsOf(
      "wafv2",
      WEB_ACLS,
      "GetWebACL ListTagsForResource",
      "CreateWebACL DeleteWebACL TagResource UntagResource UpdateWebACL",
    ),
    neededBy: hasWaf,
  },
  "aws:wafv2/webAclAssociation:WebAclAssociation": {
    read: ["wafv2:GetWebACLForResource"],
    write: ["apigateway:SetWebACL", "wafv2:AssociateWebACL", "wafv2:DisassociateWebACL"],
    resources: [...WEB_ACLS, "apigateway:REGION::/restapis/*/stages/*"],
    neededBy: hasWaf,
  },
};

/** The calls of one service on the same resources: the names of its actions, divided by spaces. */
function callsOf(service: string, resources: readonly string[], read: string, write = ""): ResourceCalls {
  const actions = (names: string) =>
    names === "" ? [] : names.split(" ").map((name) => `${service}:${name}`);
  return { read: actions(read), write: actions(write), resources };
}
