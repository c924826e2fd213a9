import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CloudflareZone, cloudflare, toZone } from "../../../infra/domains/cloudflare.ts";
import {
  findRecordConflicts,
  namesToCheck,
  selectZone,
  zoneCandidates,
} from "../../../infra/domains/managed-dns.ts";
import { hostKey, ownershipComment } from "../../../infra/names.ts";
import { zone } from "../harness/cloud.ts";

const select = (host: string, zones: readonly CloudflareZone[]) =>
  selectZone(host, zones.map(toZone), cloudflare);

describe("zone selection", () => {
  test("the candidates are the host and its parents down to the registrable domain", () => {
    const names = ["a.b.example.co.uk", "b.example.co.uk", "example.co.uk"];
    expect(zoneCandidates("a.b.example.co.uk")).toEqual(names);
    expect(zoneCandidates("example.com")).toEqual(["example.com"]);
  });

  test("the longest matching zone is selected", () => {
    const zones = [zone("example.com"), zone("eu.example.com"), zone("ample.com")];
    expect(select("orders.eu.example.com", zones)).toMatchObject({ zone: { name: "eu.example.com" } });
    expect(select("orders.example.com", zones)).toMatchObject({ zone: { name: "example.com" } });
  });

  test("the active zone is selected if two accounts have a zone with the same name", () => {
    const zones = [zone("example.com", { id: "old", status: "moved" }), zone("example.com", { id: "new" })];
    expect(select("orders.example.com", zones)).toMatchObject({ zone: { id: "new" } });
  });

  test("the names between a host and its zone are candidates for a delegation", () => {
    const names = ["a.eu.example.com", "eu.example.com"];
    expect(namesToCheck("a.eu.example.com", "example.com")).toEqual(names);
    expect(namesToCheck("eu.example.com", "example.com")).toEqual(["eu.example.com"]);
  });

  test.each([
    ["no zone", []],
    ["a pending zone", [zone("example.com", { status: "pending" })]],
    ["a zone that was moved away", [zone("example.com", { status: "moved", nameServers: [] })]],
    ["a zone with another authoritative DNS", [zone("example.com", { type: "partial" })]],
    [
      "a pending zone of a subdomain",
      [zone("eu.example.com", { status: "pending" }), zone("example.com", { status: "moved" })],
      "orders.eu.example.com",
    ],
  ])("%s is reported as a problem", (_case, zones, host = "orders.example.com") => {
    expect(select(host, zones)).toMatchSnapshot();
  });

  test.each([
    ["a paused zone", "example.com", [zone("example.com", { paused: true })], /^The zone .* is paused/],
    [
      "a pending zone below an active one",
      "example.com",
      [zone("example.com"), zone("eu.example.com", { status: "pending" })],
      /eu.example.com at Cloudflare is not delegated \(status pending\), so the records are set in example.com/,
    ],
  ])("%s is used with a note", (_case, name, zones, note) => {
    const selected = select("orders.eu.example.com", zones);
    expect(selected).toMatchObject({ ok: true, zone: { name }, warnings: [expect.stringMatching(note)] });
  });
});

test.each([
  ["shop", "production", "shop/production, kept by Pulumi"],
  ["p".repeat(60), "s".repeat(23), `${"p".repeat(60)}/${"s".repeat(23)}, kept by Pulumi`],
])("the comment of %s/%s is as ever", (project, stack, comment) => {
  expect(ownershipComment({ project, stack })).toBe(comment);
});

test("a comment has at most Cloudflare's 100 characters, and no other stack has it", () => {
  const comments = ["a", "b"].map((last) =>
    ownershipComment({ project: "p".repeat(90), stack: `${"s".repeat(60)}${last}` }),
  );
  expect(comments.map(({ length }) => length)).toEqual([100, 100]);
  expect(new Set(comments).size).toBe(2);
});

test("different hosts have different logical names", () => {
  const label = fc.stringMatching(/^[a-z0-9](-?[a-z0-9]){0,5}$/);
  const host = fc.array(label, { minLength: 2, maxLength: 4 }).map((labels) => labels.join("."));
  fc.assert(fc.property(host, host, (one, other) => one === other || hostKey(one) !== hostKey(other)));
  expect(hostKey("a-b.example.com")).not.toBe(hostKey("a.b.example.com"));
});

const HOST = "orders.example.com";
const COMMENT = "store-orders/staging, kept by Pulumi";
const MARK = { provider: cloudflare, comment: COMMENT };
const record = (type: string, name: string, comment?: string) => ({
  ...{ id: "1", name, type, content: "elsewhere" },
  ...(comment === undefined ? {} : { comment }),
});
type TestRecord = ReturnType<typeof record>;
const conflictsAt = (host: string, ...records: readonly TestRecord[]) =>
  findRecordConflicts({ host, held: false }, "example.com", records, MARK);

describe("conflicting records", () => {
  test.each(["A", "AAAA", "CNAME"])("another owner's %s record at the host conflicts", (type) => {
    expect(conflictsAt(HOST, record(type, HOST))).toMatchSnapshot();
  });

  test("an NS record between the host and its zone, and an identifier that is not at the host, are named", () => {
    expect(conflictsAt("a.eu.example.com", record("NS", "eu.example.com"))).toMatchSnapshot();
    expect(check({ adopt: "2" })).toMatchSnapshot();
    expect(conflictsAt(HOST, record("CNAME", HOST, "store-orders/production, kept by Pulumi"))[0]).toContain(
      "'store-orders/production",
    );
  });

  const check = (plan: { adopt?: string; held?: boolean }, ...records: readonly TestRecord[]) =>
    findRecordConflicts({ host: HOST, held: false, ...plan }, "example.com", records, MARK);

  test.each([
    ["the stack's own CNAME, and other types", 0, {}, [record("CNAME", HOST, COMMENT), record("TXT", HOST)]],
    ["an address record with the stack's comment", 1, {}, [record("A", HOST, COMMENT)]],
    ["records at a held host", 0, { held: true }, [record("A", HOST), record("CNAME", HOST)]],
    ["a delegation of a held host", 1, { held: true }, [record("NS", HOST)]],
    ["a CNAME that is adopted", 0, { adopt: "1" }, [record("CNAME", HOST)]],
    ["an address record that is adopted", 1, { adopt: "1" }, [record("A", HOST)]],
    ["an adopted record of another host", 1, { adopt: "1" }, [record("CNAME", "www.example.com")]],
    ["another identifier than that of its own record", 0, { adopt: "2" }, [record("CNAME", HOST, COMMENT)]],
  ])("%s: %i conflicts", (_case, count, plan, records) => {
    expect(check(plan, ...records)).toHaveLength(count);
  });

  test("the zone's own NS records are none", () => {
    expect(conflictsAt("example.com", record("NS", "example.com"))).toEqual([]);
  });
});
