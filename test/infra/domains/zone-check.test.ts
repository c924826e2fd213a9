import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { delegationCandidates, selectZone, zoneCandidates } from "../../../infra/domains/zone-check.ts";
import { hostKey } from "../../../infra/names.ts";
import { zone } from "../harness/cloud.ts";

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

  test("the names between a host and its zone are candidates for a delegation", () => {
    expect(delegationCandidates("a.eu.example.com", "example.com")).toEqual(["eu.example.com"]);
    expect(delegationCandidates("eu.example.com", "example.com")).toEqual([]);
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

test("different hosts have different logical names", () => {
  const label = fc.stringMatching(/^[a-z0-9](-?[a-z0-9]){0,5}$/);
  const host = fc.array(label, { minLength: 2, maxLength: 4 }).map((labels) => labels.join("."));
  fc.assert(fc.property(host, host, (one, other) => one === other || hostKey(one) !== hostKey(other)));
  expect(hostKey("a-b.example.com")).not.toBe(hostKey("a.b.example.com"));
});
