import { describe, expect, test, vi } from "vitest";
import { UNKNOWN } from "../../../infra/policy/inputs.ts";
import { violations } from "../../../infra/policy/policies.ts";
import { cloud } from "../harness/cloud.ts";
import { run } from "../harness/program.ts";

vi.setConfig({ testTimeout: 120_000 });

const TABLE = "aws:dynamodb/table:Table";
const check = (type: string, inputs: Readonly<Record<string, unknown>>, protect = false) =>
  violations({ type, name: "it", inputs, protect }, { protect: true });
describe("tables, records and log groups", () => {
  test("a table of a protected stack needs deletion protection in Pulumi and AWS, and point-in-time recovery", () => {
    expect(check(TABLE, {})).toHaveLength(3);
    const protectedTable = { deletionProtectionEnabled: true, pointInTimeRecovery: { enabled: true } };
    expect(check(TABLE, protectedTable, true)).toEqual([]);
    expect(violations({ type: TABLE, name: "it", inputs: {}, protect: false }, { protect: false })).toEqual(
      [],
    );
  });

  test("a replica of a protected table needs the same protection", () => {
    const type = "aws:dynamodb/tableReplica:TableReplica";
    const protectedReplica = { deletionProtectionEnabled: true, pointInTimeRecovery: true };
    expect(check(type, {})).toHaveLength(3);
    expect(check(type, protectedReplica, true)).toEqual([]);
    const table = { deletionProtectionEnabled: true, pointInTimeRecovery: { enabled: true } };
    expect(check(TABLE, { ...table, replicas: [{ regionName: "eu-west-1" }] }, true)).toHaveLength(2);
    const replicas = [{ regionName: "eu-west-1", ...protectedReplica }];
    expect(check(TABLE, { ...table, replicas }, true)).toEqual([]);
  });

  test("a global table of a protected stack needs deletion protection in Pulumi", () => {
    const type = "aws:dynamodb/globalTable:GlobalTable";
    expect(check(type, {})).toHaveLength(1);
    expect(check(type, {}, true)).toEqual([]);
  });

  test.each(["cloudflare:index/dnsRecord:DnsRecord", "cloudflare:index/record:Record"])(
    "a CNAME (%s) has TTL 3600 and is not proxied; records of other types are not restricted",
    (type) => {
      expect(check(type, { type: "CNAME", ttl: 1, proxied: true })).toHaveLength(2);
      expect(check(type, { type: "cname", ttl: 1, proxied: true })).toHaveLength(2);
      expect(check(type, { type: "CNAME", ttl: 3600, proxied: false })).toEqual([]);
      expect(check(type, { type: "TXT", ttl: 60 })).toEqual([]);
    },
  );

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
        carts (aws:dynamodb/table:Table): the table has no point-in-time recovery. Enable 'pointInTimeRecovery'.
      Error: Policy violation:
        shop (cloudflare:index/dnsRecord:DnsRecord): the TTL is 60. Set 'ttl: 3600'.
        shop (cloudflare:index/dnsRecord:DnsRecord): the record is proxied, which breaks DNS verification and streaming. Set 'proxied: false'.
      Error: Policy violation:
        all (aws:iam/policy:Policy): the action 'dynamodb:*' has a wildcard. Name every call."
    `);
  });

  test("fails in the update if the violation is unknown in preview", async () => {
    expect(await runExtended(["valid", "late", "lateTogether"], true)).toMatchObject({ code: 0, errors: "" });
    const { code, errors, registrations } = await runExtended(["late"], false);
    expect(code).not.toBe(0);
    expect(registrations.filter(({ custom }) => custom).map(({ name }) => name)).toEqual(["topic"]);
    expect(errors).toContain(
      "late (aws:iam/policy:Policy): the action 'sns:*' has a wildcard. Name every call.",
    );
  });

  test("fails in the update if only several inputs together are a violation", async () => {
    const { code, errors, registrations } = await runExtended(["lateTogether"], false);
    expect(code).not.toBe(0);
    expect(registrations.filter(({ custom }) => custom).map(({ name }) => name)).toEqual(["other-topic"]);
    expect(errors).toContain("any account can use sns.amazonaws.com to invoke the function.");
  });
});
