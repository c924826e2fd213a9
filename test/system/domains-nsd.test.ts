import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { formatReport } from "../../lib/cli/report.ts";
import type { ConfiguredHost } from "../../lib/domains/mapping.ts";
import { verifyHost, verifyHosts } from "../../lib/domains/status/verify.ts";
import type { DnsResolver } from "../../lib/domains/verification/resolver.ts";
import { createDnsResolver } from "../../lib/node/dns-resolver.ts";
import { skipsBecause } from "../support/skip-reason.ts";
import { findNsd, startNsd } from "./nsd.ts";

const nsd = findNsd();
const reason = nsd === undefined ? "nsd is not installed; apt-get install nsd" : undefined;

const TARGET = "d-1a2b3c.platform.example.net";
const HEAD = `$TTL 60
@ SOA ns1.registry.example. hostmaster.registry.example. 1 3600 600 86400 60
@ NS ns1.registry.example.
`;

/** `com` is served like by its registry, the zones below it like by their providers. */
const ZONES = {
  com: `${HEAD}
example NS ns1.registry.example.
strict NS ns1.registry.example.
lame NS ns1.registry.example.
`,
  "example.com": `${HEAD}
@ A 198.51.100.7
@ AAAA 2001:db8::7
right CNAME D-1a2b3c.Platform.Example.NET.
wrong CNAME old.hosting.example.net.
appended CNAME ${TARGET}
address A 192.0.2.1
address6 AAAA 2001:db8::1
proxied A 104.16.132.229
dangling CNAME gone.platform.example.net.
through CNAME alias.platform.example.net.
empty CNAME text.platform.example.net.
loop CNAME loop2
loop2 CNAME loop
other TXT "a name with another record"
*.wild A 192.0.2.1
*.pointed CNAME ${TARGET}.
`,
  "strict.com": `${HEAD}
@ A 192.0.2.1
@ CAA 0 issue "letsencrypt.org"
@ CAA 0 issuewild "amazon.com"
v1.orders CNAME ${TARGET}.
critical CNAME ${TARGET}.
allowed CNAME caa.hosting.example.net.
`,
  "example.net": `${HEAD}
d-1a2b3c.platform A 198.51.100.7
d-1a2b3c.platform AAAA 2001:db8::7
alias.platform CNAME gone.platform
text.platform TXT "a name without an address"
old.hosting A 192.0.2.1
old.hosting CAA 128 tbs "unknown"
caa.hosting CAA 0 issue "amazon.com; account=12345"
`,
  // Configured without its file, so that every query for it returns SERVFAIL.
  "lame.com": undefined,
};

describe.skipIf(skipsBecause("verification against nsd", reason))("verification against nsd", () => {
  let server: Awaited<ReturnType<typeof startNsd>>;
  let resolver: DnsResolver;

  beforeAll(async () => {
    server = await startNsd(nsd ?? "", ZONES);
    resolver = createDnsResolver({ servers: [server.address] });
  });
  afterAll(() => server?.stop());

  test.each([
    ["right.example.com", "verified", "ok", "allowed", []],
    ["example.com", "verified", "ok", "allowed", []],
    [
      "wrong.example.com",
      "pending_dns",
      "wrong_target",
      "forbidden",
      ["wrong_target", "caa_unknown_critical"],
    ],
    ["appended.example.com", "pending_dns", "wrong_target", "allowed", ["wrong_target"]],
    ["address.example.com", "pending_dns", "conflict", "allowed", ["blocking_address"]],
    ["any.wild.example.com", "pending_dns", "conflict", "allowed", ["blocking_address"]],
    ["any.pointed.example.com", "verified", "ok", "allowed", []],
    ["address6.example.com", "pending_dns", "conflict", "allowed", ["blocking_address"]],
    ["proxied.example.com", "pending_dns", "proxied", "allowed", ["proxied"]],
    ["loop.example.com", "pending_dns", "loop", "unknown", ["cname_loop", "caa_unanswered"]],
    ["other.example.com", "pending_dns", "missing", "allowed", ["record_missing"]],
    ["missing.example.com", "pending_dns", "missing", "allowed", ["record_missing"]],
    ["strict.com", "pending_dns", "wrong_target", "forbidden", ["wrong_target", "caa_forbids"]],
    ["v1.orders.strict.com", "needs_attention", "ok", "forbidden", ["caa_forbids"]],
    ["allowed.strict.com", "pending_dns", "wrong_target", "allowed", ["wrong_target"]],
    [
      "www.unregistered.com",
      "pending_dns",
      "not_delegated",
      "allowed",
      ["zone_not_delegated", "record_missing"],
    ],
    ["www.lame.com", "pending_dns", "lame", "unknown", ["zone_lame", "caa_unanswered"]],
    ["www.example.org", "unknown", "unknown", "unknown", ["dns_unanswered", "caa_unanswered"]],
  ])("%s is verified as %s with DNS %s and certificate %s", async (host, state, dns, certificate, codes) => {
    const verification = await verifyHost(host, { resolver, target: TARGET });
    expect(verification).toMatchObject({ host, state, dns, certificate });
    expect(verification.reasons.map(({ code }) => code)).toEqual(codes);
  });

  test("a name that does not exist is distinguished from one without such a record", async () => {
    const zone = { zone: "example.com" };
    expect(await resolver("missing.example.com", "CNAME")).toEqual({ outcome: "nxdomain", ...zone });
    expect(await resolver("other.example.com", "CNAME")).toEqual({ outcome: "nodata", ...zone });
  });

  test.each([
    [
      "dangling.example.com",
      "gone.platform.example.net",
      "NXDOMAIN: gone.platform.example.net does not exist",
    ],
    [
      "through.example.com",
      "alias.platform.example.net",
      "CNAME alias.platform.example.net → gone.platform.example.net; NXDOMAIN: gone.platform.example.net does not exist",
    ],
    ["empty.example.com", "text.platform.example.net", "text.platform.example.net has no A or AAAA record"],
  ])("%s is not verified, because its target %s has no address", async (host, target, found) => {
    const verification = await verifyHost(host, { resolver, target });
    expect(verification).toMatchObject({ state: "pending_dns", dns: "target_missing" });
    expect(verification.reasons).toMatchObject([{ code: "target_missing", name: target, found }]);
  });

  test("the record of a wildcard is distinguished from a record of the host", async () => {
    const wildcard = await verifyHost("any.wild.example.com", { resolver, target: TARGET });
    expect(wildcard.reasons[0]?.fix).toContain(
      "set the CNAME record in place of any other record of any.wild:",
    );
    const own = await verifyHost("address.example.com", { resolver, target: TARGET });
    expect(own.reasons[0]?.fix).toContain(
      "remove the A record of address (192.0.2.1), then add the CNAME record",
    );
  });

  test("forbidding CAA records are reported with their name, two levels up or behind a CNAME", async () => {
    const ancestor = await verifyHost("v1.orders.strict.com", { resolver, target: TARGET });
    expect(ancestor.reasons).toMatchObject([{ code: "caa_forbids", name: "strict.com" }]);
    const behind = await verifyHost("wrong.example.com", { resolver, target: TARGET });
    expect(behind.reasons[1]).toMatchObject({
      name: "old.hosting.example.net",
      found: 'old.hosting.example.net CAA 128 tbs "unknown"',
    });
  });

  test("every host is unknown if the server has stopped", async () => {
    const stopped = await startNsd(nsd ?? "", { com: ZONES.com });
    await stopped.stop();
    const verification = await verifyHost("right.example.com", {
      resolver: createDnsResolver({ servers: [stopped.address], timeoutMs: 200, maxAttempts: 1 }),
      target: TARGET,
    });
    expect(verification).toMatchObject({ state: "unknown", dns: "unknown", certificate: "unknown" });
  });

  test("the report shows the state and the reasons of each host", async () => {
    const hosts: readonly ConfiguredHost[] = [
      { host: "right.example.com", role: "primary" },
      { host: "wrong.example.com", role: "redirect" },
    ];
    const report = formatReport(await verifyHosts(hosts, { resolver, target: TARGET }));
    expect(report).toContain(`
✗ wrong.example.com  pending_dns  (redirect)
  The record points to the wrong target.
    found     CNAME old.hosting.example.net
    expected  CNAME ${TARGET}
    fix       At the DNS provider of example.com, change the value of the CNAME record wrong to ${TARGET}. DNS asks ns1.registry.example for example.com: if your provider's name servers are others, enter those at the registrar.
`);
    expect(report).toContain("1 of 2 hosts verified.");
  });
});
