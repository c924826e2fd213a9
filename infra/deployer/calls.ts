import type { Settings } from "../config/settings.ts";

/** The calls that the provider makes for a type of resource, and what they may be limited to. */
export interface ResourceCalls {
  /** To read the resource: in a preview with --refresh, and in every deployment. */
  readonly read: readonly string[];
  /** To create, change and delete it. */
  readonly write: readonly string[];
  /** Resource names after `arn:aws:`, with the placeholders REGION, ACCOUNT and PREFIX. */
  readonly resources: readonly string[];
  /** True if the settings of a stack need this type. @default always */
  readonly neededBy?: (settings: Settings) => boolean;
}

const hasDomains = ({ domains }: Settings) => domains?.primary !== undefined;
const hasAlarmEmail = ({ alarmEmail }: Settings) => alarmEmail !== undefined;
const hasWaf = ({ waf }: Settings) => waf !== undefined;
const setsAccount = ({ accessLogs }: Settings) => accessLogs === "manage";

const FUNCTIONS = ["lambda:REGION:ACCOUNT:function:PREFIX-*"];
const ROLES = ["iam::ACCOUNT:role/PREFIX-*"];
/** API Gateway chooses identifiers, so its resources cannot be limited to those of a stack. */
const APIS = ["apigateway:REGION::/restapis", "apigateway:REGION::/restapis/*"];
const GATEWAY = {
  read: ["apigateway:GET"],
  write: ["apigateway:DELETE", "apigateway:PATCH", "apigateway:POST"],
};
const api = { ...GATEWAY, resources: APIS };
/** Created by PUT, because the path that is created is known before. */
const apiPart = {
  read: GATEWAY.read,
  write: ["apigateway:DELETE", "apigateway:PATCH", "apigateway:PUT"],
  resources: APIS,
};
/** ACM chooses identifiers, too. */
const CERTIFICATES = ["acm:REGION:ACCOUNT:certificate/*"];

/** By type of AWS resource. The other provider, Cloudflare, has its own token. */
export const CALLS: Readonly<Record<string, ResourceCalls>> = {
  "aws:dynamodb/table:Table": {
    read: calls("dynamodb", "DescribeContinuousBackups DescribeTable DescribeTimeToLive ListTagsOfResource"),
    write: calls(
      "dynamodb",
      "CreateTable DeleteTable TagResource UntagResource UpdateContinuousBackups UpdateTable",
    ),
    resources: ["dynamodb:REGION:ACCOUNT:table/PREFIX-*"],
  },
  "aws:iam/role:Role": {
    read: calls("iam", "GetRole ListAttachedRolePolicies ListInstanceProfilesForRole ListRolePolicies"),
    write: calls("iam", "CreateRole DeleteRole PassRole TagRole UntagRole UpdateAssumeRolePolicy UpdateRole"),
    resources: ROLES,
  },
  "aws:iam/rolePolicy:RolePolicy": {
    read: calls("iam", "GetRolePolicy"),
    write: calls("iam", "DeleteRolePolicy PutRolePolicy"),
    resources: ROLES,
  },
  "aws:iam/rolePolicyAttachment:RolePolicyAttachment": {
    read: [],
    write: calls("iam", "AttachRolePolicy DetachRolePolicy"),
    resources: ROLES,
    neededBy: setsAccount,
  },
  "aws:cloudwatch/logGroup:LogGroup": {
    read: calls("logs", "DescribeLogGroups ListTagsForResource"),
    write: calls(
      "logs",
      "CreateLogGroup DeleteLogGroup DeleteRetentionPolicy PutRetentionPolicy TagResource UntagResource",
    ),
    resources: ["logs:REGION:ACCOUNT:log-group:PREFIX-*", "logs:REGION:ACCOUNT:log-group::log-stream:*"],
  },
  "aws:lambda/function:Function": {
    read: calls(
      "lambda",
      "GetFunction GetFunctionCodeSigningConfig GetFunctionConfiguration ListTags ListVersionsByFunction",
    ),
    write: calls(
      "lambda",
      "CreateFunction DeleteFunction DeleteFunctionConcurrency PublishVersion PutFunctionConcurrency TagResource UntagResource UpdateFunctionCode UpdateFunctionConfiguration",
    ),
    resources: FUNCTIONS,
  },
  "aws:lambda/alias:Alias": {
    read: calls("lambda", "GetAlias"),
    write: calls("lambda", "CreateAlias DeleteAlias UpdateAlias"),
    resources: FUNCTIONS,
  },
  "aws:lambda/permission:Permission": {
    read: calls("lambda", "GetPolicy"),
    write: calls("lambda", "AddPermission RemovePermission"),
    resources: FUNCTIONS,
  },
  "aws:apigateway/restApi:RestApi": api,
  "aws:apigateway/resource:Resource": api,
  "aws:apigateway/method:Method": apiPart,
  "aws:apigateway/integration:Integration": apiPart,
  "aws:apigateway/response:Response": apiPart,
  "aws:apigateway/deployment:Deployment": api,
  "aws:apigateway/stage:Stage": api,
  "aws:apigateway/methodSettings:MethodSettings": {
    read: GATEWAY.read,
    write: ["apigateway:PATCH"],
    resources: APIS,
  },
  "aws:apigateway/account:Account": {
    ...{ read: GATEWAY.read, write: ["apigateway:PATCH"] },
    ...{ resources: ["apigateway:REGION::/account"], neededBy: setsAccount },
  },
  "aws:apigateway/domainName:DomainName": {
    ...GATEWAY,
    resources: ["apigateway:REGION::/domainnames", "apigateway:REGION::/domainnames/*"],
    neededBy: hasDomains,
  },
  "aws:apigateway/basePathMapping:BasePathMapping": {
    ...GATEWAY,
    resources: ["apigateway:REGION::/domainnames/*"],
    neededBy: hasDomains,
  },
  "aws:acm/certificate:Certificate": {
    read: calls("acm", "DescribeCertificate ListTagsForCertificate"),
    write: calls(
      "acm",
      "AddTagsToCertificate DeleteCertificate RemoveTagsFromCertificate RequestCertificate",
    ),
    resources: CERTIFICATES,
    neededBy: hasDomains,
  },
  "aws:acm/certificateValidation:CertificateValidation": {
    read: calls("acm", "DescribeCertificate"),
    write: [],
    resources: CERTIFICATES,
    neededBy: hasDomains,
  },
  "aws:cloudwatch/metricAlarm:MetricAlarm": {
    read: calls("cloudwatch", "DescribeAlarms ListTagsForResource"),
    write: calls("cloudwatch", "DeleteAlarms PutMetricAlarm TagResource UntagResource"),
    resources: ["cloudwatch:REGION:ACCOUNT:alarm:PREFIX-*"],
  },
  "aws:cloudwatch/dashboard:Dashboard": {
    read: calls("cloudwatch", "GetDashboard"),
    write: calls("cloudwatch", "DeleteDashboards PutDashboard"),
    resources: ["cloudwatch::ACCOUNT:dashboard/PREFIX"],
  },
  "aws:sns/topic:Topic": {
    read: calls("sns", "GetTopicAttributes ListTagsForResource"),
    write: calls("sns", "CreateTopic DeleteTopic SetTopicAttributes TagResource UntagResource"),
    resources: ["sns:REGION:ACCOUNT:PREFIX-*"],
    neededBy: hasAlarmEmail,
  },
  "aws:sns/topicSubscription:TopicSubscription": {
    read: calls("sns", "GetSubscriptionAttributes"),
    write: calls("sns", "SetSubscriptionAttributes Subscribe Unsubscribe"),
    resources: ["sns:REGION:ACCOUNT:PREFIX-*"],
    neededBy: hasAlarmEmail,
  },
  "aws:wafv2/webAcl:WebAcl": {
    read: calls("wafv2", "GetWebACL ListTagsForResource"),
    write: calls("wafv2", "CreateWebACL DeleteWebACL TagResource UntagResource UpdateWebACL"),
    resources: ["wafv2:REGION:ACCOUNT:regional/webacl/PREFIX-*"],
    neededBy: hasWaf,
  },
  "aws:wafv2/webAclAssociation:WebAclAssociation": {
    read: calls("wafv2", "GetWebACLForResource"),
    write: [...calls("wafv2", "AssociateWebACL DisassociateWebACL"), "apigateway:SetWebACL"],
    resources: ["wafv2:REGION:ACCOUNT:regional/webacl/PREFIX-*", "apigateway:REGION::/restapis/*/stages/*"],
    neededBy: hasWaf,
  },
};

function calls(service: string, names: string): readonly string[] {
  return names.split(" ").map((name) => `${service}:${name}`);
}
