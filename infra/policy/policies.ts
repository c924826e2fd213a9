import { RECORD_TTL_SECONDS } from "../../lib/domains/records.ts";
import { rejectManagedPolicies, rejectRepeatedKeys, requireExactStatements } from "./iam.ts";
import { type Inputs, isOrUnknown, isPlainObject, UNKNOWN } from "./inputs.ts";
import { requireFunctionUrlAuthorization, requireNamedInvoker, requireNamedPrincipal } from "./lambda.ts";

/** A resource that is about to be registered. */
export interface ResourceInputs {
  readonly type: string;
  readonly name: string;
  readonly inputs: Inputs;
  /** The resource option of the same name. */
  readonly protect: boolean;
}

/** What the policies depend on. */
export interface PolicyContext {
  /** True if tables must be protected from deletion. */
  readonly protect: boolean;
}

/** Returns the violations of a resource, each with its fix. */
export type Policy = (resource: ResourceInputs, context: PolicyContext) => readonly string[];

/** Returns every policy violation of a resource. Pure. */
export function violations(resource: ResourceInputs, context: PolicyContext): readonly string[] {
  const policies = [...FOR_EVERY_TYPE, ...(BY_TYPE[resource.type] ?? [])];
  return policies.flatMap((policy) => policy(resource, context));
}

const requirePulumiProtection: Policy = ({ protect }, context) =>
  protect || !context.protect
    ? []
    : ["the table has no deletion protection in Pulumi. Set the option 'protect'."];

const requireTableProtection: Policy = ({ inputs }, context) => {
  if (!context.protect) return [];
  const replicas = [inputs["replicas"]].flat().filter(isPlainObject);
  return [
    ...checkProtection("the table", inputs),
    ...replicas.flatMap((replica) =>
      checkProtection(`the replica in ${String(replica["regionName"])}`, replica),
    ),
  ];
};

function checkProtection(subject: string, inputs: Inputs): readonly string[] {
  const { pointInTimeRecovery: recovery, deletionProtectionEnabled } = inputs;
  const recoveryEnabled = isPlainObject(recovery) ? recovery["enabled"] : recovery;
  return [
    ...(isOrUnknown(deletionProtectionEnabled, true)
      ? []
      : [`${subject} has no deletion protection in AWS. Set 'deletionProtectionEnabled'.`]),
    ...(isOrUnknown(recoveryEnabled, true)
      ? []
      : [`${subject} has no point-in-time recovery. Enable 'pointInTimeRecovery'.`]),
  ];
}

const requireDnsOnlyCname: Policy = ({ inputs: { type, ttl, proxied } }) => {
  if (typeof type !== "string" || type.toUpperCase() !== "CNAME") return [];
  return [
    ...(isOrUnknown(ttl, RECORD_TTL_SECONDS)
      ? []
      : [`the TTL is ${String(ttl)}. Set 'ttl: ${RECORD_TTL_SECONDS}'.`]),
    ...(String(proxied) === "true"
      ? ["the record is proxied, which breaks DNS verification and streaming. Set 'proxied: false'."]
      : []),
  ];
};

const requireLogRetention: Policy = ({ inputs: { retentionInDays: days } }) =>
  days === UNKNOWN || (typeof days === "number" && days > 0)
    ? []
    : ["the log group has no retention. Set 'retentionInDays'."];

const FOR_EVERY_TYPE: readonly Policy[] = [
  requireExactStatements,
  rejectRepeatedKeys,
  rejectManagedPolicies,
  requireNamedPrincipal,
];

const BY_TYPE: Readonly<Record<string, readonly Policy[]>> = {
  "aws:lambda/permission:Permission": [requireNamedInvoker],
  "aws:lambda/functionUrl:FunctionUrl": [requireFunctionUrlAuthorization],
  "aws-native:lambda:Url": [requireFunctionUrlAuthorization],
  "aws:dynamodb/table:Table": [requirePulumiProtection, requireTableProtection],
  "aws:dynamodb/tableReplica:TableReplica": [requirePulumiProtection, requireTableProtection],
  "aws:dynamodb/globalTable:GlobalTable": [requirePulumiProtection],
  "cloudflare:index/dnsRecord:DnsRecord": [requireDnsOnlyCname],
  "cloudflare:index/record:Record": [requireDnsOnlyCname],
  "aws:cloudwatch/logGroup:LogGroup": [requireLogRetention],
};
