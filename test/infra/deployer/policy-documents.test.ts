import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { withDefaults } from "../../../infra/config/settings.ts";
import { CALLS } from "../../../infra/deployer/calls.ts";
import { deployerPolicies } from "../../../infra/deployer/policy-documents.ts";
import { defineDomains } from "../../../lib/domains/parse.ts";
import { cloud } from "../harness/cloud.ts";
import type { Registration } from "../harness/engine.ts";
import { type Outcome, ofType, run, stackFile } from "../harness/program.ts";
import { success, update } from "../harness/scenario.ts";
import { allows, type Context, type Policy, type Request } from "./iam.ts";

vi.setConfig({ testTimeout: 120_000 });

const target = { region: "eu-central-1", account: "123456789012", prefix: "store-orders-production" };
const PRINT = fileURLToPath(new URL("../../../infra/deployer/print.ts", import.meta.url));
const EVENTS_FUNCTION =
  "arn:aws:lambda:eu-central-1:123456789012:function:store-orders-production-events-function-1a2b3c4:live";
const BOUNDARY = "arn:aws:iam::123456789012:policy/limits/of-orders";
const domains = defineDomains({ primary: "orders.example.com" }, { plan: "pro" });
const everything = {
  ...stackFile("production"),
  "store-orders:accessLogs": "manage",
  "store-orders:alarmEmail": "ops@example.com",
  "store-orders:waf": { requestsPerFiveMinutes: 3000 },
  "store-orders:events": { bus: "default" },
  "store-orders:permissionsBoundary": BOUNDARY,
};
const allSettings = withDefaults({
  ...{ plan: "pro", domains, accessLogs: "manage", alarmEmail: "ops@example.com" },
  ...{ waf: { requestsPerFiveMinutes: 3000 }, events: { bus: "default" }, permissionsBoundary: BOUNDARY },
});
const typesOf = ({ registrations }: Outcome) =>
  [...new Set(registrations.filter(({ custom }) => custom).map(({ type }) => type))]
    .filter((type) => type.startsWith("aws:"))
    .toSorted();
const neededTypes = (settings: typeof allSettings) =>
  Object.entries(CALLS)
    .filter(([, { neededBy }]) => neededBy?.(settings) ?? true)
    .map(([type]) => type)
    .toSorted();
const complete = success(update(everything));
const actionsOf = (document: { Statement: readonly { Action: readonly string[] }[] }) =>
  document.Statement.flatMap(({ Action }) => Action);

describe("the calls of the deployer", () => {
  test("are those for the resources of a stack with every option, and of no other type", async () => {
    expect(neededTypes(allSettings)).toEqual(typesOf(await complete));
  });

  test("are those for the resources of the staging stack", async () => {
    const staging = await success(run({ stack: "staging", cloud: cloud() }));
    expect(neededTypes(withDefaults({}))).toEqual(typesOf(staging));
  });
});

describe("the policies", () => {
  const { preview, deploy, functions, boundary } = deployerPolicies(allSettings, target);
  const deploying = [...deploy.Statement, ...functions.Statement];

  test("of a preview only read", () => {
    const reading = /^(sts:GetCallerIdentity|apigateway:GET|\w+:(Get|List|Describe)\w+)$/;
    expect(actionsOf(preview).filter((action) => !reading.test(action))).toEqual([]);
  });

  test("name every call, and pass only the roles of the stack", () => {
    const actions = [preview, deploy, functions].flatMap(actionsOf);
    expect(actions.filter((action) => action.includes("*"))).toEqual([]);
    const passing = deploying.filter(({ Action }) => Action.includes("iam:PassRole"));
    expect(passing.flatMap(({ Resource }) => Resource)).toEqual(
      ["list", "api", "events", "access"].map(
        (role) => `arn:aws:iam::123456789012:role/store-orders-production-${role}-role-*`,
      ),
    );
  });

  test("limit every call to the stack, except those of services that choose identifiers or know no limit", () => {
    const wide = [...preview.Statement, ...deploying].filter(
      ({ Resource }) => !String(Resource).includes("store-orders-production"),
    );
    expect(
      wide
        .flatMap(({ Action }) => Action)
        .filter((action) => !/^(apigateway|acm):|^iam:CreateServiceLinkedRole$/.test(action))
        .toSorted(),
    ).toEqual(
      [
        "lambda:CreateEventSourceMapping",
        "lambda:DeleteEventSourceMapping",
        "lambda:GetEventSourceMapping",
        "lambda:ListTags",
        "lambda:TagResource",
        "lambda:UntagResource",
        "lambda:UpdateEventSourceMapping",
        "logs:DescribeLogGroups",
        "sns:GetSubscriptionAttributes",
        "sns:SetSubscriptionAttributes",
        "sns:Unsubscribe",
        "sts:GetCallerIdentity",
      ].toSorted(),
    );
  });

  test("contain nothing for options that are off", () => {
    const staging = deployerPolicies(withDefaults({}), target);
    expect(actionsOf(staging.deploy).filter((action) => /^(acm|sns|wafv2):/.test(action))).toEqual([]);
  });

  test("allow every call for the resources of an update, with the values that the program sets", async () => {
    const { registrations } = await complete;
    const calls = registrations.flatMap((each) => callsFor(each, registrations));
    expect(calls.length).toBeGreaterThan(400);
    expect(calls.filter((call) => !allows([preview, deploy, functions], call))).toEqual([]);
    const conditional = deploying.filter(({ Condition }) => Condition !== undefined);
    const called = new Set(calls.map(({ action }) => action));
    expect(conditional.flatMap(({ Action }) => Action).filter((action) => !called.has(action))).toEqual([
      "iam:CreateServiceLinkedRole",
    ]);
    const role =
      "arn:aws:iam::123456789012:role/aws-service-role/ops.apigateway.amazonaws.com/AWSServiceRoleForAPIGateway";
    const context = { "iam:AWSServiceName": "ops.apigateway.amazonaws.com" };
    expect(allows([functions], { action: "iam:CreateServiceLinkedRole", resource: role, context })).toBe(
      true,
    );
  });

  test("the boundary allows the roles of the stack everything that their own policies do", async () => {
    const { registrations } = await complete;
    const policies = ofType({ registrations }, "aws:iam/rolePolicy:RolePolicy");
    expect(policies).toHaveLength(3);
    for (const { inputs } of policies) {
      for (const { Action, Resource } of (inputs["policy"] as unknown as Policy).Statement) {
        for (const action of [Action ?? []].flat())
          for (const resource of [Resource ?? []].flat())
            expect(allows([boundary], { action, resource }), `${action} on ${resource}`).toBe(true);
      }
    }
    const roles = ofType({ registrations }, "aws:iam/role:Role");
    expect(roles.map((role) => role.inputs["permissionsBoundary"])).toEqual(Array(4).fill(BOUNDARY));
  });

  test("fit the size limit of a managed policy", () => {
    for (const document of [preview, deploy, functions, boundary])
      expect(JSON.stringify(document).replaceAll(/\s/g, "").length).toBeLessThanOrEqual(6_144);
  });
});

/** The calls of a resource, as IAM sees them: with the name that it gets, and the values that the program sets. */
function callsFor({ type, name, inputs }: Registration, all: readonly Registration[]): readonly Request[] {
  const { read, write, resources } = CALLS[type] ?? { read: [], write: [], resources: [] };
  const fixedName =
    type === "aws:lambda/alias:Alias" ? undefined : (inputs["name"] ?? inputs["dashboardName"]);
  const context = contextOf(type, name, inputs, all);
  const arns = resources.map((pattern) => {
    const [before = "", after] = pattern
      .replace("REGION", target.region)
      .replace(":ACCOUNT:", `:${target.account}:`)
      .replace(/(ORDERS|ACCOUNTS)_TABLE/, "PREFIX")
      .split("PREFIX");
    if (after === undefined) return `arn:aws:${before.replaceAll("*", "a1b2c3")}`;
    const suffix = type.startsWith("aws:wafv2/") ? "-1a2b3c4/id" : "-1a2b3c4";
    return `arn:aws:${before}${String(fixedName ?? `${ownerOf(name)}${suffix}`)}`;
  });
  const resource = arns.find((arn) => !arn.includes("log-stream")) ?? "*";
  return [...read, ...write].map((action) => ({
    action,
    resource: action === "apigateway:SetWebACL" ? (arns.at(-1) ?? "") : resource,
    context,
  }));
}

/** By the end of a logical name: that of the resource on which the calls are made. */
const OWNERS: readonly (readonly [RegExp, string])[] = [
  [/-policy$/, "-role"],
  [/-alias$/, "-function"],
  [/-gateway-invoke-(\w+)$/, "-$1-function"],
  [/-association$/, "-acl"],
  [/-target$/, "-schedule"],
  [/-events-permission$/, "-events-function"],
  [/-email$/, "-alarms"],
];
const ownerOf = (name: string) =>
  OWNERS.reduce((owner, [end, replacement]) => owner.replace(end, replacement), name);

function contextOf(
  type: string,
  name: string,
  inputs: Registration["inputs"],
  all: readonly Registration[],
): Context {
  const topic = "arn:aws:sns:eu-central-1:123456789012:store-orders-production-alarms-1a2b3c4";
  if (type === "aws:cloudwatch/metricAlarm:MetricAlarm")
    return "alarmActions" in inputs ? { "cloudwatch:AlarmActions": [topic] } : {};
  if (type === "aws:lambda/eventSourceMapping:EventSourceMapping")
    return { "lambda:FunctionArn": EVENTS_FUNCTION };
  if (type === "aws:cloudwatch/eventTarget:EventTarget") return { "events:TargetArn": EVENTS_FUNCTION };
  if (type === "aws:lambda/permission:Permission") return { "lambda:Principal": String(inputs["principal"]) };
  const role = all.find((each) => each.name === ownerOf(name) && each.type === "aws:iam/role:Role");
  if (role === undefined) return {};
  const { Statement } = role.inputs["assumeRolePolicy"] as unknown as Policy;
  return {
    "iam:PermissionsBoundary": String(role.inputs["permissionsBoundary"]),
    "iam:PassedToService": Statement[0]?.Principal?.Service ?? "",
    "iam:PolicyARN": String(inputs["policyArn"]),
  };
}

test("the command prints the policies for a stack file", () => {
  const print = (args: readonly string[], cwd = process.cwd()) =>
    spawnSync(process.execPath, [PRINT, ...args], { cwd, encoding: "utf8" });
  const { stdout, stderr } = print(["production", "123456789012"]);
  const printed = JSON.parse(stdout);
  expect(Object.keys(printed)).toEqual(["preview", "deploy", "functions", "boundary"]);
  expect(stdout).toContain("arn:aws:dynamodb:eu-central-1:123456789012:table/store-orders-production-orders");
  const boundary = "arn:aws:iam::123456789012:policy/store-orders-production-boundary";
  expect(stderr).toContain(`store-orders:permissionsBoundary: ${boundary}`);
  expect(JSON.stringify(printed.functions)).toContain(`"iam:PermissionsBoundary":"${boundary}"`);
  expect(print(["production", "me"])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("Usage: npm run --silent policies"),
  });
  const folder = mkdtempSync(join(tmpdir(), "store-orders-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "Pulumi.yaml"), "name: shop");
  const printFor = (config: object) => {
    writeFileSync(join(folder, "Pulumi.test.yaml"), JSON.stringify({ config }));
    return print(["test", "123456789012"], folder);
  };
  expect(printFor({})).toMatchObject({
    status: 2,
    stdout: "",
    stderr: expect.stringContaining("aws:region"),
  });
  const renamed = { "aws:region": "eu-west-1", "store-orders:renamedFrom": "orders/live" };
  const events = { "store-orders:events": { bus: "default" } };
  const named = printFor({ ...renamed, ...events, "store-orders:tables": { orders: "MY-PREFIX" } }).stdout;
  const tables = [...new Set(named.match(/:table\/[^"/]+/g))].sort();
  expect(tables).toEqual([":table/MY-PREFIX", ":table/orders-live-accounts"]);
  expect(named).toContain("arn:aws:dynamodb:eu-west-1:123456789012:table/MY-PREFIX/index/outbox");
  expect(named).toContain("arn:aws:dynamodb:eu-west-1:123456789012:table/MY-PREFIX/stream/*");
  expect(named).toContain("function:orders-live-list-function-*");
  expect(named).not.toContain("shop");
  const elsewhere = "arn:aws:iam::999999999999:policy/b";
  const inAnotherAccount = { "aws:region": "eu-west-1", "store-orders:permissionsBoundary": elsewhere };
  expect(printFor(inAnotherAccount)).toMatchObject({
    ...{ status: 2, stdout: "" },
    stderr: expect.stringContaining(`${elsewhere} is not in the account 123456789012`),
  });
  const own = { ...inAnotherAccount, "store-orders:permissionsBoundary": BOUNDARY };
  expect(printFor(own)).toMatchObject({ status: 0, stderr: "", stdout: expect.stringContaining(BOUNDARY) });
});
