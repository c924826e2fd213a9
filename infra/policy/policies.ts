import { RECORD_TTL_SECONDS } from "../../lib/domains/records.ts";

/** Replaces a value that is not known yet. It violates no policy; the resource is checked again once it is known. */
export const UNKNOWN: unique symbol = Symbol("unknown");

/** A resource that is about to be registered. */
export interface ResourceInputs {
  readonly type: string;
  readonly name: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly protect: boolean;
}

/** What the policies depend on. */
export interface PolicyContext {
  /** True if tables must be protected from deletion. */
  readonly protect: boolean;
}

/** Returns the violations of a resource, each with its fix. */
type Policy = (resource: ResourceInputs, context: PolicyContext) => readonly string[];

/** Returns every policy violation of a resource. Pure. */
export function violations(resource: ResourceInputs, context: PolicyContext): readonly string[] {
  return (POLICIES[resource.type] ?? []).flatMap((policy) => policy(resource, context));
}

/** The only managed policy that may be attached: API Gateway requires it for its logs. */
const ALLOWED_MANAGED_POLICIES: ReadonlySet<unknown> = new Set([
  "arn:aws:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs",
]);

const noWildcards: Policy = ({ inputs }) =>
  statementsIn(inputs["policy"]).flatMap((statement) => [
    ...stringsIn(statement["Action"])
      .filter((action) => action.includes("*"))
      .map((action) => `the action '${action}' has a wildcard. Name every call.`),
    ...stringsIn(statement["Resource"])
      .filter((resource) => resource.includes("*") && !isStreamsOfOneLogGroup(resource))
      .map((resource) => `the resource '${resource}' has a wildcard. Name every resource.`),
    ...["NotAction", "NotResource"]
      .filter((key) => statement[key] !== undefined)
      .map((key) => `'${key}' allows everything that is not named. Name what is allowed.`),
  ]);

const noManagedPolicy: Policy = ({ inputs }) => {
  const attached = [...stringsIn(inputs["policyArn"]), ...stringsIn(inputs["managedPolicyArns"])];
  return attached
    .filter((arn) => arn.startsWith("arn:aws:iam::aws:") && !ALLOWED_MANAGED_POLICIES.has(arn))
    .map(
      (arn) =>
        `the managed policy ${arn} has wildcards. Write a policy that names the exact calls and resources.`,
    );
};

const requireTableProtection: Policy = ({ inputs, protect }, context) => {
  if (!context.protect) return [];
  const recovery = inputs["pointInTimeRecovery"];
  const hasBackups = isRecord(recovery) ? recovery["enabled"] : recovery;
  return [
    ...(protect ? [] : ["the table has no deletion protection in Pulumi. Set the option 'protect'."]),
    ...(isOrUnknown(inputs["deletionProtectionEnabled"], true)
      ? []
      : ["the table has no deletion protection in AWS. Set 'deletionProtectionEnabled'."]),
    ...(isOrUnknown(hasBackups, true)
      ? []
      : ["the table has no point-in-time recovery. Set 'pointInTimeRecovery.enabled'."]),
  ];
};

const requireDnsOnlyCname: Policy = ({ inputs }) => {
  if (inputs["type"] !== "CNAME") return [];
  return [
    ...(isOrUnknown(inputs["ttl"], RECORD_TTL_SECONDS)
      ? []
      : [`the TTL is ${String(inputs["ttl"])}. Set 'ttl: ${RECORD_TTL_SECONDS}'.`]),
    ...(inputs["proxied"] === true
      ? ["the record is proxied, which breaks DNS verification and streaming. Set 'proxied: false'."]
      : []),
  ];
};

const requireLogRetention: Policy = ({ inputs }) => {
  const days = inputs["retentionInDays"];
  return days === UNKNOWN || (typeof days === "number" && days > 0)
    ? []
    : ["the log group has no retention. Set 'retentionInDays'."];
};

const POLICIES: Readonly<Record<string, readonly Policy[]>> = {
  "aws:iam/policy:Policy": [noWildcards],
  "aws:iam/rolePolicy:RolePolicy": [noWildcards],
  "aws:iam/role:Role": [checkInlinePolicies, noManagedPolicy],
  "aws:iam/rolePolicyAttachment:RolePolicyAttachment": [noManagedPolicy],
  "aws:dynamodb/table:Table": [requireTableProtection],
  "cloudflare:index/dnsRecord:DnsRecord": [requireDnsOnlyCname],
  "aws:cloudwatch/logGroup:LogGroup": [requireLogRetention],
};

function checkInlinePolicies(resource: ResourceInputs, context: PolicyContext): readonly string[] {
  const { inlinePolicies } = resource.inputs;
  if (!Array.isArray(inlinePolicies)) return [];
  return inlinePolicies.filter(isRecord).flatMap((inputs) => noWildcards({ ...resource, inputs }, context));
}

/** Lambda chooses the names of log streams, so they may be a wildcard. The log group must be named. */
function isStreamsOfOneLogGroup(resource: string): boolean {
  return /^arn:[^*]*:log-group:[^*:]+:(log-stream:)?\*$/.test(resource);
}

function statementsIn(policy: unknown): readonly Readonly<Record<string, unknown>>[] {
  const document = typeof policy === "string" ? parseJson(policy) : policy;
  if (!isRecord(document)) return [];
  return [document["Statement"]]
    .flat()
    .filter(isRecord)
    .filter(({ Effect }) => Effect === "Allow");
}

function stringsIn(value: unknown): readonly string[] {
  return [value].flat().filter((text) => typeof text === "string");
}

function isOrUnknown(value: unknown, expected: unknown): boolean {
  return value === UNKNOWN || value === expected;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
