import { expect, test } from "vitest";
import { formatReport } from "../../../lib/cli/report.ts";
import type { ConfiguredHost } from "../../../lib/domains/mapping.ts";
import { isWrong } from "../../../lib/domains/status/status.ts";
import { verifyHosts } from "../../../lib/domains/status/verify.ts";
import type { DnsAnswer, DnsResolver, RecordType } from "../../../lib/domains/verification/resolver.ts";
import { createDnsResolver } from "../../../lib/node/dns-resolver.ts";
import { startDnsServer } from "../../support/dns-server.ts";
import { ASKED } from "./fixture.ts";

const TARGET = "d-1a2b3c.platform.example.net";

test("a report shows, per host, its state and for each reason what was found, what is expected and the fix", async () => {
  await using server = await startDnsServer(`
com NS ns.registry.example
example.com NS ns1.example.com
orders.example.com CNAME ${TARGET}
${TARGET} A 198.51.100.7
www.example.com CNAME old.hosting.example.net
`);
  const hosts: readonly ConfiguredHost[] = [
    { host: "orders.example.com", role: "primary" },
    { host: "www.example.com", role: "redirect" },
    { host: "slow.example.com", role: "alias" },
  ];
  const answering = createDnsResolver({ servers: [server.address], timeoutMs: 20_000, maxAttempts: 1 });
  const resolver: DnsResolver = async (name, type) =>
    name === "slow.example.com" ? { outcome: "failed", reason: "timeout" } : answering(name, type);
  expect(formatReport(await verifyHosts(hosts, { resolver, target: TARGET }))).toBe(`\
✓ orders.example.com  verified  (primary)
    CNAME ${TARGET}; the certificate authority may issue
    next      The certificate is issued automatically, usually within a couple of minutes.

✗ www.example.com  pending_dns  (redirect)
  The record points to the wrong target.
    found     CNAME old.hosting.example.net
    expected  CNAME ${TARGET}
    fix       At the DNS provider of example.com, change the value of the CNAME record www to ${TARGET}.${ASKED}

? slow.example.com  unknown  (alias)
  The DNS lookup failed.
    found     slow.example.com: no response in time
    expected  CNAME ${TARGET}
    fix       Retry, or use another resolver. If it keeps failing, check the name servers of example.com.

1 of 3 hosts verified. DNS changes may take up to 48 hours to propagate.
`);
});

const NO_DATA: DnsAnswer<never> = { outcome: "nodata" };

/** A resolver with only these CNAME records and an address for the platform host. */
function createResolver(cnames: Readonly<Record<string, string>>): DnsResolver {
  return async <T extends RecordType>(name: string, type: T): Promise<DnsAnswer<T>> => {
    const address = type === "A" && name === TARGET ? "198.51.100.7" : undefined;
    const data = type === "CNAME" ? cnames[name] : address;
    return data === undefined ? NO_DATA : ({ outcome: "found", records: [data] } as unknown as DnsAnswer<T>);
  };
}

test("control characters in DNS records do not reach the terminal, and a line feed begins no line", async () => {
  const value = "\u001b[2J\u009b31mred\u202e\n✓ www.example.com  verified.example.net";
  const resolver = createResolver({ "www.example.com": value });
  const hosts = [{ host: "www.example.com", role: "alias" as const }];
  const report = formatReport(await verifyHosts(hosts, { resolver, target: TARGET }));
  expect(report).toContain(
    String.raw`found     CNAME \u001b[2J\u009b31mred\u202e\n✓ www.example.com  verified.example.net`,
  );
  expect(report).not.toMatch(/[^\P{C}\n]/u);
  expect(report).not.toMatch(/^✓/m);
});

test("a report on a forbidden certificate has each step once, and the time of propagation at its end", async () => {
  await using server = await startDnsServer(
    `www.example.com CNAME ${TARGET}\n${TARGET} A 198.51.100.7\nexample.com CAA 0 issue "letsencrypt.org"`,
  );
  const resolver = createDnsResolver({ servers: [server.address], maxAttempts: 1 });
  const hosts = [{ host: "www.example.com", role: "primary" }] as const;
  expect(formatReport(await verifyHosts(hosts, { resolver, target: TARGET }))).toBe(`\
✗ www.example.com  needs_attention  (primary)
  CAA records forbid the certificate.
    found     example.com CAA 0 issue "letsencrypt.org"
    expected  example.com CAA 0 issue "amazon.com"
    fix       At the DNS provider of example.com, add the record CAA 0 issue "amazon.com" at example.com; keep the existing records.
    next      Change the CAA records that forbid the certificate, then verify again: 'store-orders domains check'.
    next      If the authority has already rejected a request: Request a new certificate: increase the host's number under 'reverify' in the stack configuration and deploy.

0 of 1 host verified. DNS changes may take up to 48 hours to propagate.
`);
});

test("verifyHosts bounds its concurrency, reports in order and sends no query twice", async () => {
  const hosts = Array.from(
    { length: 120 },
    (_, index): ConfiguredHost => ({
      host: `h${index}.example.com`,
      role: "alias",
    }),
  );
  const known = createResolver(Object.fromEntries(hosts.map(({ host }) => [host, TARGET])));
  const queries: string[] = [];
  const checking = new Set<string>();
  let peak = 0;
  const resolver: DnsResolver = async (name, type) => {
    queries.push(`${type} ${name}`);
    if (name.startsWith("h")) checking.add(name);
    peak = Math.max(peak, checking.size);
    await new Promise(setImmediate);
    checking.delete(name);
    return known(name, type);
  };
  const reports = await verifyHosts(hosts, { resolver, target: TARGET });
  expect(reports.map(({ host }) => host)).toEqual(hosts.map(({ host }) => host));
  expect(
    reports.every(({ state, records }) => state === "verified" && records[0]?.zone === "example.com"),
  ).toBe(true);
  expect(peak).toBe(50);
  expect(new Set(queries).size).toBe(queries.length);
});

test("verifyHosts returns no reports if there are no hosts", async () => {
  expect(await verifyHosts([], { resolver: createResolver({}), target: TARGET })).toEqual([]);
  expect(formatReport([])).toBe("There is no custom host to verify.\n");
});

test("a host without a target is not verified, but its CAA records are checked", async () => {
  await using server = await startDnsServer(
    `www.example.com CNAME ${TARGET}\nexample.com CAA 0 issue "letsencrypt.org"`,
  );
  const resolver = createDnsResolver({ servers: [server.address], maxAttempts: 1 });
  const reports = await verifyHosts([{ host: "www.example.com", role: "primary" }], { resolver });
  expect(reports[0]).toMatchObject({
    state: "pending_dns",
    dns: "target_unknown",
    certificate: "forbidden",
    reasons: [
      {
        code: "target_unknown",
        found: "no target, because the certificate has not been issued",
        expected: "CNAME the platform host",
        fix: "Set the certificate's validation record from the stack's outputs, wait until it has been issued, and deploy again. If they have none, request a new certificate: increase the host's number under 'reverify' in the stack configuration and deploy.",
      },
      { code: "caa_forbids" },
    ],
  });
  expect(reports[0]).not.toHaveProperty("record");
  expect(reports.map(isWrong)).toEqual([false]);
  expect(formatReport(reports)).toContain("The target is not known yet.");
});

test("a report shows the status of a host in the last update of its stack, unless it was live", async () => {
  const resolver = createResolver({});
  const [report] = await verifyHosts([{ host: "www.example.com", role: "primary" }], {
    resolver,
    target: TARGET,
  });
  if (report === undefined) throw new Error("There is no report.");
  const stack = { reason: "The record is missing.", next: ["Add the record.", "Deploy again."] };
  const text = formatReport([
    { ...report, stack: { ...stack, state: "needs_attention", attention: "certificate_overdue" } },
  ]);
  expect(text).toContain(
    [
      "  The stack, in its last update: needs_attention (certificate_overdue)",
      "    reason    The record is missing.",
      "    next      Add the record.",
      "    next      Deploy again.",
    ].join("\n"),
  );
  expect(formatReport([{ ...report, stack: { ...stack, state: "pending_dns" } }])).toContain(
    "in its last update: pending_dns\n",
  );
  expect(formatReport([{ ...report, stack: { ...stack, state: "live" } }])).not.toContain("The stack");
});
