import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { adviceFor } from "../../../lib/domains/verification/advice.ts";
import {
  formatReport,
  hostReportsJsonSchema,
  hostReportsSchema,
} from "../../../lib/domains/verification/report.ts";
import { type HostReport, type HostToVerify, verifyHosts } from "../../../lib/domains/verification/verify.ts";
import { createDnsResolver } from "../../../lib/node/dns-resolver.ts";
import { startDnsServer } from "../../support/dns-server.ts";

const TARGET = "d-1a2b3c.platform.example.net";

describe("a report", () => {
  type Described = z.output<typeof hostReportsSchema>[number];

  const hosts: readonly HostToVerify[] = [
    { host: "a.example.com", role: "primary" },
    { host: "example.com", role: "alias" },
    { host: "b.example.com", role: "redirect" },
    { host: "caa.example.org", role: "redirect" },
    { host: "slow.example.com", role: "redirect" },
    { host: "www.example.net", role: "redirect" },
  ];
  const zone = `
example.com NS ada.ns.cloudflare.com
example.com A 198.51.100.7
${TARGET} A 198.51.100.7
a.example.com CNAME ${TARGET}
caa.example.org CNAME ${TARGET}
example.org CAA 0 issue "letsencrypt.org"
`;

  async function reportOnHosts() {
    await using server = await startDnsServer(zone, { "slow.example.com": "SERVFAIL" });
    const resolver = createDnsResolver({ servers: [server.address], maxAttempts: 1 });
    const [last, ...others] = hosts.toReversed();
    const targeted = others.map((host) => ({ ...host, target: TARGET })).toReversed();
    return await verifyHosts([...targeted, ...(last === undefined ? [] : [last])], { resolver });
  }

  test("every report follows the published JSON Schema, which allows no other properties", async () => {
    const reports = JSON.parse(JSON.stringify(await reportOnHosts()));
    const schema = z.fromJSONSchema(hostReportsJsonSchema() as Parameters<typeof z.fromJSONSchema>[0]);
    expect(schema.safeParse(reports)).toMatchObject({ success: true });
    expect(hostReportsSchema.safeParse(reports)).toMatchObject({ success: true });
    for (const change of [{ state: "live" }, { extra: 1 }, { advice: undefined }]) {
      const changed = JSON.parse(JSON.stringify([{ ...reports[0], ...change }]));
      expect(schema.safeParse(changed).success, JSON.stringify(change)).toBe(false);
    }
  });

  test("a description in the schema is a sentence, and so is the fix of every reason", async () => {
    const descriptions = [...JSON.stringify(hostReportsJsonSchema()).matchAll(/"description":"(.*?)"/g)];
    expect(descriptions.length).toBeGreaterThan(10);
    for (const [, description] of descriptions) expect(description).toMatch(/^[A-Z].*\.$/);
    for (const { fix } of (await reportOnHosts()).flatMap(({ reasons }) => reasons))
      expect(fix).toMatch(/^[A-Z].*\.$/);
  });

  test("every host has its state in the terms of the lifecycle, and the advice for it", async () => {
    const reports = await reportOnHosts();
    expect(reports.map(({ host, state }) => [host, state])).toEqual([
      ["a.example.com", "verified"],
      ["example.com", "verified"],
      ["b.example.com", "pending_dns"],
      ["caa.example.org", "needs_attention"],
      ["slow.example.com", "unknown"],
      ["www.example.net", "pending_dns"],
    ]);
    for (const report of reports) expect(report.advice).toEqual(adviceFor(report));
    expect(reports[3]).toMatchObject({ attention: "certificate_forbidden" });
    expect(reports[1]?.record).toMatchObject({ type: "CNAME", name: "@", alternatives: [] });
    const text = formatReport(reports);
    expect(text).toContain(
      `A 198.51.100.7, the addresses of ${TARGET} (flattened CNAME at Cloudflare); the certificate authority`,
    );
    expect(text).toMatch(/caa\.example\.org {2}needs_attention[^✗?]*next +Change the CAA records/);
  });

  test("every report that the types allow is one that the schema describes", () => {
    expectTypeOf<HostReport["state"]>().toEqualTypeOf<Described["state"]>();
    expectTypeOf<keyof HostReport>().toEqualTypeOf<keyof Described>();
    expectTypeOf<HostReport["dns"]>().toEqualTypeOf<Described["dns"]>();
    expectTypeOf<HostReport["certificate"]>().toEqualTypeOf<Described["certificate"]>();
    expectTypeOf<Required<HostReport>["record"]["type"]>().toEqualTypeOf<
      Required<Described>["record"]["type"]
    >();
  });
});
