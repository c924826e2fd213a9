import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { withDefaults } from "../../../infra/config/settings.ts";
import { CALLS } from "../../../infra/deployer/calls.ts";
import { deployerPolicies } from "../../../infra/deployer/policy-documents.ts";
import { defineDomains } from "../../../lib/domains/parse.ts";
import { type Outcome, ofType } from "../harness/program.ts";
import { physicalName } from "../harness/provider-rules.ts";
import { everything, success, update } from "../harness/scenario.ts";
import { allows, type Policy } from "./iam.ts";

const target = { region: "eu-central-1", account: "123456789012", prefix: "store-orders-production" };
const PRINT = fileURLToPath(new URL("../../../infra/deployer/print.ts", import.meta.url));
const BOUNDARY = everything["store-orders:permissionsBoundary"];
const domains = defineDomains({ primary: "orders.example.com" }, { plan: "pro" });
const allSettings = withDefaults({
  ...{ plan: "pro", domains, accessLogs: "account", alarmEmail: "ops@example.com" },
  ...{ waf: { requestsPerFiveMinutes: 3000 }, events: { bus: "default" }, permissionsBoundary: BOUNDARY },
});
const typesOf = ({ registrations }: Outcome) =>
  [...new Set(registrations.filter(({ custom }) => custom).map(({ type }) => type))]
    .filter((type) => type.startsWith("aws:"))
    .toSorted();
const neededTypes = (settings: typeof allSettings) =>
  CALLS.filter(({ neededBy }) => neededBy?.(settings) ?? true)
    .flatMap(({ types }) => types)
    .toSorted();
const complete = success(update(everything));
const actionsOf = (document: { Statement: readonly { Action: readonly string[] }[] }) =>
  document.Statement.flatMap(({ Action }) => Action);

test("the calls of the deployer are those for the resources of a stack with every option, and of no other type", async () => {
  expect(neededTypes(allSettings)).toEqual(typesOf(await complete));
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
      ["list", "api", "events"].map(
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

  test("permit calls of Route 53 only with 'dns: route53', and changes only of the records that a stack can have", () => {
    const at = (dns: "cloudflare" | "manual" | "route53") =>
      deployerPolicies({ ...allSettings, dns }, target);
    const named = (documents: ReturnType<typeof at>) =>
      Object.values(documents)
        .flatMap(actionsOf)
        .filter((action) => action.startsWith("route53:"));
    expect([...named(at("cloudflare")), ...named(at("manual"))]).toEqual([]);
    const withoutHosts = withDefaults({ plan: "pro", dns: "route53" });
    expect(named(deployerPolicies(withoutHosts, target))).toEqual([]);
    const { preview: reading, deploy: changing } = at("route53");
    const resource = "arn:aws:route53:::hostedzone/Z0123456789ABC";
    const change = (name: string, type: string) => {
      const names = { "route53:ChangeResourceRecordSetsNormalizedRecordNames": [name] };
      const types = { "route53:ChangeResourceRecordSetsRecordTypes": [type] };
      const context = { ...names, ...types };
      return allows([changing], { action: "route53:ChangeResourceRecordSets", resource, context });
    };
    const records = [
      ...[
        ["orders.example.com", "A"],
        ["_0123.orders.example.com", "CNAME"],
        ["example.com", "A"],
      ],
      ...[
        ["example.com", "NS"],
        ["orders.example.com", "TXT"],
        ["shop.example.net", "A"],
        ["badexample.com", "A"],
      ],
    ].map(([name = "", type = ""]) => [name, type, change(name, type)]);
    expect(records.map(([, , allowed]) => allowed)).toEqual([true, true, true, false, false, false, false]);
    expect(allows([reading], { action: "route53:ListHostedZones", resource: "*" })).toBe(true);
    expect(actionsOf(reading)).not.toContain("route53:ChangeResourceRecordSets");
  });

  test("cover the names that the resources of an update get, and no other name", async () => {
    const { registrations } = await complete;
    const named = registrations.filter(({ custom, type }) => custom && NAMED.test(type));
    expect(named.length).toBeGreaterThan(34);
    const unconditional = { Statement: deploying.map(({ Condition: _, ...statement }) => statement) };
    for (const { type, name, inputs } of named) {
      const { actions = [], resources: [pattern = ""] = [] } =
        CALLS.find(({ types }) => types.includes(type)) ?? {};
      const action = actions.find((each) => !/:(Get|List|Describe)/.test(each)) ?? "";
      const [before = ""] = pattern
        .replace("REGION", target.region)
        .replace(":ACCOUNT:", `:${target.account}:`)
        .split(/PREFIX|[A-Z]+_TABLE/);
      const physical = String(inputs["dashboardName"] ?? physicalName({ type, name, inputs }));
      const mayCall = (named: string) =>
        allows([unconditional], { action, resource: `arn:aws:${before}${named}` });
      expect(mayCall(physical), `${action} on ${physical}`).toBe(true);
      expect(mayCall(physical.replace("production", "staging")), `${action} on ${physical}`).toBe(false);
    }
  });

  test("allow to invoke the functions only to the services that the program names", async () => {
    const principals = ofType(await complete, "aws:lambda/permission:Permission").map(({ inputs }) =>
      String(inputs["principal"]),
    );
    const resource =
      "arn:aws:lambda:eu-central-1:123456789012:function:store-orders-production-api-function-1a2b3c4";
    const mayAdd = (principal: string) =>
      allows([functions], {
        ...{ action: "lambda:AddPermission", resource },
        context: { "lambda:Principal": principal },
      });
    expect([...new Set(principals)].map(mayAdd)).toEqual([true, true]);
    expect(mayAdd("ec2.amazonaws.com")).toBe(false);
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
    expect(roles.map((role) => role.inputs["permissionsBoundary"])).toEqual(Array(3).fill(BOUNDARY));
  });

  test("name resources of the partition that the region is in", () => {
    const bus = "arn:aws-us-gov:events:us-gov-west-1:123456789012:event-bus/shop";
    const settings = { ...allSettings, events: { bus }, permissionsBoundary: undefined };
    const printed = JSON.stringify(deployerPolicies(settings, { ...target, region: "us-gov-west-1" }));
    expect(new Set(printed.match(/arn:[^:]+:/g))).toEqual(new Set(["arn:aws-us-gov:"]));
    expect(printed).toContain(`"${bus}"`);
  });

  test("fit the size limit of a managed policy", () => {
    for (const document of [preview, deploy, functions, boundary])
      expect(JSON.stringify(document).replaceAll(/\s/g, "").length).toBeLessThanOrEqual(6_144);
  });
});

/** The types of resources whose names are in the policies. Calls on the others name one of these. */
const NAMED = /:(Table|Role|Function|LogGroup|Topic|Queue|MetricAlarm|Dashboard|EventRule|WebAcl)$/;

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
  for (const text of ["", "config:"]) {
    writeFileSync(join(folder, "Pulumi.empty.yaml"), text);
    expect(print(["empty", "123456789012"], folder).stderr).toMatch(
      /^Pulumi\.empty\.yaml {2}aws:region: Write/,
    );
  }
  expect(printFor({})).toMatchObject({
    status: 2,
    stdout: "",
    stderr: expect.stringContaining("aws:region"),
  });
  const renamed = { "aws:region": "eu-west-1", "store-orders:renamedFrom": "orders/live" };
  const events = { "store-orders:events": { bus: "default" } };
  const ownTables = { "store-orders:tables": { orders: "MY-PREFIX" } };
  const ownBoundary = { "store-orders:permissionsBoundary": BOUNDARY };
  const own = printFor({ ...renamed, ...events, ...ownTables, ...ownBoundary });
  expect(own).toMatchObject({ status: 0, stderr: "", stdout: expect.stringContaining(BOUNDARY) });
  const named = own.stdout;
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
  const from = Array.from({ length: 99 }, (_, index) => `shop-brand-number-${index}.com`);
  const mapping = {
    primary: "orders.example.com",
    redirects: from.map((each) => ({ from: each, to: "orders.example.com" })),
  };
  const many = { "store-orders:plan": "pro", "store-orders:dns": "route53", "store-orders:domains": mapping };
  expect(printFor({ ...renamed, ...ownBoundary, ...many })).toMatchObject({
    status: 0,
    stderr: expect.stringMatching(
      /^The policy 'deploy' has \d+ characters, and AWS accepts at most 6144\. .*\n$/,
    ),
  });
});
