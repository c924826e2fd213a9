import { describe, expect, test, vi } from "vitest";
import { UNKNOWN, violations } from "../../../infra/policy/policies.ts";
import { cloud } from "../harness/cloud.ts";
import { run } from "../harness/program.ts";

vi.setConfig({ testTimeout: 120_000 });

const TABLE = "aws:dynamodb/table:Table";
const check = (type: string, inputs: Readonly<Record<string, unknown>>, protect = false) =>
  violations({ type, name: "it", inputs, protect }, { protect: true });
const allow = (Action: unknown, Resource: unknown) => ({
  policy: { Version: "2012-10-17", Statement: [{ Effect: "Allow", Action, Resource }] },
});

describe("IAM policies", () => {
  const checkStatement = (action: unknown, resource: unknown) =>
    check("aws:iam/rolePolicy:RolePolicy", allow(action, resource));

  test.each([
    ["every call of a service", "dynamodb:*", "arn:aws:dynamodb:eu-central-1:1:table/t"],
    ["some calls of a service", ["dynamodb:Get*"], "arn:aws:dynamodb:eu-central-1:1:table/t"],
    ["every resource", "dynamodb:GetItem", "*"],
    ["the indexes of a table", "dynamodb:Query", "arn:aws:dynamodb:eu-central-1:1:table/t/index/*"],
    ["the streams of every log group", "logs:PutLogEvents", "arn:aws:logs:eu-central-1:1:log-group:*:*"],
  ])("a wildcard is a violation: %s", (_case, action, resource) => {
    expect(checkStatement(action, resource)).toHaveLength(1);
  });

  test("a wildcard for the streams of one log group is allowed, because Lambda chooses their names", () => {
    expect(checkStatement("logs:PutLogEvents", "arn:aws:logs:eu-central-1:1:log-group:list-1a2b:*")).toEqual(
      [],
    );
  });

  test("JSON policies and inline policies of roles are checked, denials are not", () => {
    const { policy } = allow("s3:*", "*");
    expect(check("aws:iam/policy:Policy", { policy: JSON.stringify(policy) })).toHaveLength(2);
    expect(check("aws:iam/role:Role", { inlinePolicies: [{ policy: JSON.stringify(policy) }] })).toHaveLength(
      2,
    );
    expect(
      check("aws:iam/policy:Policy", {
        policy: { Statement: { Effect: "Deny", Action: "*", Resource: "*" } },
      }),
    ).toEqual([]);
  });

  test("NotAction and managed policies are violations", () => {
    expect(
      check("aws:iam/policy:Policy", {
        policy: { Statement: { Effect: "Allow", NotAction: "iam:PassRole" } },
      }),
    ).toHaveLength(1);
    const attached = { policyArn: "arn:aws:iam::aws:policy/AdministratorAccess" };
    expect(check("aws:iam/rolePolicyAttachment:RolePolicyAttachment", attached)).toHaveLength(1);
  });
});

describe("tables, records and log groups", () => {
  test("a table of a protected stack needs deletion protection in Pulumi and AWS, and point-in-time recovery", () => {
    expect(check(TABLE, {})).toHaveLength(3);
    const protectedTable = { deletionProtectionEnabled: true, pointInTimeRecovery: { enabled: true } };
    expect(check(TABLE, protectedTable, true)).toEqual([]);
    expect(violations({ type: TABLE, name: "it", inputs: {}, protect: false }, { protect: false })).toEqual(
      [],
    );
  });

  test("a CNAME has TTL 3600 and is not proxied; records of other types are not restricted", () => {
    const type = "cloudflare:index/dnsRecord:DnsRecord";
    expect(check(type, { type: "CNAME", ttl: 1, proxied: true })).toHaveLength(2);
    expect(check(type, { type: "CNAME", ttl: 3600, proxied: false })).toEqual([]);
    expect(check(type, { type: "TXT", ttl: 60 })).toEqual([]);
  });

  test("a log group needs a retention period", () => {
    expect(check("aws:cloudwatch/logGroup:LogGroup", {})).toHaveLength(1);
    expect(check("aws:cloudwatch/logGroup:LogGroup", { retentionInDays: 7 })).toEqual([]);
  });

  test("an unknown value is no violation", () => {
    expect(check("aws:cloudwatch/logGroup:LogGroup", { retentionInDays: UNKNOWN })).toEqual([]);
    expect(check(TABLE, { deletionProtectionEnabled: UNKNOWN, pointInTimeRecovery: UNKNOWN }, true)).toEqual(
      [],
    );
  });
});

describe("a program with additional resources", () => {
  const runExtended = (add: readonly string[], preview: boolean) =>
    run({
      program: "test/infra/programs/extended.ts",
      stack: "production",
      config: { "store-orders:add": add },
      preview,
      cloud: cloud(),
      traces: true,
    });

  test("fails in preview, before a violating resource is registered", async () => {
    const { code, errors, registrations } = await runExtended(["log", "table", "record", "policy"], true);
    expect(code).not.toBe(0);
    expect(registrations.filter(({ custom }) => custom)).toEqual([]);
    expect(errors).toMatchInlineSnapshot(`
      "Error: Policy violation:
        logs (aws:cloudwatch/logGroup:LogGroup): the log group has no retention. Set 'retentionInDays'.
      Error: Policy violation:
        carts (aws:dynamodb/table:Table): the table has no deletion protection in Pulumi. Set the option 'protect'.
        carts (aws:dynamodb/table:Table): the table has no deletion protection in AWS. Set 'deletionProtectionEnabled'.
        carts (aws:dynamodb/table:Table): the table has no point-in-time recovery. Set 'pointInTimeRecovery.enabled'.
      Error: Policy violation:
        shop (cloudflare:index/dnsRecord:DnsRecord): the TTL is 60. Set 'ttl: 3600'.
        shop (cloudflare:index/dnsRecord:DnsRecord): the record is proxied, which breaks DNS verification and streaming. Set 'proxied: false'.
      Error: Policy violation:
        all (aws:iam/policy:Policy): the action 'dynamodb:*' has a wildcard. Name every call."
    `);
  });

  test("fails in the update if the violation is unknown before", async () => {
    expect(await runExtended(["valid", "late"], true)).toMatchObject({ code: 0, errors: "" });
    const { code, errors, registrations } = await runExtended(["late"], false);
    expect(code).not.toBe(0);
    expect(registrations.filter(({ custom }) => custom).map(({ name }) => name)).toEqual(["topic"]);
    expect(errors).toContain(
      "late (aws:iam/policy:Policy): the action 'sns:*' has a wildcard. Name every call.",
    );
  });
});
