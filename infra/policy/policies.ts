import { RECORD_TTL_SECONDS } from "../../lib/domains/records.ts";

/** Stands for a value that is not known yet. It breaks no rule: it is looked at again once it is known. */
export const UNKNOWN: unique symbol = Symbol("not known yet");

/** A resource as it is about to be registered. */
export interface ResourceInputs {
  readonly type: string;
  readonly name: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly protect: boolean;
}

/** What is promised of a stack. */
export interface PolicyContext {
  /** True where the stack's data are protected. */
  readonly protect: boolean;
}

/** A rule: gives what a resource does against it, each with its mend. */
type Policy = (resource: ResourceInputs, context: PolicyContext) => readonly string[];

/** Everything that a resource does against the rules of the stack. Pure. */
export function violations(resource: ResourceInputs, context: PolicyContext): readonly string[] {
  return (POLICIES[resource.type] ?? []).flatMap((rule) => rule(resource, context));
}

/** The managed policies that may be attached: none but the one that API Gateway insists on for its logs. */
const MANAGED_POLICIES: ReadonlySet<unknown> = new Set([
  "arn:aws:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs",
]);

const noWildcards: Policy = ({ inputs }) =>
  statementsIn(inputs["policy"]).flatMap((statement) => [
    ...textsIn(statement["Action"])
      .filter((action) => action.includes("*"))
      .map((action) => `the action '${action}' has a wildcard. Name every call.`),
    ...textsIn(statement["Resource"])
      .filter((resource) => resource.includes("*") && !isStreamsOfOneLog(resource))
      .map((resource) => `the resource '${resource}' has a wildcard. Name every resource.`),
    ...["NotAction", "NotResource"]
      .filter((key) => statement[key] !== undefined)
      .map((key) => `'${key}' allows whatever is not named. Name what is allowed.`),
  ]);

const noManagedPolicy: Policy = ({ inputs }) => {
  const attached = [...textsIn(inputs["policyArn"]), ...textsIn(inputs["managedPolicyArns"])];
  return attached
    .filter((arn) => arn.startsWith("arn:aws:iam::aws:") && !MANAGED_POLICIES.has(arn))
    .map((arn) => `the managed policy ${arn} has wildcards. Write a policy with exact rights.`);
};

const protectedData: Policy = ({ inputs, protect }, context) => {
  if (!context.protect) return [];
  const recovery = inputs["pointInTimeRecovery"];
  const backed = isRecord(recovery) ? recovery["enabled"] : recovery;
  return [
    ...(protect ? [] : ["the table is not protected. Set the option 'protect'."]),
    ...(holds(inputs["deletionProtectionEnabled"], true)
      ? []
      : ["the table can be deleted. Set 'deletionProtectionEnabled'."]),
    ...(holds(backed, true) ? [] : ["the table has no backups. Set 'pointInTimeRecovery.enabled'."]),
  ];
};

const plainCname: Policy = ({ inputs }) => {
  if (inputs["type"] !== "CNAME") return [];
  return [
    ...(holds(inputs["ttl"], RECORD_TTL_SECONDS)
      ? []
      : [`the TTL is ${String(inputs["ttl"])}. Set 'ttl: ${RECORD_TTL_SECONDS}'.`]),
    ...(inputs["proxied"] === true
      ? ["the record is proxied, which hides it and breaks streams. Set 'proxied: false'."]
      : []),
  ];
};

const keptLogs: Policy = ({ inputs }) => {
  const days = inputs["retentionInDays"];
  return days === UNKNOWN || (typeof days === "number" && days > 0)
    ? []
    : ["the log is kept for ever. Set 'retentionInDays'."];
};

const POLICIES: Readonly<Record<string, readonly Policy[]>> = {
  "aws:iam/policy:Policy": [noWildcards],
  "aws:iam/rolePolicy:RolePolicy": [noWildcards],
  "aws:iam/role:Role": [inlineRights, noManagedPolicy],
  "aws:iam/rolePolicyAttachment:RolePolicyAttachment": [noManagedPolicy],
  "aws:dynamodb/table:Table": [protectedData],
  "cloudflare:index/dnsRecord:DnsRecord": [plainCname],
  "aws:cloudwatch/logGroup:LogGroup": [keptLogs],
};

function inlineRights(resource: ResourceInputs, context: PolicyContext): readonly string[] {
  const { inlinePolicies } = resource.inputs;
  if (!Array.isArray(inlinePolicies)) return [];
  return inlinePolicies.filter(isRecord).flatMap((inputs) => noWildcards({ ...resource, inputs }, context));
}

/** Lambda names the streams of a log as it likes, so they may be open; the log itself has to be named. */
function isStreamsOfOneLog(resource: string): boolean {
  return /^arn:[^*]*:log-group:[^*:]+:(log-stream:)?\*$/.test(resource);
}

function statementsIn(policy: unknown): readonly Readonly<Record<string, unknown>>[] {
  const document = typeof policy === "string" ? asJson(policy) : policy;
  if (!isRecord(document)) return [];
  return [document["Statement"]]
    .flat()
    .filter(isRecord)
    .filter(({ Effect }) => Effect === "Allow");
}

function textsIn(value: unknown): readonly string[] {
  return [value].flat().filter((text) => typeof text === "string");
}

function holds(value: unknown, wanted: unknown): boolean {
  return value === UNKNOWN || value === wanted;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
