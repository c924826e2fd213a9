/**
 * The decisions of IAM about requests of a principal in one account: policies of identities with conditions, permissions
 * boundaries, trust policies of roles. After "Policy evaluation logic" and "IAM JSON policy elements" in the IAM User
 * Guide. What it does not know (other elements and operators, variables) is an error, never a guess.
 */

/** A policy document as it is printed: single values may stand for lists. */
export interface Policy {
  readonly Statement: readonly Statement[];
}

export interface Statement {
  readonly Effect: "Allow" | "Deny";
  readonly Action?: string | readonly string[];
  readonly Resource?: string | readonly string[];
  readonly Principal?: { readonly AWS?: string | readonly string[]; readonly Service?: string };
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
}

/** The condition keys of a request, by name. */
export type Context = Readonly<Record<string, string | readonly string[]>>;

export interface Request {
  readonly action: string;
  readonly resource: string;
  readonly context?: Context;
}

/** True if an identity with these policies may make a request: its policies allow it, its boundary too, and none denies it. */
export function allows(policies: readonly Policy[], request: Request, boundary?: Policy): boolean {
  const statements = policies.flatMap(({ Statement }) => Statement);
  const limits = boundary?.Statement ?? [];
  const applies = (effect: Statement["Effect"]) => (statement: Statement) =>
    statement.Effect === effect && appliesTo(statement, request);
  if ([...statements, ...limits].some(applies("Deny"))) return false;
  return statements.some(applies("Allow")) && (boundary === undefined || limits.some(applies("Allow")));
}

function appliesTo(statement: Statement, { action, resource, context = {} }: Request): boolean {
  const { Effect: _, Action = [], Resource = [], Condition = {}, Principal, ...others } = statement;
  for (const element of Object.keys({ ...others, ...(Principal && { Principal }) }))
    throw new Error(`The element ${element} is not implemented.`);
  return (
    listOf(Action).some((pattern) => matchesPattern(pattern.toLowerCase(), action.toLowerCase())) &&
    listOf(Resource).some((pattern) => pattern === "*" || matchesArn(pattern, resource)) &&
    Object.entries(Condition).every(([operator, keys]) =>
      Object.entries(keys).every(([key, values]) => holds(operator, key, listOf(values), context)),
    )
  );
}

const OPERATORS: Readonly<Record<string, (pattern: string, value: string) => boolean>> = {
  StringEquals: (pattern, value) => pattern === value,
  StringLike: matchesPattern,
  // Both accept patterns.
  ArnEquals: matchesArn,
  ArnLike: matchesArn,
};

/** True if one operator holds for one key: one of the values matches. A missing key fails, except for all of its values. */
function holds(operator: string, key: string, values: readonly string[], context: Context): boolean {
  const found = Object.entries(context).find(([name]) => name.toLowerCase() === key.toLowerCase())?.[1];
  const forAll = operator.startsWith("ForAllValues:");
  const matches = OPERATORS[operator.replace("ForAllValues:", "")];
  if (matches === undefined) throw new Error(`The operator ${operator} is not implemented.`);
  const one = (text: string) => values.some((value) => matches(withoutVariables(value), text));
  if (forAll) return listOf(found ?? []).every(one);
  if (found === undefined) return false;
  if (typeof found === "string") return one(found);
  throw new Error(`${key} has several values, which needs ForAllValues.`);
}

/** True if an ARN matches a pattern, segment by segment: a wildcard ends at a colon, except in the last segment. */
function matchesArn(pattern: string, arn: string): boolean {
  const divide = (text: string) => {
    const segments = text.split(":");
    return [...segments.slice(0, 5), segments.slice(5).join(":")];
  };
  const parts = divide(arn);
  const patterns = divide(withoutVariables(pattern));
  return patterns.every((each, index) => matchesPattern(each, parts[index] ?? ""));
}

/** True if a string matches a pattern in which `*` stands for any characters and `?` for one. */
function matchesPattern(pattern: string, text: string): boolean {
  const expression = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${expression}$`, "s").test(text);
}

function withoutVariables(value: string): string {
  if (value.includes("${")) throw new Error(`The variable in ${value} is not implemented.`);
  return value;
}

function listOf(value: string | readonly string[]): readonly string[] {
  return typeof value === "string" ? [value] : value;
}

export interface Role {
  readonly arn: string;
  readonly trust: Policy;
  readonly policies: readonly Policy[];
  /** The ARN of its permissions boundary. */
  readonly boundary?: string | undefined;
}

/** An account with managed policies and roles, in which roles act on other roles. Each action throws if it is denied. */
export function createAccount(managed: Readonly<Record<string, Policy>>, initial: readonly Role[]) {
  const roles = new Map(initial.map((role) => [role.arn, role]));
  const roleAt = (arn: string): Role => {
    const role = roles.get(arn);
    if (role === undefined) throw new Error(`There is no role ${arn}.`);
    return role;
  };
  const policyAt = (arn: string): Policy => {
    const policy = managed[arn];
    if (policy === undefined) throw new Error(`There is no policy ${arn}.`);
    return policy;
  };
  const may = (as: string, request: Request): boolean => {
    const { policies, boundary } = roleAt(as);
    return allows(policies, request, boundary === undefined ? undefined : policyAt(boundary));
  };
  const demand = (as: string, action: string, resource: string, context: Context) => {
    if (!may(as, { action, resource, context })) throw new Error(`AccessDenied: ${action} on ${resource}`);
  };
  /** The boundary of a role is a condition key of the calls that change the role. */
  const key = (boundary: string | undefined): Context =>
    boundary === undefined ? {} : { "iam:PermissionsBoundary": boundary };

  const as = (actor: string) => ({
    may: (request: Request) => may(actor, request),
    createRole(role: Omit<Role, "policies">) {
      demand(actor, "iam:CreateRole", role.arn, key(role.boundary));
      roles.set(role.arn, { ...role, policies: [] });
    },
    putRolePolicy(arn: string, policy: Policy) {
      const role = roleAt(arn);
      demand(actor, "iam:PutRolePolicy", arn, key(role.boundary));
      roles.set(arn, { ...role, policies: [...role.policies, policy] });
    },
    attachRolePolicy(arn: string, policy: string) {
      const role = roleAt(arn);
      demand(actor, "iam:AttachRolePolicy", arn, { ...key(role.boundary), "iam:PolicyARN": policy });
      roles.set(arn, { ...role, policies: [...role.policies, policyAt(policy)] });
    },
    putRolePermissionsBoundary(arn: string, boundary: string) {
      demand(actor, "iam:PutRolePermissionsBoundary", arn, key(boundary));
      roles.set(arn, { ...roleAt(arn), boundary });
    },
    deleteRolePermissionsBoundary(arn: string) {
      const { boundary: _removed, ...role } = roleAt(arn);
      demand(actor, "iam:DeleteRolePermissionsBoundary", arn, key(_removed));
      roles.set(arn, role);
    },
    updateAssumeRolePolicy(arn: string, trust: Policy) {
      demand(actor, "iam:UpdateAssumeRolePolicy", arn, {});
      roles.set(arn, { ...roleAt(arn), trust });
    },
    passRole(arn: string, service: string) {
      demand(actor, "iam:PassRole", arn, { "iam:PassedToService": service });
    },
    /** Within an account, a trust policy that names the caller is enough. */
    assumeRole(arn: string): string {
      const trusted = roleAt(arn).trust.Statement.some(
        ({ Effect, Principal }) => Effect === "Allow" && listOf(Principal?.AWS ?? []).includes(actor),
      );
      if (!trusted) throw new Error(`AccessDenied: sts:AssumeRole on ${arn}`);
      return arn;
    },
  });
  return { as };
}
