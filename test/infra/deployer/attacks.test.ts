import { describe, expect, test } from "vitest";
import { withDefaults } from "../../../infra/config/settings.ts";
import { boundaryArn, deployerPolicies } from "../../../infra/deployer/policy-documents.ts";
import { defineDomains } from "../../../lib/domains/parse.ts";
import { allows, createAccount, type Policy, type Statement } from "./iam.ts";

/** An account with the pipelines of two stacks, whoever controls that of production, and an administrator. */
const account = "123456789012";
const target = { region: "eu-central-1", account, prefix: "store-orders-production" };
const settings = withDefaults({
  plan: "pro",
  domains: defineDomains({ primary: "orders.example.com" }, { plan: "pro" }),
  accessLogs: "account",
  alarmEmail: "ops@example.com",
  waf: { requestsPerFiveMinutes: 3000 },
});
const printed = deployerPolicies(settings, target);
const BOUNDARY = boundaryArn(settings, target);
const ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess";
const everything: Policy = { Statement: [{ Effect: "Allow", Action: "*", Resource: "*" }] };
const managed = { [BOUNDARY]: printed.boundary, [ADMINISTRATOR]: everything };

const arnOf = (name: string) => `arn:aws:iam::${account}:role/${name}`;
const trusting = (Principal: NonNullable<Statement["Principal"]>): Policy => ({
  Statement: [{ Effect: "Allow", Action: "sts:AssumeRole", Principal }],
});
const byLambda = trusting({ Service: "lambda.amazonaws.com" });
const PIPELINE = arnOf("orders-pipeline-production");
const OWN = arnOf("store-orders-production-list-role-1a2b3c4");
/** Created before the stack had a boundary. */
const UNBOUND = arnOf("store-orders-production-api-role-1a2b3c4");
const FOREIGN = arnOf("administrator");
const byPipeline = trusting({ AWS: PIPELINE });

const startAttack = () =>
  createAccount(managed, [
    { arn: PIPELINE, trust: trusting({}), policies: [printed.preview, printed.deploy, printed.functions] },
    { arn: OWN, trust: byLambda, policies: [], boundary: BOUNDARY },
    { arn: UNBOUND, trust: byLambda, policies: [] },
    { arn: FOREIGN, trust: byLambda, policies: [everything] },
  ]);
type Account = ReturnType<typeof startAttack>;

describe("the policy of the deployment denies", () => {
  const inPrefix = arnOf("store-orders-production-list-role-evil");
  test.each<[string, (by: ReturnType<Account["as"]>) => void]>([
    ["a role without the boundary", (by) => by.createRole({ arn: inPrefix, trust: byPipeline })],
    [
      "a role with a wider boundary",
      (by) => by.createRole({ arn: inPrefix, trust: byPipeline, boundary: ADMINISTRATOR }),
    ],
    [
      "a role of another name",
      (by) => by.createRole({ arn: arnOf("evil"), trust: byPipeline, boundary: BOUNDARY }),
    ],
    ["a managed policy for a role of the stack", (by) => by.attachRolePolicy(OWN, ADMINISTRATOR)],
    ["a managed policy for a role without a boundary", (by) => by.attachRolePolicy(UNBOUND, ADMINISTRATOR)],
    ["an inline policy for a role without a boundary", (by) => by.putRolePolicy(UNBOUND, everything)],
    ["an inline policy for its own role", (by) => by.putRolePolicy(PIPELINE, everything)],
    ["an inline policy for a foreign role", (by) => by.putRolePolicy(FOREIGN, everything)],
    ["the removal of the boundary", (by) => by.deleteRolePermissionsBoundary(OWN)],
    ["another boundary", (by) => by.putRolePermissionsBoundary(OWN, ADMINISTRATOR)],
    ["another trust policy of its role", (by) => by.updateAssumeRolePolicy(OWN, byPipeline)],
    [
      "another trust policy of a role without a boundary",
      (by) => by.updateAssumeRolePolicy(UNBOUND, byPipeline),
    ],
    ["another trust policy of a foreign role", (by) => by.updateAssumeRolePolicy(FOREIGN, byPipeline)],
    ["a foreign role for a function", (by) => by.passRole(FOREIGN, "lambda.amazonaws.com")],
    ["its own role for a function", (by) => by.passRole(PIPELINE, "lambda.amazonaws.com")],
    ["a role of the stack for a virtual machine", (by) => by.passRole(OWN, "ec2.amazonaws.com")],
    ["a role of the stack for an API", (by) => by.passRole(OWN, "apigateway.amazonaws.com")],
    ["a role of the stack for a build", (by) => by.passRole(OWN, "codebuild.amazonaws.com")],
    ["to assume a role of the stack", (by) => by.assumeRole(OWN)],
  ])("%s", (_attack, attempt) => {
    expect(() => attempt(startAttack().as(PIPELINE))).toThrow("AccessDenied");
  });

  const request = (action: string, resource: string, context = {}) => ({ action, resource, context });
  const stack = "store-orders-production";
  const own = `arn:aws:lambda:eu-central-1:${account}:function:${stack}-api-function-1a2b3c4`;
  test.each([
    ...[
      "CreatePolicyVersion",
      "SetDefaultPolicyVersion",
      "DeletePolicy",
      "DeletePolicyVersion",
      "CreatePolicy",
    ].map((action) => request(`iam:${action}`, BOUNDARY)),
    ...["CreateUser", "CreateAccessKey", "CreateLoginProfile", "UpdateLoginProfile", "AttachUserPolicy"].map(
      (action) => request(`iam:${action}`, `arn:aws:iam::${account}:user/admin`),
    ),
    request("iam:PutUserPolicy", `arn:aws:iam::${account}:user/admin`, {
      "iam:PermissionsBoundary": BOUNDARY,
    }),
    request("iam:AddUserToGroup", `arn:aws:iam::${account}:group/admins`),
    request("iam:AddRoleToInstanceProfile", `arn:aws:iam::${account}:instance-profile/${stack}-list-role-1`),
    request("iam:CreateOpenIDConnectProvider", `arn:aws:iam::${account}:oidc-provider/evil.example`),
    request("iam:UpdateRole", OWN),
    request("sts:AssumeRole", FOREIGN),
    request("iam:CreateServiceLinkedRole", arnOf("aws-service-role/ecs.amazonaws.com/x"), {
      "iam:AWSServiceName": "ecs.amazonaws.com",
    }),
    request("iam:CreateServiceLinkedRole", arnOf("aws-service-role/ops.apigateway.amazonaws.com/x"), {
      "iam:AWSServiceName": "ecs.amazonaws.com",
    }),
    request("lambda:AddPermission", own, { "lambda:Principal": "*" }),
    request("lambda:AddPermission", own, { "lambda:Principal": "999999999999" }),
    request("cloudwatch:PutMetricAlarm", `arn:aws:cloudwatch:eu-central-1:${account}:alarm:${stack}-5xx`, {
      "cloudwatch:AlarmActions": [
        `arn:aws:sns:eu-central-1:${account}:${stack}-alarms-1a2b3c4`,
        "arn:aws:automate:eu-central-1:ec2:terminate",
      ],
    }),
    request("lambda:CreateFunctionUrlConfig", own),
    request("lambda:InvokeFunction", own),
    request("lambda:UpdateFunctionCode", own.replace(stack, "store-orders-staging")),
    request("lambda:UpdateFunctionCode", own.replace(stack, `${stack}-eu`)),
    request("iam:DeleteRole", OWN.replace(stack, `${stack}-eu`)),
    request("dynamodb:DeleteTable", `arn:aws:dynamodb:eu-central-1:${account}:table/${stack}-eu-orders`),
    request("dynamodb:PutItem", `arn:aws:dynamodb:eu-central-1:${account}:table/${stack}-accounts`),
    request("dynamodb:PutResourcePolicy", `arn:aws:dynamodb:eu-central-1:${account}:table/${stack}-orders`),
    request("logs:PutResourcePolicy", "*"),
    request("logs:GetLogEvents", `arn:aws:logs:eu-central-1:${account}:log-group:${stack}-api-logs-1:*`),
    request("s3:GetObject", "arn:aws:s3:::state/.pulumi/stacks/production.json"),
  ])("$action on $resource", (attempt) => {
    expect(allows([printed.preview, printed.deploy], attempt)).toBe(false);
  });
});

describe("a role that the deployment creates inside the boundary", () => {
  const evil = arnOf("store-orders-production-list-role-evil");
  const assume = () => {
    const at = startAttack();
    at.as(PIPELINE).createRole({ arn: evil, trust: byPipeline, boundary: BOUNDARY });
    at.as(PIPELINE).putRolePolicy(evil, everything);
    return at.as(at.as(PIPELINE).assumeRole(evil));
  };

  test.each([
    ["iam:CreateUser", `arn:aws:iam::${account}:user/evil`],
    ["iam:PutRolePolicy", PIPELINE],
    ["sts:AssumeRole", FOREIGN],
    ["dynamodb:Scan", `arn:aws:dynamodb:eu-central-1:${account}:table/store-orders-staging-orders`],
    ["dynamodb:DeleteTable", `arn:aws:dynamodb:eu-central-1:${account}:table/store-orders-production-orders`],
    ["s3:GetObject", "arn:aws:s3:::state/.pulumi/stacks/production.json"],
    ["lambda:UpdateFunctionCode", `arn:aws:lambda:eu-central-1:${account}:function:administration`],
    ...["logs:GetLogEvents", "logs:FilterLogEvents"].flatMap((action) => [
      [action, `arn:aws:logs:eu-central-1:${account}:log-group:payroll:log-stream:a`],
      [action, `arn:aws:logs:eu-central-1:${account}:log-group:store-orders-production-api-logs-1a2b3c4:*`],
    ]),
    ["logs:PutLogEvents", `arn:aws:logs:eu-west-1:${account}:log-group:payroll:log-stream:a`],
  ])("has no administrator's rights, whatever its policy: %s", (action, resource) => {
    expect(assume().may({ action, resource })).toBe(false);
  });

  test("cannot create a role outside of the boundary either", () => {
    const session = assume();
    const next = { arn: arnOf("store-orders-production-api-role-evil"), trust: byPipeline };
    expect(() => session.createRole(next)).toThrow("AccessDenied");
    expect(() => session.deleteRolePermissionsBoundary(evil)).toThrow("AccessDenied");
  });

  test("has the permissions that the functions need", () => {
    const resource = `arn:aws:dynamodb:eu-central-1:${account}:table/store-orders-production-accounts`;
    expect(assume().may({ action: "dynamodb:UpdateItem", resource })).toBe(true);
  });
});

test("a stack that was deployed without the boundary gets it with the next update", () => {
  const at = startAttack();
  at.as(PIPELINE).putRolePermissionsBoundary(UNBOUND, BOUNDARY);
  at.as(PIPELINE).putRolePolicy(UNBOUND, everything);
  const attempt = { action: "iam:CreateUser", resource: `arn:aws:iam::${account}:user/evil` };
  expect(at.as(UNBOUND).may(attempt)).toBe(false);
});

test("whoever controls a preview can change nothing and read no data", () => {
  const actions = printed.preview.Statement.flatMap(({ Action }) => Action);
  expect(actions.filter((action) => !/:(GET|Get|List|Describe)/.test(action))).toEqual([]);
  for (const action of ["dynamodb:GetItem", "dynamodb:Scan", "dynamodb:Query", "dynamodb:BatchGetItem"]) {
    const resource = `arn:aws:dynamodb:eu-central-1:${account}:table/store-orders-production-orders`;
    expect(allows([printed.preview], { action, resource })).toBe(false);
  }
});
