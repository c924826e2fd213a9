import { AWS_PARTITIONS } from "../../lib/domains/hostname.ts";
import { hostsOf } from "../../lib/domains/mapping.ts";
import { registrableDomainOf } from "../../lib/domains/zone.ts";
import { type DynamodbTableNames, OUTBOX_INDEX, tableNames } from "../../lib/stores/dynamodb/schema.ts";
import type { Settings } from "../config/settings.ts";
import { EVENTS_PERMISSIONS, PERMISSIONS, STREAM_CALLS } from "../functions/permissions.ts";
import { CALLS, DEAD_LETTERS, DOMAIN_NAMES_SERVICE, TABLES } from "./calls.ts";

interface DeployTarget {
  readonly region: string;
  /** The AWS account: 12 digits. */
  readonly account: string;
  /** `<project>-<stack>`, with which the names of its resources begin; before a rename, if there was one. */
  readonly prefix: string;
}

export interface PolicyDocument {
  readonly Version: "2012-10-17";
  readonly Statement: readonly {
    readonly Effect: "Allow";
    readonly Action: readonly string[];
    readonly Resource: string | readonly string[];
    readonly Condition?: Condition;
  }[];
}

/** By operator and key: the permitted values. */
type Condition = Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;

interface DeployerPolicies {
  /** Reads everything that a preview, also with --refresh, compares with the program. Writes nothing. */
  readonly preview: PolicyDocument;
  /** Writes, and places the order of the smoke test. A deployment has this, `functions` and `preview`: one would be too long. */
  readonly deploy: PolicyDocument;
  /** The same for the functions with their roles and logs. */
  readonly functions: PolicyDocument;
  /** The permissions boundary of the stack's roles: all that a role which `functions` creates can ever be allowed. */
  readonly boundary: PolicyDocument;
}

/** AWS cannot limit these calls to resources. */
const UNLIMITED: ReadonlySet<string> = new Set([
  "acm:ListCertificates",
  "dynamodb:ListStreams",
  "acm:RequestCertificate",
  // Limited to the function by a condition.
  "lambda:CreateEventSourceMapping",
  "logs:DescribeLogGroups",
  "route53:ListHostedZones",
  "sns:GetSubscriptionAttributes",
  "sns:SetSubscriptionAttributes",
  "sns:Unsubscribe",
  "sts:GetCallerIdentity",
]);

/** The ARN of the permissions boundary: that of the stack's setting, otherwise one named after the stack. */
export function boundaryArn({ permissionsBoundary }: Settings, target: DeployTarget): string {
  return permissionsBoundary ?? `${arnPrefix(target)}iam::${target.account}:policy/${target.prefix}-boundary`;
}

/** How the ARNs of a region begin: China, the US government and the European Sovereign Cloud have partitions of their own. */
function arnPrefix({ region }: Pick<DeployTarget, "region">): string {
  const partition = Object.keys(AWS_PARTITIONS).find((each) => region.startsWith(`${each}-`));
  return partition === undefined ? "arn:aws:" : `arn:aws-${partition}:`;
}

/** The policies for a stack: exactly the calls for the resources that its settings need. */
export function deployerPolicies(settings: Settings, target: DeployTarget): DeployerPolicies {
  const named = { ...target, tables: tableNames({ prefix: target.prefix, tables: settings.tables }) };
  const needed = CALLS.filter(({ neededBy }) => neededBy?.(settings) ?? true);
  const part = (isPart: (action: string) => boolean) =>
    needed.map(({ actions, resources }) => ({ actions: actions.filter(isPart), resources }));
  const document = (grants: readonly Grant[]) => toDocument(grants, named, conditionsOf(settings, target));
  const reads = (action: string) => /:(GET|Get|List|Describe)/.test(action);
  const isOfFunctions = (action: string) => /^(iam|lambda|logs):/.test(action);
  const smokeTest = { actions: ["dynamodb:GetItem", "dynamodb:PutItem"], resources: [TABLES.orders] };
  return {
    preview: document(part(reads)),
    deploy: document([...part((action) => !reads(action) && !isOfFunctions(action)), smokeTest]),
    functions: document(part((action) => !reads(action) && isOfFunctions(action))),
    boundary: document(boundaryOf(settings)),
  };
}

/** By action: the condition without which the call would amount to administration of the account. */
function conditionsOf(settings: Settings, target: DeployTarget): Readonly<Record<string, Condition>> {
  const inside = { "iam:PermissionsBoundary": boundaryArn(settings, target) };
  const within = (service: string) => `${arnPrefix(target)}${service}:${target.region}:${target.account}:`;
  const eventsFunction = `${within("lambda")}function:${target.prefix}-events-function-*`;
  const ofEvents = { ArnLike: { "lambda:FunctionArn": eventsFunction } };
  const schedule = settings.events === undefined ? [] : ["events.amazonaws.com"];
  const callers = ["apigateway.amazonaws.com", ...schedule];
  return {
    "iam:CreateRole": { StringEquals: inside },
    "iam:PutRolePermissionsBoundary": { StringEquals: inside },
    "iam:PutRolePolicy": { StringEquals: inside },
    "iam:PassRole": { StringEquals: { "iam:PassedToService": "lambda.amazonaws.com" } },
    "iam:CreateServiceLinkedRole": { StringEquals: { "iam:AWSServiceName": DOMAIN_NAMES_SERVICE } },
    // Without it, an alarm could stop or delete the virtual machines of the account.
    "cloudwatch:PutMetricAlarm": {
      "ForAllValues:StringLike": { "cloudwatch:AlarmActions": `${within("sns")}${target.prefix}-alarms-*` },
    },
    // Without it, everyone could be allowed to invoke a function.
    "lambda:AddPermission": { StringEquals: { "lambda:Principal": callers } },
    // Without these, functions of others could be invoked.
    "lambda:CreateEventSourceMapping": ofEvents,
    "lambda:DeleteEventSourceMapping": ofEvents,
    "lambda:UpdateEventSourceMapping": ofEvents,
    // Without it, every record of every domain of the account could be changed.
    "route53:ChangeResourceRecordSets": {
      "ForAllValues:StringEquals": { "route53:ChangeResourceRecordSetsRecordTypes": ["A", "CNAME"] },
      "ForAllValues:StringLike": {
        "route53:ChangeResourceRecordSetsNormalizedRecordNames": namesBelow(settings),
      },
    },
    "events:PutTargets": { ArnLike: { "events:TargetArn": eventsFunction } },
  };
}

/** The registered domains of the hosts, and all names below: another host of the same domain needs no other policy. */
function namesBelow({ domains }: Settings): readonly string[] {
  const hosts = domains === undefined ? [] : hostsOf(domains);
  const registered = new Set(hosts.map(({ host }) => registrableDomainOf(host)));
  return [...registered].flatMap((domain) => [domain, `*.${domain}`]);
}

function boundaryOf({ events }: Settings): readonly Grant[] {
  const functions = [...Object.values(PERMISSIONS), ...(events === undefined ? [] : [EVENTS_PERMISSIONS])];
  const tables = (["orders", "accounts"] as const).map((table) => ({
    actions: functions.flatMap((calls) => [...calls[table]]),
    resources: [TABLES[table]],
  }));
  const roles = ["list", "api", ...(events === undefined ? [] : ["events"])];
  const logs = roles.map((role) => `logs:REGION:ACCOUNT:log-group:PREFIX-${role}-logs-*`);
  const ownLogs = { actions: ["logs:CreateLogStream", "logs:PutLogEvents"], resources: logs };
  if (events === undefined) return [...tables, ownLogs];
  const { bus } = events;
  const busArn =
    bus === "default" ? "events:REGION:ACCOUNT:event-bus/default" : bus.replace(/^arn:[^:]+:/, "");
  return [
    ...tables,
    ownLogs,
    { actions: EVENTS_PERMISSIONS.index, resources: [`${TABLES.orders}/index/${OUTBOX_INDEX}`] },
    { actions: STREAM_CALLS, resources: [`${TABLES.orders}/stream/*`] },
    { actions: ["dynamodb:ListStreams"], resources: [] },
    { actions: ["events:PutEvents"], resources: [busArn] },
    { actions: ["sqs:SendMessage"], resources: DEAD_LETTERS },
  ];
}

interface Grant {
  readonly actions: readonly string[];
  readonly resources: readonly string[];
}

/** One statement for each set of resources and condition, sorted, so that two versions can be compared. */
function toDocument(
  grants: readonly Grant[],
  { region, account, prefix, tables }: DeployTarget & { readonly tables: DynamodbTableNames },
  conditions: Readonly<Record<string, Condition>>,
): PolicyDocument {
  const values: Readonly<Record<string, string>> = {
    ...{ REGION: region, ACCOUNT: account, PREFIX: prefix },
    ...{ ORDERS_TABLE: tables.orders, ACCOUNTS_TABLE: tables.accounts },
  };
  const arn = (name: string) =>
    `${arnPrefix({ region })}${name.replace(/REGION|ORDERS_TABLE|ACCOUNTS_TABLE|ACCOUNT|PREFIX/g, (key) => values[key] ?? "")}`;
  const granted = grants.flatMap(({ actions, ...other }) => actions.map((action) => ({ action, ...other })));
  const alike = Map.groupBy(granted, ({ action, resources }) => {
    const Resource = UNLIMITED.has(action) ? "*" : resources.map(arn);
    return JSON.stringify({ Resource, Condition: conditions[action] });
  });
  return {
    Version: "2012-10-17",
    Statement: [...alike].map(([limits, same]) => ({
      Effect: "Allow",
      Action: [...new Set(same.map(({ action }) => action))].toSorted(),
      ...JSON.parse(limits),
    })),
  };
}
