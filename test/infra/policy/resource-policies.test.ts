import { describe, expect, test } from "vitest";
import { UNKNOWN } from "../../../infra/policy/inputs.ts";
import { check, document, getItem, type Inputs, TABLE_ARN } from "./policy-fixture.ts";

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
