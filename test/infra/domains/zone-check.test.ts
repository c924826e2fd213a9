import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  delegationCandidates,
  findConflicts,
  selectZone,
  zoneCandidates,
} from "../../../infra/domains/zone-check.ts";
import { hostKey } from "../../../infra/names.ts";
import { zone } from "../harness/cloud.ts";

const COMMENT = "store-orders/staging, kept by Pulumi";
const record = (type: string, name: string, comment?: string) => ({
  id: "1",
  name,
  type,
  content: "elsewhere",
  ...(comment === undefined ? {} : { comment }),
});
const conflictsAt = (host: string, ...records: readonly ReturnType<typeof record>[]) =>
  findConflicts(host, "example.com", records, COMMENT);

describe("zone selection", () => {
  test("the candidates are the host and its parents down to the registrable domain", () => {
    expect(zoneCandidates("a.b.example.co.uk")).toEqual([
      "a.b.example.co.uk",
      "b.example.co.uk",
      "example.co.uk",
    ]);
    expect(zoneCandidates("example.com")).toEqual(["example.com"]);
  });

  test("the longest matching zone is selected", () => {
    const zones = [zone("example.com"), zone("eu.example.com"), zone("ample.com")];
    expect(selectZone("orders.eu.example.com", zones)).toMatchObject({ zone: { name: "eu.example.com" } });
    expect(selectZone("orders.example.com", zones)).toMatchObject({ zone: { name: "example.com" } });
  });

  test("the active zone is selected if two accounts have a zone with the same name", () => {
    const zones = [zone("example.com", { id: "old", status: "moved" }), zone("example.com", { id: "new" })];
    expect(selectZone("orders.example.com", zones)).toMatchObject({ zone: { id: "new" } });
  });

  test.each([
    ["no zone", []],
    ["a pending zone", [zone("example.com", { status: "pending" })]],
    ["a zone that was moved away", [zone("example.com", { status: "moved", nameServers: [] })]],
    ["a zone with another authoritative DNS", [zone("example.com", { type: "partial" })]],
    ["a paused zone", [zone("example.com", { paused: true })]],
  ])("%s is reported as a problem", (_case, zones) => {
    expect(selectZone("orders.example.com", zones)).toMatchSnapshot();
  });
});

describe("conflicting records", () => {
  test.each(["A", "AAAA", "CNAME"])("another owner's %s record at the host conflicts", (type) => {
    const [problem] = conflictsAt("orders.example.com", record(type, "orders.example.com"));
    expect(problem).toMatch(new RegExp(`^orders.example.com: ${type} .*Delete it`));
  });

  test("another stack's record conflicts, and the message contains its comment", () => {
    const other = record("CNAME", "orders.example.com", "store-orders/production, kept by Pulumi");
    expect(conflictsAt("orders.example.com", other)[0]).toContain("'store-orders/production");
  });

  test("the stack's own CNAME and records of other types do not conflict", () => {
    const own = record("CNAME", "orders.example.com", COMMENT);
    const other = record("TXT", "orders.example.com");
    expect(conflictsAt("orders.example.com", own, other)).toEqual([]);
  });

  test("an address record conflicts even with the stack's comment", () => {
    expect(conflictsAt("orders.example.com", record("A", "orders.example.com", COMMENT))).toHaveLength(1);
  });

  test("an NS record between the host and its zone conflicts, the zone's own NS records do not", () => {
    expect(delegationCandidates("a.eu.example.com", "example.com")).toEqual(["eu.example.com"]);
    expect(conflictsAt("a.eu.example.com", record("NS", "eu.example.com"))).toHaveLength(1);
    expect(conflictsAt("example.com", record("NS", "example.com"))).toEqual([]);
  });
});

test("different hosts have different logical names", () => {
  const label = fc.stringMatching(/^[a-z0-9](-?[a-z0-9]){0,5}$/);
  const host = fc.array(label, { minLength: 2, maxLength: 4 }).map((labels) => labels.join("."));
  fc.assert(fc.property(host, host, (one, other) => one === other || hostKey(one) !== hostKey(other)));
  expect(hostKey("a-b.example.com")).not.toBe(hostKey("a.b.example.com"));
});
