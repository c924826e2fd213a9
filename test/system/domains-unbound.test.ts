import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type HostToVerify, MAX_CONCURRENT_HOSTS, verifyHosts } from "../../lib/domains/status/verify.ts";
import { findAuthority } from "../../lib/domains/verification/caa.ts";
import type { DnsResolver } from "../../lib/domains/verification/resolver.ts";
import { createDnsResolver } from "../../lib/node/dns-resolver.ts";
import { rowsOf } from "../domains/verification/fixture.ts";
import { freePort } from "../support/free-port.ts";
import { skipsBecause } from "../support/skip-reason.ts";
import { findServer, startNsd } from "./nsd.ts";
import { startUnbound } from "./unbound.ts";

const [nsd, unbound] = [findServer("nsd"), findServer("unbound")];
const reason =
  nsd === undefined || unbound === undefined
    ? "nsd or unbound is not installed; apt-get install nsd unbound"
    : process.platform === "linux"
      ? undefined
      : "only Linux has the addresses 127.0.0.11 to 127.0.0.14";

const TARGET = "d-1.platform.net";
const SERVERS = {
  "ns-a.org": "127.0.0.11",
  "ns-b.org": "127.0.0.12",
  "ns-c.org": "127.0.0.13",
  "ns-d.org": "127.0.0.14",
  "ns1.parking.org": "127.0.0.13",
};
const head = (...servers: readonly string[]) => `$TTL 60
@ SOA ${servers[0]}. hostmaster.registry.org. 1 3600 600 86400 60
${servers.map((server) => `@ NS ${server}.`).join("\n")}
`;

/** CAA sets as servers send them: the label below shop.com that has it, its records, who is asked, and the reasons. */
const CAA_SETS: readonly (readonly [
  label: string,
  records: readonly string[],
  asked: string,
  codes: string,
])[] = [
  ["empty", ['0 issue ""'], "amazon", "caa_forbids"],
  ["empty-two", ['0 issue ""', '0 issue ""'], "letsencrypt zerossl", "caa_forbids"],
  ["blank-semicolon", ['0 issue " ; "'], "amazon", "caa_forbids"],
  ["listed-one-of-two", ['0 issue "amazon.com"'], "letsencrypt amazon", ""],
  ["spaces", ['0 issue "  amazon.com  "'], "amazon", ""],
  ["parameters", ['0 issue "amazon.com; account=230123; policy=ev"'], "amazon", ""],
  ["wildcard", ['0 issuewild ";"'], "amazon", ""],
  ["critical-all-bits", ['255 odd ""'], "amazon", "caa_unknown_critical"],
  ["limited", ['0 issue "letsencrypt.org; validationmethods=dns-01"'], "letsencrypt", ""],
  // Longer than a datagram, so that the answer is truncated.
  ["long", [...longSet("ca"), '0 issue "amazon.com"'], "amazon", ""],
  ["long-last", longSet("ca"), "ca79.example.org", ""],
  ["long-critical", [...longSet("ca"), '128 zzz ""'], "ca79.example.org", "caa_unknown_critical"],
];

function longSet(name: string): readonly string[] {
  return Array.from({ length: 80 }, (_, index) => `0 issue "${name}${index}.example.org"`);
}

/** A registry, two providers, and a server that knows no zone. */
const REGISTRY = {
  com: `${head("ns-a.org")}
shop NS ns-b.org.
lame NS ns-d.org.
half NS ns-b.org.
half NS ns-d.org.
bogus NS ns-b.org.
broken NS ns-c.org.
nameless NS ns-x.org.
drift NS ns-b.org.
two NS ns-b.org.
two NS ns-c.org.
parked NS ns1.parking.org.
wild NS ns-b.org.
alias NS ns-b.org.
`,
  net: `${head("ns-a.org")}
pool NS ns-b.org.
pool NS ns-c.org.
d-1.platform A 198.51.100.7
old.host A 192.0.2.1
`,
  org: `${head("ns-a.org")}${Object.entries(SERVERS)
    .map(([name, address]) => `${name}. A ${address}`)
    .join("\n")}
`,
};
/** Zones whose name servers disagree: what each of them has. The target `t.pool.net` has more addresses than one shows. */
const disagreeing = (two: string, pool: readonly string[]) => ({
  "two.com": `${head("ns-b.org", "ns-c.org")}same CNAME ${TARGET}.\n${two}\n`,
  "pool.net": `${head("ns-b.org", "ns-c.org")}${pool.map((last) => `t A 198.51.100.${last}`).join("\n")}\n`,
});
const PROVIDER = {
  ...disagreeing(
    `www CNAME ${TARGET}.
wrong CNAME old.host.net.
gone CNAME ${TARGET}.
x.caa CNAME ${TARGET}.
caa CAA 0 issue "amazon.com"
_a.www CNAME _b.acm-validations.net.
_a.same CNAME _b.acm-validations.net.`,
    ["1", "2"],
  ),
  "wild.com": `${head("ns-b.org")}
* CNAME old.host.net.
_acme-challenge.shadow TXT "proof"
mail MX 10 mx.host.net.
mail TXT "v=spf1 -all"
right CNAME ${TARGET}.
_a.right CNAME _b.acm-validations.net.
flat A 198.51.100.7
half A 198.51.100.7
half A 192.0.2.9
both A 192.0.2.9
both MX 10 mx.host.net.
internal A 10.1.2.3
`,
  "alias.com": `${head("ns-b.org")}
@ A 198.51.100.2
@ A 198.51.100.4
some A 198.51.100.2
some A 192.0.2.9
none A 192.0.2.9
`,
  "shop.com": `${head("ns-b.org")}
www CNAME ${TARGET}.
*.many CNAME ${TARGET}.
address A 192.0.2.1
crowd A 198.51.100.7
${Array.from({ length: 120 }, (_, index) => `crowd A 192.0.2.${index}`).join("\n")}
done.shop.com CNAME ${TARGET}.
_a.done.shop.com CNAME _b.acm-validations.net.
stale CNAME ${TARGET}.
late CNAME ${TARGET}.
was-address CNAME ${TARGET}.
now-address A 192.0.2.1
now-wrong CNAME old.host.net.
x.caa-lifted CNAME ${TARGET}.
x.caa-set CNAME ${TARGET}.
caa-set CAA 0 issue "letsencrypt.org"
own CAA 0 issue "amazon.com"
x.own CNAME ${TARGET}.
a.b.x.own CNAME ${TARGET}.
denied CAA 0 issue ";"
a.denied CAA 0 issue "amazon.com"
x.a.denied CNAME ${TARGET}.
x.b.denied CNAME ${TARGET}.
sub NS ns-c.org.
dead NS ns-d.org.
evil NS ns-c.org.
${CAA_SETS.map(([label, records]) =>
  [`x.${label} CNAME ${TARGET}.`, ...records.map((record) => `${label} CAA ${record}`)].join("\n"),
).join("\n")}
`,
  "half.com": `${head("ns-b.org")}
www CNAME ${TARGET}.
`,
  "bogus.com": `${head("ns-b.org")}
www CNAME ${TARGET}.
`,
  // Its provider has moved, and the registrar still lists the old name servers.
  "drift.com": `${head("ns-d.org")}
www CNAME ${TARGET}.
`,
  "low.deep.sub.shop.com": `${head("ns-b.org")}
@ A 198.51.100.7
@ A 192.0.2.1
right CNAME ${TARGET}.
`,
};
const OTHER_PROVIDER = {
  ...disagreeing(
    `www A 192.0.2.1
wrong A 192.0.2.1
x.caa CNAME ${TARGET}.
caa CAA 0 issue "letsencrypt.org"
_a.www CNAME _b.acm-validations.net.`,
    ["3", "4"],
  ),
  "parked.com": `${head("ns1.parking.org")}
@ A 192.0.2.80
* A 192.0.2.80
`,
  "sub.shop.com": `${head("ns-c.org")}
@ CAA 0 issue "letsencrypt.org"
right CNAME ${TARGET}.
deep NS ns-c.org.
`,
  "deep.sub.shop.com": `${head("ns-c.org")}
@ A 198.51.100.7
@ CAA 0 issue "amazon.com"
right CNAME ${TARGET}.
stale CNAME ${TARGET}.
low NS ns-b.org.
`,
  // Configured without its file, so that every query for it returns SERVFAIL.
  "broken.com": undefined,
  // Everything that a customer could set to harm others.
  "evil.shop.com": `${head("ns-c.org")}
@ CAA 0 issue ""
@ CAA 0 iodef ""
@ CAA 255 odd ""
x CNAME loop
loop CNAME x
`,
};

describe.skipIf(skipsBecause("verification through a resolver", reason))(
  "verification through a resolver",
  () => {
    const running: { stop(): Promise<void> }[] = [];
    let resolver: DnsResolver;

    beforeAll(async () => {
      const port = await freePort();
      const zonesOf = {
        "127.0.0.11": REGISTRY,
        "127.0.0.12": PROVIDER,
        "127.0.0.13": OTHER_PROVIDER,
        "127.0.0.14": {},
      };
      for (const [address, zones] of Object.entries(zonesOf)) {
        running.push(await startNsd(nsd ?? "", zones, { address, port }));
      }
      const server = await startUnbound(unbound ?? "", {
        zones: {
          ...Object.fromEntries(
            Object.entries(zonesOf).flatMap(([address, zones]) =>
              Object.keys(zones).map((zone) => [zone, `${address}@${port}`]),
            ),
          ),
          // Nothing is asked outside of this machine.
          ".": `127.0.0.14@${port}`,
          "lame.com": `127.0.0.14@${port}`,
          "nameless.com": `127.0.0.14@${port}`,
          "dead.shop.com": `127.0.0.14@${port}`,
        },
        remembered: [
          "stale.shop.com. 55 IN CNAME old.host.net.",
          "stale.deep.sub.shop.com. 44 IN CNAME old.host.net.",
          "was-address.shop.com. 66 IN A 192.0.2.1",
          `now-address.shop.com. 88 IN CNAME ${TARGET}.`,
          `now-wrong.shop.com. 99 IN CNAME ${TARGET}.`,
          'caa-lifted.shop.com. 60 IN CAA 0 issue ";"',
          'caa-set.shop.com. 60 IN CAA 0 issue "amazon.com"',
          `gone.shop.com. 77 IN CNAME ${TARGET}.`,
          "moved.shop.com. 33 IN CNAME old.host.net.",
        ],
        denied: ["late.shop.com."],
        trustAnchors: [`bogus.com. DS 1 13 2 ${"ab".repeat(32)}`],
      });
      running.push(server);
      resolver = createDnsResolver({ servers: [server.address], nameServerPort: port });
    });
    afterAll(() => Promise.all(running.map((server) => server.stop())));

    const verify = async (host: string, options: Partial<HostToVerify> = {}, authorities = ["amazon"]) => {
      const [report] = await verifyHosts([{ host, role: "primary", target: TARGET, ...options }], {
        resolver,
        authorities: authorities.flatMap((name) => findAuthority(name) ?? []),
      });
      if (report === undefined) throw new Error("There is no report.");
      return report;
    };
    const codesOf = ({ reasons }: { readonly reasons: readonly { readonly code: string }[] }) =>
      reasons.map(({ code }) => code);

    test.each([
      ["www.shop.com", "shop.com", "www", "verified", []],
      ["a.many.shop.com", "shop.com", "a.many", "verified", []],
      ["missing.shop.com", "shop.com", "missing", "pending_dns", ["record_missing"]],
      ["address.shop.com", "shop.com", "address", "pending_dns", ["blocking_address"]],
      ["crowd.shop.com", "shop.com", "crowd", "pending_dns", ["stray_address"]],
      ["right.sub.shop.com", "sub.shop.com", "right", "needs_attention", ["caa_forbids"]],
      ["www.sub.shop.com", "sub.shop.com", "www", "pending_dns", ["record_missing", "caa_forbids"]],
      ["sub.shop.com", "sub.shop.com", "@", "pending_dns", ["record_missing", "caa_forbids"]],
      ["right.deep.sub.shop.com", "deep.sub.shop.com", "right", "verified", []],
      ["a.b.deep.sub.shop.com", "deep.sub.shop.com", "a.b", "pending_dns", ["record_missing"]],
      ["deep.sub.shop.com", "deep.sub.shop.com", "@", "verified", []],
      ["right.low.deep.sub.shop.com", "low.deep.sub.shop.com", "right", "verified", []],
      ["a.low.deep.sub.shop.com", "low.deep.sub.shop.com", "a", "pending_dns", ["record_missing"]],
      ["low.deep.sub.shop.com", "low.deep.sub.shop.com", "@", "pending_dns", ["stray_address"]],
      ["www.half.com", "half.com", "www", "verified", []],
      ["www.drift.com", "drift.com", "www", "verified", []],
      ["x.own.shop.com", "shop.com", "x.own", "verified", []],
      ["a.b.x.own.shop.com", "shop.com", "a.b.x.own", "verified", []],
      ["x.a.denied.shop.com", "shop.com", "x.a.denied", "verified", []],
      ["x.b.denied.shop.com", "shop.com", "x.b.denied", "needs_attention", ["caa_forbids"]],
      ["x.caa-lifted.shop.com", "shop.com", "x.caa-lifted", "verified", []],
      ["x.caa-set.shop.com", "shop.com", "x.caa-set", "needs_attention", ["caa_forbids"]],
      [
        "www.unregistered.com",
        "unregistered.com",
        "www",
        "pending_dns",
        ["zone_not_delegated", "record_missing"],
      ],
      ["www.lame.com", "lame.com", "www", "pending_dns", ["zone_lame", "caa_unanswered"]],
      ["www.dead.shop.com", "dead.shop.com", "www", "pending_dns", ["zone_lame", "caa_unanswered"]],
      ["www.bogus.com", "bogus.com", "www", "pending_dns", ["zone_lame", "caa_unanswered"]],
      ["www.broken.com", "broken.com", "www", "pending_dns", ["zone_lame", "caa_unanswered"]],
      ["www.nameless.com", "nameless.com", "www", "pending_dns", ["zone_lame", "caa_unanswered"]],
    ])("%s is in the zone %s with the label %s, and %s", async (host, zone, name, state, codes) => {
      const report = await verify(host);
      expect(report.records).toMatchObject([{ zone, zoneSource: "dns", name }]);
      expect(report.state).toBe(state);
      expect(codesOf(report)).toEqual(codes);
      const copies = [expect.stringMatching(/^If these are copied addresses and no ALIAS/)];
      expect(report.notes).toEqual(name === "@" && state === "verified" ? copies : []);
    });

    /** Host, target, state, the codes of the reasons, and parts of what was found and of the fix. */
    const CASES = rowsOf(`
      www.two.com | platform | pending_dns | name_servers_disagree | ns-b.org: CNAME d-1.platform.net; ns-c.org: A 192.0.2.1 | Find out why ns-c.org has another record
      gone.two.com | platform | pending_dns | name_servers_disagree | ns-c.org: NXDOMAIN | only those of one
      wrong.two.com | platform | pending_dns | wrong_target name_servers_disagree | CNAME old.host.net | DNS asks ns-b.org, ns-c.org for two.com
      same.two.com | platform | verified
      alias.com | pool | verified
      some.alias.com | pool | pending_dns | stray_address | A 192.0.2.9 | remove the A record of some
      none.alias.com | pool | pending_dns | blocking_address | A 192.0.2.9 | remove the A record of none
      www.parked.com | platform | pending_dns | blocking_address | A 192.0.2.80 | DNS asks ns1.parking.org for parked.com
      parked.com | platform | pending_dns | wrong_target | A 192.0.2.80 | enter those at the registrar.
      shadow.wild.com | platform | pending_dns | record_missing | although the name exists | add the CNAME record: name shadow
      any.wild.com | platform | pending_dns | wrong_target | as for every name that matches | set the CNAME record in place
      mail.wild.com | platform | pending_dns | record_missing | although the name exists | move its TXT and MX records to another name
      both.wild.com | platform | pending_dns | blocking_address | A 192.0.2.9 | move its MX records
      flat.wild.com | platform | verified
      half.wild.com | platform | pending_dns | stray_address | A 192.0.2.9 | remove the A record of half (192.0.2.9).
      internal.wild.com | platform | pending_dns | blocking_address | A 10.1.2.3 (private) | --resolver 1.1.1.1
      x.caa.two.com | platform | needs_attention | caa_forbids | caa.two.com CAA 0 issue "letsencrypt.org" | add the record
    `);
    test.each(CASES)(
      "fifty checks of %s (%s) give %s: %s",
      async (host = "", to, state, codes = "", found = "", fix = "") => {
        const target = to === "pool" ? "t.pool.net" : TARGET;
        const reports = await Promise.all(Array.from({ length: 50 }, () => verify(host, { target })));
        const [report] = reports;
        expect([report?.state, report && codesOf(report).join(" ")]).toEqual([state, codes]);
        expect(report?.reasons[0]?.found ?? "").toContain(found);
        expect(report?.reasons[0]?.fix ?? "").toContain(fix);
        expect(new Set(reports.map((each) => JSON.stringify(each)))).toHaveLength(1);
      },
    );

    const VALIDATION = rowsOf(`
      www.two.com | ${TARGET} | name_servers_disagree | Find out why ns-c.org has
      right.wild.com | ${TARGET} | |
      right.wild.com | | target_unknown | validation record is set: wait until
      www.shop.com | ${TARGET} | validation_record | add the CNAME record: name _a.www, value _b.acm
      done.shop.com | | target_unknown validation_record | rename the CNAME record _a.done
      any.wild.com | ${TARGET} | wrong_target validation_record | It takes precedence over the wildcard record
      same.two.com | ${TARGET} | validation_record | Find out why ns-c.org has another record
      www.lame.com | | target_unknown caa_unanswered zone_lame | enter those at the registrar
    `);
    test.each(VALIDATION)(
      "the validation record of %s, whose target is '%s', gives '%s': %s",
      async (host = "", target, codes = "", fix = "") => {
        const validationRecord = { name: `_a.${host}`, value: "_b.acm-validations.net" };
        const hosts = [{ host, role: "primary", validationRecord, ...(target && { target }) }] as const;
        const [report] = await verifyHosts(hosts, { resolver });
        expect(report && codesOf(report).join(" ")).toBe(codes);
        expect(report?.state).toBe(codes === "" ? "verified" : "pending_dns");
        expect(report?.reasons.at(-1)?.fix ?? "").toContain(fix);
      },
    );

    test("on one machine, a limit to a method that it does not have is a reason", async () => {
      const authorities = [findAuthority("letsencrypt") ?? { name: "", issuers: [""] as const }];
      const options = { resolver, target: TARGET, authorities, deployment: "machine" } as const;
      const [report] = await verifyHosts([{ host: "x.limited.shop.com", role: "primary" }], options);
      expect(report).toMatchObject({ state: "needs_attention", reasons: [{ code: "caa_method" }] });
    });

    test("the record to add is named with the zone and its name servers", async () => {
      const { reasons } = await verify("a.b.deep.sub.shop.com");
      expect(reasons[0]?.fix).toBe(
        `At the DNS provider of deep.sub.shop.com, add the CNAME record: name a.b, value ${TARGET}, TTL 3600. DNS asks ns-c.org for deep.sub.shop.com: if your provider's name servers are others, set those as the NS records of deep.sub.shop.com in the zone above.`,
      );
    });

    test.each([
      ["lame.com", "ns-d.org: REFUSED", "enter those at the registrar."],
      ["broken.com", "ns-c.org: SERVFAIL", "enter those at the registrar."],
      ["nameless.com", "ns-x.org has no address", "enter those at the registrar."],
      [
        "dead.shop.com",
        "ns-d.org: REFUSED",
        "set those as the NS records of dead.shop.com in the zone above.",
      ],
    ])("the name server that does not serve %s is named: %s", async (zone, failing, fix) => {
      const [lame] = (await verify(`www.${zone}`)).reasons;
      expect(lame?.found).toMatch(new RegExp(`^SERVFAIL for ${zone}, while .* answers; ${failing}$`));
      expect(lame?.fix).toBe(
        `DNS delegates ${zone} to ${failing.slice(0, 8)}. Find the name servers that the DNS provider of ${zone} shows, and ${fix} If it shows the same, the zone may be missing or suspended there.`,
      );
    });

    test("a given zone takes the place of the one in DNS", async () => {
      const report = await verify("www.sub.shop.com", { zone: "shop.com" });
      expect(report.records).toMatchObject([{ zone: "shop.com", zoneSource: "given", name: "www.sub" }]);
    });

    test.each([
      ["stale.shop.com", "shop.com", "CNAME old.host.net"],
      ["stale.deep.sub.shop.com", "deep.sub.shop.com", "CNAME old.host.net"],
      ["was-address.shop.com", "shop.com", "A 192.0.2.1"],
      ["late.shop.com", "shop.com", "NXDOMAIN: the name does not exist"],
    ])("%s is set in the zone %s, but the resolver remembers %s", async (host, zone, old) => {
      const report = await verify(host);
      expect(report).toMatchObject({ state: "pending_dns", dns: "outdated" });
      expect(report.reasons).toMatchObject([
        {
          code: "answer_outdated",
          found: `${old}; the name servers of ${zone} have the record`,
          fix: `Nothing is left to do at the DNS provider. Your resolver remembers the old answer until its TTL has passed.`,
        },
      ]);
    });

    test.each([
      ["gone.shop.com", "record_missing"],
      ["moved.shop.com", "record_missing"],
      ["now-address.shop.com", "blocking_address"],
      ["now-wrong.shop.com", "wrong_target"],
    ])("what the zone has now counts for %s, and not what the resolver remembers", async (host, code) => {
      const report = await verify(host);
      expect(codesOf(report)).toEqual([code]);
      expect(report.notes).toEqual([
        "This is what the name servers of shop.com answer now. Your resolver remembers the old answer until its TTL has passed.",
      ]);
    });

    test.each(CAA_SETS)(
      "the CAA set %s, %j, asked for %s, gives the reasons %j",
      async (label, _records, asked, codes) => {
        const report = await verify(`x.${label}.shop.com`, {}, asked.split(" "));
        expect([report.dns, codesOf(report).join(" ")]).toEqual(["ok", codes]);
      },
    );

    test("the limits of a record, and an authority that is not permitted, are noted", async () => {
      expect((await verify("x.limited.shop.com", {}, ["letsencrypt", "digicert"])).notes).toEqual([
        "The CAA records at limited.shop.com limit Let's Encrypt: validationmethods=dns-01.",
        "The CAA records at limited.shop.com permit no certificate of DigiCert.",
      ]);
    });

    // One more than are verified at a time.
    test.each(Array.from({ length: MAX_CONCURRENT_HOSTS + 1 }, (_, position) => position))(
      `a hostile host at position %i of ${MAX_CONCURRENT_HOSTS + 1} changes no other result`,
      async (position) => {
        const hosts: HostToVerify[] = Array.from({ length: MAX_CONCURRENT_HOSTS }, (_, index) => ({
          host: `h${index}.many.shop.com`,
          role: "alias",
        }));
        hosts.splice(position, 0, { host: "x.evil.shop.com", role: "alias" });
        const reports = await verifyHosts(hosts, { resolver, target: TARGET });
        expect(reports.filter(({ state }) => state === "verified")).toHaveLength(hosts.length - 1);
        expect(reports[position]).toMatchObject({ state: "pending_dns", dns: "loop" });
      },
    );
  },
);
