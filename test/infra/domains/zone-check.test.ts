import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { judgeRecords, judgeZone, namesBetween, zoneCandidates } from "../../../infra/domains/zone-check.ts";
import { hostKey } from "../../../infra/names.ts";
import { zone } from "../harness/cloud.ts";

const MARK = "store-orders/staging, kept by Pulumi";
const record = (type: string, name: string, comment?: string) => ({
  id: "1",
  name,
  type,
  content: "elsewhere",
  ...(comment === undefined ? {} : { comment }),
});

describe("the zone of a host", () => {
  test("is looked for at the host and above, up to what can be registered", () => {
    expect(zoneCandidates("a.b.example.co.uk")).toEqual([
      "a.b.example.co.uk",
      "b.example.co.uk",
      "example.co.uk",
    ]);
    expect(zoneCandidates("example.com")).toEqual(["example.com"]);
  });

  test("is the longest that matches", () => {
    const zones = [zone("example.com"), zone("eu.example.com"), zone("ample.com")];
    expect(judgeZone("orders.eu.example.com", zones)).toMatchObject({ zone: { name: "eu.example.com" } });
    expect(judgeZone("orders.example.com", zones)).toMatchObject({ zone: { name: "example.com" } });
  });

  test("is the one in force, where two accounts hold one of that name", () => {
    const zones = [zone("example.com", { id: "old", status: "moved" }), zone("example.com", { id: "new" })];
    expect(judgeZone("orders.example.com", zones)).toMatchObject({ zone: { id: "new" } });
  });

  test.each([
    ["none", []],
    ["not delegated", [zone("example.com", { status: "pending" })]],
    ["delegated elsewhere", [zone("example.com", { status: "moved", nameServers: [] })]],
    ["served by somebody else", [zone("example.com", { type: "partial" })]],
    ["paused", [zone("example.com", { paused: true })]],
  ])("stops the run: %s", (_what, zones) => {
    expect(judgeZone("orders.example.com", zones)).toMatchSnapshot();
  });
});

describe("the records at a host", () => {
  test.each(["A", "AAAA", "CNAME"])("%s of somebody else's is in the way", (type) => {
    const [problem] = judgeRecords(
      "orders.example.com",
      "example.com",
      [record(type, "orders.example.com")],
      MARK,
    );
    expect(problem).toMatch(new RegExp(`^orders.example.com: ${type} .*Delete it`));
  });

  test("another stack's record is somebody else's, and its comment says whose", () => {
    const other = record("CNAME", "orders.example.com", "store-orders/production, kept by Pulumi");
    expect(judgeRecords("orders.example.com", "example.com", [other], MARK)[0]).toContain(
      "'store-orders/production",
    );
  });

  test("our own CNAME and records of other types are not", () => {
    const fine = [record("CNAME", "orders.example.com", MARK), record("TXT", "orders.example.com")];
    expect(judgeRecords("orders.example.com", "example.com", fine, MARK)).toEqual([]);
  });

  test("an address with our comment is in the way all the same", () => {
    const odd = record("A", "orders.example.com", MARK);
    expect(judgeRecords("orders.example.com", "example.com", [odd], MARK)).toHaveLength(1);
  });

  test("a delegation at the host or above it is in the way, the zone's own name servers are not", () => {
    const names = namesBetween("a.eu.example.com", "example.com");
    expect(names).toEqual(["eu.example.com"]);
    expect(
      judgeRecords("a.eu.example.com", "example.com", [record("NS", "eu.example.com")], MARK),
    ).toHaveLength(1);
    expect(judgeRecords("example.com", "example.com", [record("NS", "example.com")], MARK)).toEqual([]);
  });
});

test("no two hosts share a logical name", () => {
  const label = fc.stringMatching(/^[a-z0-9](-?[a-z0-9]){0,5}$/);
  const host = fc.array(label, { minLength: 2, maxLength: 4 }).map((labels) => labels.join("."));
  fc.assert(fc.property(host, host, (one, other) => one === other || hostKey(one) !== hostKey(other)));
  expect(hostKey("a-b.example.com")).not.toBe(hostKey("a.b.example.com"));
});
