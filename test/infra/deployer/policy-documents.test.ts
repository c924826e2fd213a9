import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { withDefaults } from "../../../infra/config/settings.ts";
import { deployerPolicies } from "../../../infra/deployer/policy-documents.ts";
import { defineDomains } from "../../../lib/domains/parse.ts";
import { everything } from "../harness/scenario.ts";
import { allows } from "./iam.ts";

const target = { region: "eu-central-1", account: "123456789012", prefix: "store-orders-production" };
const PRINT = fileURLToPath(new URL("../../../infra/deployer/print.ts", import.meta.url));
const BOUNDARY = everything["store-orders:permissionsBoundary"];
const domains = defineDomains({ primary: "orders.example.com" }, { plan: "pro" });
const allSettings = withDefaults({
  ...{ plan: "pro", domains, accessLogs: "account", alarmEmail: "ops@example.com" },
  ...{ waf: { requestsPerFiveMinutes: 3000 }, events: { bus: "default" }, permissionsBoundary: BOUNDARY },
});
const actionsOf = (document: { Statement: readonly { Action: readonly string[] }[] }) =>
  document.Statement.flatMap(({ Action }) => Action);

describe("the policies", () => {
  const { preview, deploy, functions } = deployerPolicies(allSettings, target);
  const deploying = [...deploy.Statement, ...functions.Statement];

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

  test("name resources of the partition that the region is in", () => {
    const bus = "arn:aws-us-gov:events:us-gov-west-1:123456789012:event-bus/shop";
    const settings = { ...allSettings, events: { bus }, permissionsBoundary: undefined };
    const printed = JSON.stringify(deployerPolicies(settings, { ...target, region: "us-gov-west-1" }));
    expect(new Set(printed.match(/arn:[^:]+:/g))).toEqual(new Set(["arn:aws-us-gov:"]));
    expect(printed).toContain(`"${bus}"`);
  });
});

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
  expect(print(["production", "me"]).stderr).toContain("Usage: npm run --silent policies");
  const missing = expect.stringMatching(/^There is no Pulumi\.none\.yaml here\./);
  expect(print(["none", "123456789012"])).toMatchObject({ status: 2, stderr: missing });
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
