import { describe, expect, test } from "vitest";
import { formatReport } from "../../../lib/cli/report.ts";
import { adviceFor, type StackStatus } from "../../../lib/domains/status/steps.ts";
import { type HostToVerify, verifyHosts } from "../../../lib/domains/status/verify.ts";
import { createDnsResolver } from "../../../lib/node/dns-resolver.ts";
import { startDnsServer } from "../../support/dns-server.ts";

const TARGET = "d-1a2b3c.platform.example.net";
const STACK: StackStatus = {
  state: "needs_attention",
  attention: "certificate_overdue",
  reason: "The certificate has not been issued.",
  next: ["Request a new certificate."],
  since: "2026-01-01T00:00:00Z",
  until: "2026-01-04T00:00:00Z",
};

describe("a report", () => {
  const hosts: readonly HostToVerify[] = [
    { host: "a.example.com", role: "primary" },
    { host: "example.com", role: "alias" },
    { host: "b.example.com", role: "redirect" },
    { host: "caa.example.org", role: "redirect" },
    { host: "slow.example.com", role: "redirect" },
    { host: "example.net", role: "redirect" },
    { host: "example.org", role: "redirect" },
    { host: "www.example.org", role: "redirect", zone: "example.org" },
    { host: "www.example.info", role: "redirect" },
    { host: "www.example.net", role: "redirect", stack: STACK },
  ];
  const zone = `
example.com NS ada.ns.cloudflare.com
example.com A 198.51.100.7
${TARGET} A 198.51.100.7
a.example.com CNAME ${TARGET}
caa.example.org CNAME ${TARGET}
example.org CAA 0 issue "letsencrypt.org"
example.org NS ns10.dnsmadeeasy.com
`;

  async function reportOnHosts() {
    await using server = await startDnsServer(zone, { "slow.example.com": "SERVFAIL", info: "SERVFAIL" });
    const resolver = createDnsResolver({ servers: [server.address], maxAttempts: 1 });
    const [last, ...others] = hosts.toReversed();
    const targeted = others.map((host) => ({ ...host, target: TARGET })).toReversed();
    return await verifyHosts([...targeted, ...(last === undefined ? [] : [last])], { resolver });
  }

  test("the fix of every reason is a sentence", async () => {
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
      ["example.net", "pending_dns"],
      ["example.org", "pending_dns"],
      ["www.example.org", "pending_dns"],
      ["www.example.info", "unknown"],
      ["www.example.net", "pending_dns"],
    ]);
    for (const report of reports) expect(report.advice).toEqual(adviceFor(report));
    expect(reports[3]).toMatchObject({ attention: "certificate_forbidden" });
    const text = formatReport(reports);
    expect(text).toContain(
      `A 198.51.100.7, the addresses of ${TARGET} (flattened CNAME); the certificate authority`,
    );
    expect(text).toMatch(/caa\.example\.org {2}needs_attention[^✗?]*next +Change the CAA records/);
  });

  test("the record of an apex is of the type that its provider has, and only an ALIAS has alternatives", async () => {
    const records = (await reportOnHosts()).map(({ records: [record] }) => [
      record?.zoneSource,
      record?.type,
      record?.name,
      record?.alternatives,
    ]);
    const none: readonly string[] = [];
    expect(records).toEqual([
      ["dns", "CNAME", "a", none],
      ["dns", "CNAME", "@", none],
      ["dns", "CNAME", "b", none],
      ["dns", "CNAME", "caa", none],
      ["dns", "CNAME", "slow", none],
      ["dns", "ALIAS", "@", ["ANAME", "CNAME, if the provider flattens it"]],
      ["dns", "ANAME", "@", none],
      ["given", "CNAME", "www", none],
      ["public_suffix_list", "CNAME", "www", none],
      [undefined, undefined, undefined, undefined],
    ]);
  });

  test("a report repeats what the stack said about the host, if that was given", async () => {
    const reports = await reportOnHosts();
    expect(reports.at(-1)?.stack).toEqual(STACK);
    expect(reports.filter((report) => "stack" in report)).toHaveLength(1);
  });
});
