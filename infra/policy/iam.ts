import { type Inputs, isPlainObject, stringsIn } from "./inputs.ts";
import type { Policy } from "./policies.ts";

/** A statement of an IAM policy, with its keys in lower case. */
type Statement = Readonly<Record<string, unknown>>;

/**
 * Rejects wildcards and negations in every IAM policy document of a resource, whatever its type and wherever the
 * document is: in an object, in JSON, or in JSON inside JSON.
 */
export const requireExactStatements: Policy = ({ type, inputs }) => {
  if (PUBLIC_BY_DESIGN.has(type)) return [];
  return allowStatementsIn(inputs).flatMap((statement) => checkStatement(statement, type));
};

/** Rejects JSON that has a key twice: its readers differ in which of the two values counts. */
export const rejectRepeatedKeys: Policy = ({ inputs }) =>
  documentsIn(inputs)
    .filter((json) => countKeys(JSON.parse(json)) !== [...json.matchAll(JSON_STRING)].filter(isKey).length)
    .map(() => "a policy document has a key twice. Write each key once.");

/** A string, and the colon after it if it is a key. */
const JSON_STRING = /"(?:[^"\\]|\\.)*"(\s*:)?/g;
const isKey = ([, colon]: RegExpMatchArray) => colon !== undefined;

function countKeys(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce<number>((sum, inner) => sum + countKeys(inner), own);
}

/** Every policy document in the strings at any depth. */
function documentsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return /"effect"/i.test(value) && parseJson(value) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap(documentsIn);
  return isPlainObject(value) ? Object.values(value).flatMap(documentsIn) : [];
}

/** Rejects every AWS managed policy, because they contain wildcards. */
export const rejectManagedPolicies: Policy = ({ inputs }) =>
  managedPoliciesIn(inputs)
    .filter((arn) => !REQUIRED_MANAGED_POLICY.test(arn))
    .map(
      (arn) =>
        `the managed policy ${arn} has wildcards. Write a policy that names the exact calls and resources.`,
    );

/** API Gateway accepts no narrower policy for the role that writes its logs. */
const REQUIRED_MANAGED_POLICY =
  /^arn:[^:]*:iam::aws:policy\/service-role\/AmazonAPIGatewayPushToCloudWatchLogs$/;

/** The policies of a public API allow every caller and restrict some. Without a policy every caller is allowed too. */
const PUBLIC_BY_DESIGN: ReadonlySet<string> = new Set([
  "aws:apigateway/restApi:RestApi",
  "aws:apigateway/restApiPolicy:RestApiPolicy",
]);

export function hasWildcard(text: string): boolean {
  return /[*?]/.test(text);
}

function checkStatement(statement: Statement, type: string): readonly string[] {
  const isResourcePolicy = statement["principal"] !== undefined || statement["notprincipal"] !== undefined;
  // The resource policy of a KMS key must allow someone `kms:*`, otherwise the key cannot be managed.
  const actions = isResourcePolicy && type.startsWith("aws:kms/") ? [] : stringsIn(statement["action"]);
  // A resource policy applies only to the resource that it belongs to.
  const resources = isResourcePolicy ? [] : stringsIn(statement["resource"]);
  return [
    ...actions.filter(hasWildcard).map((action) => `the action '${action}' has a wildcard. Name every call.`),
    ...resources
      .filter((resource) => hasWildcard(resource) && !isStreamsOfOneLogGroup(resource))
      .map((resource) => `the resource '${resource}' has a wildcard. Name every resource.`),
    ...principalsIn(statement["principal"])
      .filter(hasWildcard)
      .map((principal) => `the principal '${principal}' has a wildcard. Name every principal.`),
    ...["NotAction", "NotResource", "NotPrincipal"]
      .filter((key) => statement[key.toLowerCase()] !== undefined)
      .map((key) => `'${key}' allows everything that is not named. Name what is allowed.`),
  ];
}

/** Lambda chooses the names of log streams, so they may be a wildcard. The log group must be named. */
function isStreamsOfOneLogGroup(resource: string): boolean {
  return /^arn:[^:*?]*:logs:[^*?]*:log-group:[^*?:]+:(log-stream:)?\*$/.test(resource);
}

function principalsIn(principal: unknown): readonly string[] {
  return isPlainObject(principal) ? Object.values(principal).flatMap(stringsIn) : stringsIn(principal);
}

/** Every statement at any depth that is not a denial. */
function allowStatementsIn(value: unknown): readonly Statement[] {
  if (typeof value === "string") return /^\s*[{[]/.test(value) ? allowStatementsIn(parseJson(value)) : [];
  if (Array.isArray(value)) return value.flatMap(allowStatementsIn);
  if (!isPlainObject(value)) return [];
  const fields = foldKeys(value);
  const isStatement = "effect" in fields && ("action" in fields || "notaction" in fields);
  if (!isStatement) return Object.values(value).flatMap(allowStatementsIn);
  return fields["effect"] === "Deny" ? [] : [fields];
}

/** The fields with keys in lower case. Fields that differ only in case are combined, so that none hides another. */
function foldKeys(value: Inputs): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) {
    const key = name.toLowerCase();
    fields[key] = Object.hasOwn(fields, key) ? [fields[key], inner] : inner;
  }
  return fields;
}

function managedPoliciesIn(value: unknown): readonly string[] {
  if (typeof value === "string") return /^\s*arn:[^:]*:iam::aws:policy\//i.test(value) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap(managedPoliciesIn);
  if (!isPlainObject(value)) return [];
  // A boundary grants nothing.
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "permissionsBoundary" ? [] : managedPoliciesIn(inner),
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
