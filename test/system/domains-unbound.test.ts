import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findAuthority } from "../../lib/domains/verification/caa.ts";
import type { DnsResolver } from "../../lib/domains/verification/resolver.ts";
import { type HostToVerify, verifyHosts } from "../../lib/domains/verification/verify.ts";
import { createDnsResolver } from "../../lib/node/dns-resolver.ts";
import { skipsBecause } from "../support/skip-reason.ts";
import { findServer, freePort, startNsd } from "./nsd.ts";
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
};
const head = (server: string) => `$TTL 60
@ SOA ${server}. hostmaster.registry.org. 1 3600 600 86400 60
@ NS ${server}.
`;
const LONG_SET = Array.from({ length: 80 }, (_, index) => `long CAA 0 issue "ca${index}.example.org"`).join(
  "\n",
);

/** A registry, two providers, and a server that knows no zone. */
const REGISTRY = {
  com: `${head("ns-a.org")}
shop NS ns-b.org.
lame NS ns-d.org.
half NS ns-b.org.
half NS ns-d.org.
bogus NS ns-b.org.
`,
  net: `${head("ns-a.org")}
d-1.platform A 198.51.100.7
old.host A 192.0.2.1
`,
  org: `${head("ns-a.org")}${Object.entries(SERVERS)
    .map(([name, address]) => `${name}. A ${address}`)
    .join("\n")}
`,
};
const PROVIDER = {
  "shop.com": `${head("ns-b.org")}
www CNAME ${TARGET}.
*.many CNAME ${TARGET}.
address A 192.0.2.1
stale CNAME ${TARGET}.
sub NS ns-c.org.
dead NS ns-d.org.
evil NS ns-c.org.
empty CAA 0 issue ""
x.empty CNAME ${TARGET}.
iodef CAA 0 iodef ""
x.iodef CNAME ${TARGET}.
wild CAA 0 issuewild ";"
x.wild CNAME ${TARGET}.
critical CAA 128 future ""
x.critical CNAME ${TARGET}.
known CAA 128 issue "amazon.com"
x.known CNAME ${TARGET}.
limited CAA 0 issue "letsencrypt.org; validationmethods=dns-01"
x.limited CNAME ${TARGET}.
malformed CAA 0 issue "amazon.com; account"
x.malformed CNAME ${TARGET}.
${LONG_SET}
long CAA 0 issue "amazon.com"
x.long CNAME ${TARGET}.
`,
  "half.com": `${head("ns-b.org")}
www CNAME ${TARGET}.
`,
  "bogus.com": `${head("ns-b.org")}
www CNAME ${TARGET}.
`,
};
const OTHER_PROVIDER = {
  "sub.shop.com": `${head("ns-c.org")}
right CNAME ${TARGET}.
deep NS ns-c.org.
`,
  "deep.sub.shop.com": `${head("ns-c.org")}
right CNAME ${TARGET}.
`,
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
          "lame.com": `127.0.0.14@${port}`,
          "dead.shop.com": `127.0.0.14@${port}`,
        },
        remembered: [
          "stale.shop.com. 55 IN CNAME old.host.net.",
          `gone.shop.com. 77 IN CNAME ${TARGET}.`,
          "moved.shop.com. 33 IN CNAME old.host.net.",
        ],
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
      ["right.sub.shop.com", "sub.shop.com", "right", "verified", []],
      ["www.sub.shop.com", "sub.shop.com", "www", "pending_dns", ["record_missing"]],
      ["sub.shop.com", "sub.shop.com", "@", "pending_dns", ["record_missing"]],
      ["right.deep.sub.shop.com", "deep.sub.shop.com", "right", "verified", []],
      ["a.b.deep.sub.shop.com", "deep.sub.shop.com", "a.b", "pending_dns", ["record_missing"]],
      ["www.half.com", "half.com", "www", "verified", []],
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
    ])("%s is in the zone %s with the label %s, and %s", async (host, zone, name, state, codes) => {
      const report = await verify(host);
      expect(report.record).toMatchObject({ zone, zoneSource: "dns", name });
      expect(report.state).toBe(state);
      expect(codesOf(report)).toEqual(codes);
      expect(report.notes).toEqual([]);
    });

    test("the record to add is named with the zone and its name servers", async () => {
      const { reasons } = await verify("a.b.deep.sub.shop.com");
      expect(reasons[0]?.fix).toBe(
        `At the DNS provider of deep.sub.shop.com, add a CNAME record: name a.b, value ${TARGET}, TTL 3600. DNS asks ns-c.org for deep.sub.shop.com: if your provider's name servers are others, set those as the NS records of deep.sub.shop.com in the zone above.`,
      );
    });

    test.each([
      ["www.lame.com", "lame.com", "enter those at the registrar."],
      [
        "www.dead.shop.com",
        "dead.shop.com",
        "set those as the NS records of dead.shop.com in the zone above.",
      ],
    ])("the name server that does not know the zone of %s is named", async (host, zone, fix) => {
      const [lame] = (await verify(host)).reasons;
      expect(lame?.found).toMatch(new RegExp(`^SERVFAIL for ${zone}, while .* answers; ns-d.org: REFUSED$`));
      expect(lame?.fix).toBe(
        `DNS delegates ${zone} to ns-d.org. Find the name servers that the DNS provider of ${zone} shows, and ${fix}`,
      );
    });

    test("a given zone takes the place of the one in DNS", async () => {
      const report = await verify("www.sub.shop.com", { zone: "shop.com" });
      expect(report.record).toMatchObject({ zone: "shop.com", zoneSource: "given", name: "www.sub" });
    });

    test("a record that the zone has and the resolver does not know yet is reported with the time", async () => {
      const report = await verify("stale.shop.com");
      expect(report).toMatchObject({ state: "pending_dns", dns: "outdated" });
      expect(report.reasons).toMatchObject([
        {
          code: "answer_outdated",
          found: "CNAME old.host.net; the name servers of shop.com have the record",
          fix: "Nothing is left to do at the DNS provider. Your resolver remembers the old answer for another 55 s.",
        },
      ]);
    });

    test.each([
      ["gone.shop.com", "1 min 17 s"],
      ["moved.shop.com", "33 s"],
    ])("what the zone has now counts for %s, and not what the resolver remembers", async (host, time) => {
      const report = await verify(host);
      expect(codesOf(report)).toEqual(["record_missing"]);
      expect(report.notes).toEqual([
        `This is what the name servers of shop.com answer now. Your resolver remembers the old answer for another ${time}.`,
      ]);
    });

    test.each([
      ["x.empty.shop.com", ["amazon"], ["caa_forbids"]],
      ["x.empty.shop.com", ["letsencrypt", "zerossl"], ["caa_forbids"]],
      ["x.iodef.shop.com", ["amazon"], []],
      ["x.wild.shop.com", ["amazon"], []],
      ["x.critical.shop.com", ["amazon"], ["caa_unknown_critical"]],
      ["x.known.shop.com", ["amazon"], []],
      ["x.known.shop.com", ["letsencrypt"], ["caa_forbids"]],
      ["x.known.shop.com", ["letsencrypt", "amazon"], []],
      ["x.limited.shop.com", ["amazon"], ["caa_forbids"]],
      ["x.limited.shop.com", ["letsencrypt"], []],
      ["x.malformed.shop.com", ["amazon"], ["caa_forbids"]],
      ["x.long.shop.com", ["amazon"], []],
      ["x.long.shop.com", ["letsencrypt"], ["caa_forbids"]],
      ["x.long.shop.com", ["ca79.example.org"], []],
    ])("the CAA records of %s for %j give %j", async (host, authorities, codes) => {
      expect(codesOf(await verify(host, {}, authorities))).toEqual(codes);
    });

    test("the limits of a record, and an authority that is not permitted, are noted", async () => {
      expect((await verify("x.limited.shop.com", {}, ["letsencrypt", "digicert"])).notes).toEqual([
        "The CAA records at limited.shop.com limit Let's Encrypt: validationmethods=dns-01.",
        "The CAA records at limited.shop.com permit no certificate of DigiCert.",
      ]);
    });

    test.each([0, 1, 50, 99, 100])(
      "a hostile host at position %i of 101 changes no other result",
      async (position) => {
        const hosts: HostToVerify[] = Array.from({ length: 100 }, (_, index) => ({
          host: `h${index}.many.shop.com`,
          role: "alias",
        }));
        hosts.splice(position, 0, { host: "x.evil.shop.com", role: "alias" });
        const reports = await verifyHosts(hosts, { resolver, target: TARGET });
        expect(reports.filter(({ state }) => state === "verified")).toHaveLength(100);
        expect(reports[position]).toMatchObject({ state: "pending_dns", dns: "loop" });
      },
    );
  },
);
