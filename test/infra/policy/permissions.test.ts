import { describe, expect, test } from "vitest";
import { UNKNOWN } from "../../../infra/policy/inputs.ts";
import { violations } from "../../../infra/policy/policies.ts";

type Inputs = Readonly<Record<string, unknown>>;

const check = (type: string, inputs: Inputs) =>
  violations({ type, name: "it", inputs, protect: true }, { protect: true });
const document = (statement: Inputs) => ({ Version: "2012-10-17", Statement: [statement] });
const TABLE_ARN = "arn:aws:dynamodb:eu-central-1:1:table/t";
const getItem = { Effect: "Allow", Action: "dynamodb:GetItem", Resource: TABLE_ARN };
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

describe("policies of resources", () => {
  const TYPE = "aws:dynamodb/resourcePolicy:ResourcePolicy";
  const role = { AWS: "arn:aws:iam::123456789012:role/reports" };
  const checkPolicy = (statement: Inputs, type = TYPE) =>
    check(type, { resourceArn: TABLE_ARN, policy: JSON.stringify(document(statement)) });

  test.each<[string, Inputs]>([
    ["every principal", { ...getItem, Principal: "*" }],
    ["every AWS principal", { ...getItem, Principal: { AWS: "*" } }],
    ["every principal among others", { ...getItem, Principal: { AWS: [role.AWS, "*"] } }],
    ["roles with a wildcard", { ...getItem, Principal: { AWS: "arn:aws:iam::123456789012:role/?" } }],
    ["NotPrincipal", { ...getItem, NotPrincipal: role }],
    ["every action for a role", { ...getItem, Principal: role, Action: "dynamodb:*" }],
    [
      "NotAction for a role",
      { Effect: "Allow", NotAction: "dynamodb:PutItem", Resource: "*", Principal: role },
    ],
    [
      "every principal with a condition",
      { ...getItem, Principal: "*", Condition: { StringLike: { "aws:SourceArn": "arn:aws:?:*" } } },
    ],
  ])("%s is a violation", (_case, statement) => {
    expect(checkPolicy(statement)).toHaveLength(1);
  });

  test("named principals and exact actions are allowed", () => {
    expect(checkPolicy({ ...getItem, Principal: role })).toEqual([]);
  });

  test.each([
    "aws:sqs/queuePolicy:QueuePolicy",
    "aws:sns/topicPolicy:TopicPolicy",
    "aws:s3/bucketPolicy:BucketPolicy",
  ])("access for everyone in %s is a violation", (type) => {
    expect(checkPolicy({ ...getItem, Principal: "*" }, type)).toHaveLength(1);
  });

  test("a role that everyone can assume is a violation, one for a service is not", () => {
    const trust = (Principal: unknown) =>
      check("aws:iam/role:Role", {
        assumeRolePolicy: document({ Effect: "Allow", Action: "sts:AssumeRole", Principal }),
      });
    expect(trust({ AWS: "*" })).toHaveLength(1);
    expect(trust({ Service: "lambda.amazonaws.com" })).toEqual([]);
  });

  test("the default policy of a KMS key and the policy of a public API are allowed", () => {
    const root = { AWS: "arn:aws:iam::123456789012:root" };
    const key = { Effect: "Allow", Action: "kms:*", Resource: "*", Principal: root };
    expect(checkPolicy(key, "aws:kms/key:Key")).toEqual([]);
    const invoke = {
      Effect: "Allow",
      Action: "execute-api:Invoke",
      Resource: "execute-api:/*",
      Principal: "*",
    };
    expect(checkPolicy(invoke, "aws:apigateway/restApiPolicy:RestApiPolicy")).toEqual([]);
    expect(checkPolicy({ ...key, Principal: "*" }, "aws:kms/key:Key")).toHaveLength(1);
  });
});

describe("access to functions", () => {
  const permission = {
    action: "lambda:InvokeFunction",
    function: "list",
    principal: "apigateway.amazonaws.com",
    sourceArn: "arn:aws:execute-api:eu-central-1:123456789012:api123/live/*/*",
  };
  const withSource = (sourceArn: string | undefined) => ({ ...permission, sourceArn });
  const checkPermission = (inputs: Inputs) => check("aws:lambda/permission:Permission", inputs);

  test.each<[string, Inputs]>([
    ["for every principal", { ...permission, principal: "*" }],
    ["for a service without a source", withSource(undefined)],
    ["for every source", withSource("*")],
    ["for a source in any account", withSource("arn:aws:execute-api:eu-central-1:*:api123/live/*/*")],
    [
      "for a source with question marks",
      withSource("arn:aws:execute-api:eu-central-1:123456789012:??????/*"),
    ],
    ["for every API", withSource("arn:aws:execute-api:eu-central-1:123456789012:*/live/GET/")],
    ["for every source account", { ...withSource(undefined), sourceAccount: "*" }],
    ["for an empty source account", { ...withSource(undefined), sourceAccount: "" }],
    ["for a bucket name of any account", withSource("arn:aws:s3:::reports")],
    ["for an API of no account", withSource("arn:aws:execute-api:::api123/*")],
    ["for an empty event source token", { ...withSource(undefined), eventSourceToken: "" }],
    ["for every action", { ...permission, action: "lambda:*" }],
    ["for a public function URL", { ...permission, principal: "*", functionUrlAuthType: "NONE" }],
  ])("a permission %s is a violation", (_case, inputs) => {
    expect(checkPermission(inputs)).not.toEqual([]);
  });

  test.each<[string, Inputs]>([
    ["for one source", permission],
    ["for a bucket of one account", { ...withSource("arn:aws:s3:::reports"), sourceAccount: "123456789012" }],
    ["for one source account", { ...withSource(undefined), sourceAccount: "123456789012" }],
    ["for a role", { ...withSource(undefined), principal: "arn:aws:iam::123456789012:role/caller" }],
    ["for an account", { ...withSource(undefined), principal: "123456789012" }],
    ["for a source that is unknown", { ...permission, sourceArn: UNKNOWN }],
  ])("a permission %s is allowed", (_case, inputs) => {
    expect(checkPermission(inputs)).toEqual([]);
  });

  test("a function URL needs IAM authorization", () => {
    const type = "aws:lambda/functionUrl:FunctionUrl";
    expect(check(type, { functionName: "list", authorizationType: "NONE" })).toHaveLength(1);
    expect(check(type, { functionName: "list", authorizationType: "AWS_IAM" })).toEqual([]);
    expect(check("aws-native:lambda:Url", { authType: "NONE" })).toHaveLength(1);
    expect(check("aws-native:lambda:Url", { authType: "AWS_IAM" })).toEqual([]);
  });

  test("a layer for everyone is a violation", () => {
    const type = "aws:lambda/layerVersionPermission:LayerVersionPermission";
    expect(check(type, { action: "lambda:GetLayerVersion", principal: "*" })).toHaveLength(1);
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
