import { expect, test } from "vitest";
import type { ConfiguredHost } from "../../../lib/domains/mapping.ts";
import { formatReport } from "../../../lib/domains/verification/report.ts";
import type { DnsAnswer, DnsResolver, RecordType } from "../../../lib/domains/verification/resolver.ts";
import { verifyHosts } from "../../../lib/domains/verification/verify-hosts.ts";
import { createDnsResolver } from "../../../lib/node/dns-resolver.ts";
import { startDnsServer } from "../../support/dns-server.ts";

const TARGET = "d-1a2b3c.platform.example.net";

test("a wrong CNAME is understood in five seconds: state, found, expected, and what to do", async () => {
  await using server = await startDnsServer(
    `
com NS ns.registry.example
example.com NS ns1.example.com
orders.example.com CNAME ${TARGET}
www.example.com CNAME old.hosting.example.net
slow.example.com A 192.0.2.1
`,
    { "slow.example.com": "timeout" },
  );
  const hosts: readonly ConfiguredHost[] = [
    { host: "orders.example.com", role: "primary" },
    { host: "www.example.com", role: "redirect" },
    { host: "slow.example.com", role: "alias" },
  ];
  const resolver = createDnsResolver({ servers: [server.address], timeoutMs: 300, tries: 1 });
  expect(formatReport(await verifyHosts(hosts, { resolver, target: TARGET }))).toBe(`\
✓ orders.example.com  verified  (primary)
    CNAME ${TARGET}, and the certificate authority may issue

✗ www.example.com  pending_dns  (redirect)
  The record points to the wrong place.
    found     CNAME old.hosting.example.net
    expected  CNAME ${TARGET}
    to do     At the DNS provider of example.com, change the value of the CNAME record www to ${TARGET}.

? slow.example.com  unknown  (alias)
  DNS did not answer, so nothing is known.
    found     slow.example.com: no answer in time
    expected  CNAME ${TARGET}
    to do     Try again, or ask another resolver. If it stays so, check the name servers of example.com.

1 of 3 hosts verified. DNS changes may take up to 48 hours to propagate.
`);
});

const NOTHING: DnsAnswer<never> = { outcome: "nodata" };

/** A resolver that knows CNAME records alone. */
function knowing(cnames: Readonly<Record<string, string>>): DnsResolver {
  return async <T extends RecordType>(name: string, type: T): Promise<DnsAnswer<T>> => {
    const target = type === "CNAME" ? cnames[name] : undefined;
    return target === undefined
      ? NOTHING
      : ({ outcome: "found", records: [target] } as unknown as DnsAnswer<T>);
  };
}

test("what DNS says cannot move the reader's terminal", async () => {
  const resolver = knowing({ "www.example.com": "\u001b[2J\u009b31mred\u202e.example.net" });
  const reports = await verifyHosts([{ host: "www.example.com", role: "alias" }], {
    resolver,
    target: TARGET,
  });
  const report = formatReport(reports);
  expect(report).toContain("found     CNAME ?[2J?31mred?.example.net");
  expect(report).not.toMatch(/[^\P{C}\n]/u);
});

test("a report on nothing but verified hosts is short", async () => {
  const resolver = knowing({ "www.example.com": TARGET });
  const reports = await verifyHosts([{ host: "www.example.com", role: "primary" }], {
    resolver,
    target: TARGET,
  });
  expect(formatReport(reports)).toBe(
    `✓ www.example.com  verified  (primary)\n    CNAME ${TARGET}, and the certificate authority may issue\n\n1 of 1 host verified.\n`,
  );
});

test("many hosts are checked a bounded number at a time, reported in order, and no question is asked twice", async () => {
  const hosts = Array.from(
    { length: 50 },
    (_, index): ConfiguredHost => ({
      host: `h${index}.example.com`,
      role: "alias",
    }),
  );
  const known = knowing(Object.fromEntries(hosts.map(({ host }) => [host, TARGET])));
  const asked: string[] = [];
  const checking = new Set<string>();
  let most = 0;
  const resolver: DnsResolver = async (name, type) => {
    asked.push(`${type} ${name}`);
    if (name.startsWith("h")) checking.add(name);
    most = Math.max(most, checking.size);
    await new Promise(setImmediate);
    checking.delete(name);
    return known(name, type);
  };
  const reports = await verifyHosts(hosts, { resolver, target: TARGET, concurrency: 4 });
  expect(reports.map(({ host }) => host)).toEqual(hosts.map(({ host }) => host));
  expect(reports.every(({ state, record }) => state === "verified" && record.zone === "example.com")).toBe(
    true,
  );
  expect(most).toBe(4);
  expect(new Set(asked).size).toBe(asked.length);
});

test("no hosts are no reports", async () => {
  expect(await verifyHosts([], { resolver: knowing({}), target: TARGET })).toEqual([]);
});
