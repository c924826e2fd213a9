import { describe, expect, test } from "vitest";
import { UNKNOWN } from "../../../infra/policy/inputs.ts";
import { check, document, getItem, type Inputs, TABLE_ARN } from "./policy-fixture.ts";

const everything = { Effect: "Allow", Action: "*", Resource: "*" };

describe("policies of identities", () => {
  const checkStatement = (statement: Inputs) =>
    check("aws:iam/rolePolicy:RolePolicy", { policy: document(statement) });

  test.each<[string, Inputs]>([
    ["every action", { ...getItem, Action: "*" }],
    ["every action of a service", { ...getItem, Action: "dynamodb:*" }],
    ["some actions of a service", { ...getItem, Action: ["dynamodb:Get*"] }],
    ["question marks in an action", { ...getItem, Action: "dynamodb:???????Item" }],
    ["one question mark in an action", { ...getItem, Action: "iam:Pass?ole" }],
    ["every resource", { ...getItem, Resource: "*" }],
    ["the indexes of a table", { ...getItem, Resource: `${TABLE_ARN}/index/*` }],
    ["question marks in a resource", { ...getItem, Resource: "arn:aws:dynamodb:eu-central-1:1:table/?????" }],
    [
      "the streams of every log group",
      { ...getItem, Action: "logs:PutLogEvents", Resource: "arn:aws:logs:eu-central-1:1:log-group:*:*" },
    ],
    [
      "the streams of log groups with question marks",
      { ...getItem, Action: "logs:PutLogEvents", Resource: "arn:aws:logs:eu-central-1:1:log-group:????:*" },
    ],
    ["NotAction", { Effect: "Allow", NotAction: "iam:PassRole", Resource: TABLE_ARN }],
    ["NotResource", { Effect: "Allow", Action: "dynamodb:GetItem", NotResource: TABLE_ARN }],
    ["keys in lower case", { effect: "Allow", action: "dynamodb:*", resource: TABLE_ARN }],
  ])("%s is a violation", (_case, statement) => {
    expect(checkStatement(statement)).toHaveLength(1);
  });

  test.each<[string, Inputs]>([
    ["exact actions and resources", getItem],
    ["denied actions", { ...everything, Effect: "Deny" }],
    [
      "the streams of one log group, which Lambda names",
      {
        ...getItem,
        Action: "logs:PutLogEvents",
        Resource: "arn:aws:logs:eu-central-1:1:log-group:list-1a2b:*",
      },
    ],
    ["unknown values", { Effect: "Allow", Action: UNKNOWN, Resource: [UNKNOWN] }],
  ])("%s are allowed", (_case, statement) => {
    expect(checkStatement(statement)).toEqual([]);
  });

  test.each<[string, Inputs]>([
    ["aws:iam/policy:Policy", { policy: JSON.stringify(document(everything)) }],
    ["aws:iam/role:Role", { inlinePolicies: [{ policy: JSON.stringify(document(everything)) }] }],
    ["aws:iam/userPolicy:UserPolicy", { policy: document(everything) }],
    ["aws:iam/groupPolicy:GroupPolicy", { policy: ` ${JSON.stringify({ Statement: everything })}` }],
    [
      "aws:ssoadmin/permissionSetInlinePolicy:PermissionSetInlinePolicy",
      { inlinePolicy: JSON.stringify(document(everything)) },
    ],
    [
      "aws:cloudformation/stack:Stack",
      {
        templateBody: JSON.stringify({
          Resources: { All: { Properties: { PolicyDocument: document(everything) } } },
        }),
      },
    ],
  ])("the policies in %s are checked", (type, inputs) => {
    expect(check(type, inputs)).toHaveLength(2);
  });
});

describe("managed policies", () => {
  const ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess";

  test.each<[string, Inputs]>([
    ["aws:iam/rolePolicyAttachment:RolePolicyAttachment", { policyArn: ADMINISTRATOR }],
    ["aws:iam/userPolicyAttachment:UserPolicyAttachment", { policyArn: ADMINISTRATOR }],
    ["aws:iam/groupPolicyAttachment:GroupPolicyAttachment", { policyArn: ADMINISTRATOR }],
    ["aws:iam/policyAttachment:PolicyAttachment", { name: "all", policyArn: ADMINISTRATOR, roles: ["r"] }],
    ["aws:iam/role:Role", { managedPolicyArns: [ADMINISTRATOR] }],
    [
      "aws:iam/rolePolicyAttachmentsExclusive:RolePolicyAttachmentsExclusive",
      { policyArns: [ADMINISTRATOR], roleName: "r" },
    ],
    ["aws:ssoadmin/managedPolicyAttachment:ManagedPolicyAttachment", { managedPolicyArn: ADMINISTRATOR }],
  ])("AdministratorAccess in %s is a violation", (type, inputs) => {
    expect(check(type, inputs)).toHaveLength(1);
  });

  test.each(["aws-cn", "aws-us-gov", "aws-iso-b"])(
    "AdministratorAccess of %s is a violation",
    (partition) => {
      const policyArn = ADMINISTRATOR.replace("aws:", `${partition}:`);
      expect(check("aws:iam/rolePolicyAttachment:RolePolicyAttachment", { policyArn })).toHaveLength(1);
    },
  );

  test.each(["aws", "aws-cn"])(
    "the policy that API Gateway requires for its logs is allowed in %s",
    (partition) => {
      const policyArn = `arn:${partition}:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs`;
      expect(check("aws:iam/rolePolicyAttachment:RolePolicyAttachment", { policyArn })).toEqual([]);
    },
  );

  test("an ARN that only ends like the required policy is a violation", () => {
    const policyArn = `${ADMINISTRATOR}:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs`;
    expect(check("aws:iam/rolePolicyAttachment:RolePolicyAttachment", { policyArn })).toHaveLength(1);
  });

  test("own policies and permissions boundaries are allowed", () => {
    const policyArn = "arn:aws:iam::123456789012:policy/orders";
    expect(check("aws:iam/userPolicyAttachment:UserPolicyAttachment", { policyArn })).toEqual([]);
    expect(check("aws:iam/role:Role", { permissionsBoundary: ADMINISTRATOR })).toEqual([]);
  });
});

describe("documents that readers understand differently", () => {
  const type = "aws:iam/policy:Policy";
  const statement = (fields: string) => ({ policy: `{"Statement":[{${fields}}]}` });

  test.each([
    ["an action twice", '"Effect":"Allow","Action":"*","Action":"sns:Publish","Resource":"arn:aws:sns:::a"'],
    ["an effect twice", '"Effect":"Allow","Effect" : "Deny","Action":"*","Resource":"*"'],
  ])("a document with %s is a violation", (_what, fields) => {
    expect(check(type, statement(fields))).toEqual([expect.stringContaining("a key twice")]);
  });

  test("keys that differ only in case do not hide each other", () => {
    const exact = { Effect: "Allow", Action: "sns:Publish", Resource: "arn:aws:sns:eu:123456789012:a" };
    expect(check(type, { policy: document({ ...exact, action: "*" }) })).toHaveLength(1);
    expect(check(type, { policy: document({ ...exact, Action: "*", effect: "Deny" }) })).toHaveLength(1);
  });

  test("lists in lists, and instances of classes, are checked like other values", () => {
    const all = { Effect: "Allow", Action: [["*"]], Resource: "arn:aws:sns:eu:123456789012:a" };
    expect(check(type, { policy: document(all) })).toHaveLength(1);
    class PolicyDocument {
      readonly Statement = [{ ...all, Action: "*" }];
    }
    expect(check(type, { policy: new PolicyDocument() })).toHaveLength(1);
  });

  test("only the streams of a log group of CloudWatch may be a wildcard", () => {
    const put = (Resource: string) => ({ Effect: "Allow", Action: "logs:PutLogEvents", Resource });
    const streams = (service: string) => `arn:aws:${service}:eu:123456789012:log-group:a:*`;
    expect(check(type, { policy: document(put(streams("logs"))) })).toEqual([]);
    expect(check(type, { policy: document(put(streams("s3"))) })).toHaveLength(1);
  });
});
