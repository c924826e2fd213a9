import { execFileSync } from "node:child_process";
import { describe, expect, test, vi } from "vitest";
import { withDefaults } from "../../../infra/config/settings.ts";
import { CALLS } from "../../../infra/deployer/calls.ts";
import { deployerPolicies } from "../../../infra/deployer/policy-documents.ts";
import { defineDomains } from "../../../lib/domains/parse.ts";
import { cloud } from "../harness/cloud.ts";
import { type Outcome, run, stackFile } from "../harness/program.ts";
import { success, update } from "../harness/scenario.ts";

vi.setConfig({ testTimeout: 120_000 });

const target = { region: "eu-central-1", account: "123456789012", prefix: "store-orders-production" };
const domains = defineDomains({ primary: "orders.example.com" }, { plan: "pro" });
const everything = {
  ...stackFile("production"),
  "store-orders:accessLogs": "manage",
  "store-orders:alarmEmail": "ops@example.com",
  "store-orders:waf": { requestsPerFiveMinutes: 3000 },
};
const allSettings = withDefaults({
  ...{ plan: "pro", domains, accessLogs: "manage", alarmEmail: "ops@example.com" },
  waf: { requestsPerFiveMinutes: 3000 },
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
const actionsOf = (document: { Statement: readonly { Action: readonly string[] }[] }) =>
  document.Statement.flatMap(({ Action }) => Action);

describe("the calls of the deployer", () => {
  test("are those for the resources of a stack with every option, and of no other type", async () => {
    expect(neededTypes(allSettings)).toEqual(typesOf(await success(update(everything))));
  });

  test("are those for the resources of the staging stack", async () => {
    const staging = await success(run({ stack: "staging", cloud: cloud() }));
    expect(neededTypes(withDefaults({}))).toEqual(typesOf(staging));
  });
});

describe("the policies", () => {
  const { preview, deploy } = deployerPolicies(allSettings, target);

  test("of a preview only read", () => {
    const reading = /^(sts:GetCallerIdentity|apigateway:GET|\w+:(Get|List|Describe)\w+)$/;
    expect(actionsOf(preview).filter((action) => !reading.test(action))).toEqual([]);
    expect(actionsOf(preview).filter((action) => !actionsOf(deploy).includes(action))).toEqual([]);
  });

  test("name every call, and pass only the roles of the stack", () => {
    expect([...actionsOf(preview), ...actionsOf(deploy)].filter((action) => action.includes("*"))).toEqual(
      [],
    );
    const passing = deploy.Statement.filter(({ Action }) => Action.includes("iam:PassRole"));
    expect(passing.map(({ Resource }) => Resource)).toEqual([
      ["arn:aws:iam::123456789012:role/store-orders-production-*"],
    ]);
  });

  test("limit every call to the stack, except those of services that choose identifiers or know no limit", () => {
    const wide = deploy.Statement.filter(
      ({ Resource }) => !String(Resource).includes("store-orders-production"),
    );
    expect(
      wide.flatMap(({ Action }) => Action).filter((action) => !/^(apigateway|acm):/.test(action)),
    ).toEqual(
      [
        "logs:DescribeLogGroups",
        "sns:GetSubscriptionAttributes",
        "sns:SetSubscriptionAttributes",
        "sns:Unsubscribe",
        "sts:GetCallerIdentity",
      ]
        .filter((action) => actionsOf(deploy).includes(action))
        .toSorted(),
    );
  });

  test("contain nothing for options that are off", () => {
    const staging = deployerPolicies(withDefaults({}), target);
    expect(actionsOf(staging.deploy).filter((action) => /^(acm|sns|wafv2):/.test(action))).toEqual([]);
  });

  test("fit the size limit of a managed policy", () => {
    for (const document of [preview, deploy])
      expect(JSON.stringify(document).replaceAll(/\s/g, "").length).toBeLessThanOrEqual(6_144);
  });
});

test("the command prints both policies for a stack file", () => {
  const print = (...args: readonly string[]) =>
    execFileSync(process.execPath, ["infra/deployer/print.ts", ...args], { encoding: "utf8", stdio: "pipe" });
  const printed = JSON.parse(print("production", "123456789012"));
  expect(Object.keys(printed)).toEqual(["preview", "deploy"]);
  expect(JSON.stringify(printed)).toContain(
    "arn:aws:dynamodb:eu-central-1:123456789012:table/store-orders-production-*",
  );
  expect(() => print("production", "me")).toThrow("Usage: npm run --silent policies");
});
