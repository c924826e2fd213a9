import { describe, expect, test, vi } from "vitest";
import { UNKNOWN, violations } from "../../../infra/policy/policies.ts";
import { cloud } from "../harness/cloud.ts";
import { run } from "../harness/program.ts";

vi.setConfig({ testTimeout: 120_000 });

const TABLE = "aws:dynamodb/table:Table";
const look = (type: string, inputs: Readonly<Record<string, unknown>>, protect = false) =>
  violations({ type, name: "it", inputs, protect }, { protect: true });
const allow = (Action: unknown, Resource: unknown) => ({
  policy: { Version: "2012-10-17", Statement: [{ Effect: "Allow", Action, Resource }] },
});

describe("rights", () => {
  const judge = (action: unknown, resource: unknown) =>
    look("aws:iam/rolePolicy:RolePolicy", allow(action, resource));

  test.each([
    ["every call of a service", "dynamodb:*", "arn:aws:dynamodb:eu-central-1:1:table/t"],
    ["some calls of a service", ["dynamodb:Get*"], "arn:aws:dynamodb:eu-central-1:1:table/t"],
    ["every resource", "dynamodb:GetItem", "*"],
    ["the indexes of a table", "dynamodb:Query", "arn:aws:dynamodb:eu-central-1:1:table/t/index/*"],
    ["the streams of every log", "logs:PutLogEvents", "arn:aws:logs:eu-central-1:1:log-group:*:*"],
  ])("must not have a wildcard: %s", (_what, action, resource) => {
    expect(judge(action, resource)).toHaveLength(1);
  });

  test("may leave the streams of one log open, which Lambda names", () => {
    expect(judge("logs:PutLogEvents", "arn:aws:logs:eu-central-1:1:log-group:list-1a2b:*")).toEqual([]);
  });

  test("are judged in JSON and in roles as well, and denials are not", () => {
    const { policy } = allow("s3:*", "*");
    expect(look("aws:iam/policy:Policy", { policy: JSON.stringify(policy) })).toHaveLength(2);
    expect(look("aws:iam/role:Role", { inlinePolicies: [{ policy: JSON.stringify(policy) }] })).toHaveLength(
      2,
    );
    expect(
      look("aws:iam/policy:Policy", {
        policy: { Statement: { Effect: "Deny", Action: "*", Resource: "*" } },
      }),
    ).toEqual([]);
  });

  test("must not name what is left out, nor come from a managed policy", () => {
    expect(
      look("aws:iam/policy:Policy", {
        policy: { Statement: { Effect: "Allow", NotAction: "iam:PassRole" } },
      }),
    ).toHaveLength(1);
    const attached = { policyArn: "arn:aws:iam::aws:policy/AdministratorAccess" };
    expect(look("aws:iam/rolePolicyAttachment:RolePolicyAttachment", attached)).toHaveLength(1);
  });
});

describe("tables, records, logs", () => {
  test("a table of a protected stack is protected in each of three ways", () => {
    expect(look(TABLE, {})).toHaveLength(3);
    const kept = { deletionProtectionEnabled: true, pointInTimeRecovery: { enabled: true } };
    expect(look(TABLE, kept, true)).toEqual([]);
    expect(violations({ type: TABLE, name: "it", inputs: {}, protect: false }, { protect: false })).toEqual(
      [],
    );
  });

  test("a CNAME has TTL 3600 and is not proxied; other records are free", () => {
    const type = "cloudflare:index/dnsRecord:DnsRecord";
    expect(look(type, { type: "CNAME", ttl: 1, proxied: true })).toHaveLength(2);
    expect(look(type, { type: "CNAME", ttl: 3600, proxied: false })).toEqual([]);
    expect(look(type, { type: "TXT", ttl: 60 })).toEqual([]);
  });

  test("a log is kept for a time", () => {
    expect(look("aws:cloudwatch/logGroup:LogGroup", {})).toHaveLength(1);
    expect(look("aws:cloudwatch/logGroup:LogGroup", { retentionInDays: 7 })).toEqual([]);
  });

  test("what is not known yet breaks no rule", () => {
    expect(look("aws:cloudwatch/logGroup:LogGroup", { retentionInDays: UNKNOWN })).toEqual([]);
    expect(look(TABLE, { deletionProtectionEnabled: UNKNOWN, pointInTimeRecovery: UNKNOWN }, true)).toEqual(
      [],
    );
  });
});

describe("whoever extends the stack", () => {
  const extended = (broken: readonly string[], preview: boolean) =>
    run({
      program: "test/infra/programs/extended.ts",
      stack: "production",
      config: { "store-orders:broken": broken },
      preview,
      cloud: cloud(),
      traces: true,
    });

  test("is stopped in preview, before the resource is registered", async () => {
    const { code, errors, registrations } = await extended(["log", "table", "record", "rights"], true);
    expect(code).not.toBe(0);
    expect(registrations.filter(({ custom }) => custom)).toEqual([]);
    expect(errors).toMatchInlineSnapshot(`
      "Error: A resource is against the rules of this stack:
        logs (aws:cloudwatch/logGroup:LogGroup): the log is kept for ever. Set 'retentionInDays'.
      Error: A resource is against the rules of this stack:
        carts (aws:dynamodb/table:Table): the table is not protected. Set the option 'protect'.
        carts (aws:dynamodb/table:Table): the table can be deleted. Set 'deletionProtectionEnabled'.
        carts (aws:dynamodb/table:Table): the table has no backups. Set 'pointInTimeRecovery.enabled'.
      Error: A resource is against the rules of this stack:
        shop (cloudflare:index/dnsRecord:DnsRecord): the TTL is 60. Set 'ttl: 3600'.
        shop (cloudflare:index/dnsRecord:DnsRecord): the record is proxied, which hides it and breaks streams. Set 'proxied: false'.
      Error: A resource is against the rules of this stack:
        all (aws:iam/policy:Policy): the action 'dynamodb:*' has a wildcard. Name every call."
    `);
  });

  test("is stopped in the update where only that knows enough", async () => {
    expect(await extended(["none", "late"], true)).toMatchObject({ code: 0, errors: "" });
    const { code, errors, registrations } = await extended(["late"], false);
    expect(code).not.toBe(0);
    expect(registrations.filter(({ custom }) => custom).map(({ name }) => name)).toEqual(["topic"]);
    expect(errors).toContain(
      "late (aws:iam/policy:Policy): the action 'sns:*' has a wildcard. Name every call.",
    );
  });
});
