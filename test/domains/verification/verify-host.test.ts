import { describe, expect, test } from "vitest";
import { addDomain, transitionDomain } from "../../../lib/domains/lifecycle.ts";
import type { Reason } from "../../../lib/domains/verification/reasons.ts";
import { eventOf, verifyHost } from "../../../lib/domains/verification/verify-host.ts";
import { createDnsResolver } from "../../../lib/node/dns-resolver.ts";
import { type Failure, startDnsServer } from "../../support/dns-server.ts";
import { CORRECT, HOST, TARGET, verify } from "./fixture.ts";

const ADD = `At the DNS provider of example.com, add a CNAME record: name orders, value ${TARGET}, TTL 3600.`;
const CHANGE = `At the DNS provider of example.com, change the value of the CNAME record orders to ${TARGET}.`;

describe("verification of a subdomain", () => {
  test.each([
    ["exactly", CORRECT],
    ["in another case", `${HOST} CNAME D-1a2b3c.PLATFORM.example.NET`],
    ["with a trailing dot", `${HOST} CNAME ${TARGET}.`],
    ["and has names below it", `${CORRECT}\n_acme-challenge.${HOST} CNAME elsewhere.example.net`],
  ])("a subdomain whose CNAME names the platform host %s is verified", async (_, zone) => {
    expect(await verify(HOST, zone)).toEqual({
      host: HOST,
      state: "verified",
      dns: "ok",
      certificate: "allowed",
      found: `CNAME ${TARGET}`,
      reasons: [],
    });
  });

  test.each<[string, string, string, Omit<Reason, "host" | "name" | "expected">]>([
    [
      "with no record at all",
      "",
      "missing",
      { code: "record_missing", found: "NXDOMAIN: the name does not exist", fix: ADD },
    ],
    [
      "with other records only",
      `_dmarc.${HOST} A 192.0.2.9`,
      "missing",
      { code: "record_missing", found: "no such record, although the name exists", fix: ADD },
    ],
    [
      "whose CNAME names another host",
      `${HOST} CNAME old.hosting.example.net`,
      "wrong_target",
      {
        code: "wrong_target",
        found: "CNAME old.hosting.example.net",
        fix: CHANGE,
      },
    ],
    [
      "whose CNAME is one letter off",
      `${HOST} CNAME d-1a2b3d.platform.example.net`,
      "wrong_target",
      {
        code: "wrong_target",
        found: "CNAME d-1a2b3d.platform.example.net",
        fix: CHANGE,
      },
    ],
    [
      "whose CNAME had the zone appended by the provider",
      `${HOST} CNAME ${TARGET}.example.com`,
      "wrong_target",
      {
        code: "wrong_target",
        found: `CNAME ${TARGET}.example.com`,
        fix: CHANGE,
      },
    ],
    [
      "whose CNAME leads to the platform through another name",
      `${HOST} CNAME hop.example.com\nhop.example.com CNAME ${TARGET}`,
      "wrong_target",
      {
        code: "wrong_target",
        found: `CNAME hop.example.com → ${TARGET}`,
        fix: CHANGE,
      },
    ],
    [
      "with a blocking A record",
      `${HOST} A 192.0.2.1`,
      "conflict",
      {
        code: "blocking_address",
        found: "A 192.0.2.1",
        fix: "At the DNS provider of example.com, remove the A record of orders, then add a CNAME record: name orders, value d-1a2b3c.platform.example.net, TTL 3600.",
      },
    ],
    [
      "with a blocking AAAA record",
      `${HOST} AAAA 2001:db8::1`,
      "conflict",
      {
        code: "blocking_address",
        found: "AAAA 2001:db8::1",
        fix: "At the DNS provider of example.com, remove the AAAA record of orders, then add a CNAME record: name orders, value d-1a2b3c.platform.example.net, TTL 3600.",
      },
    ],
    [
      "with the platform's own addresses instead of a CNAME",
      `${HOST} A 198.51.100.7\n${HOST} AAAA 2001:db8::7`,
      "conflict",
      {
        code: "blocking_address",
        found: "A 198.51.100.7, AAAA 2001:db8::7",
        fix: "At the DNS provider of example.com, remove the A and AAAA records of orders, then add a CNAME record: name orders, value d-1a2b3c.platform.example.net, TTL 3600.",
      },
    ],
    [
      "that is proxied over IPv4",
      `${HOST} A 104.16.132.229\n${HOST} A 104.16.133.229`,
      "proxied",
      {
        code: "proxied",
        found: "A 104.16.132.229, A 104.16.133.229 (Cloudflare's proxy)",
        fix: `At Cloudflare, set the record orders to "DNS only" and check that its value is d-1a2b3c.platform.example.net.`,
      },
    ],
    [
      "that is proxied over IPv6",
      `${HOST} AAAA 2606:4700::6810:84e5`,
      "proxied",
      {
        code: "proxied",
        found: "AAAA 2606:4700::6810:84e5 (Cloudflare's proxy)",
        fix: `At Cloudflare, set the record orders to "DNS only" and check that its value is d-1a2b3c.platform.example.net.`,
      },
    ],
  ])(
    "a subdomain %s is not verified, and the reason says what was found and how to fix it",
    async (_, zone, dns, reason) => {
      expect(await verify(HOST, zone)).toEqual({
        host: HOST,
        state: "pending_dns",
        dns,
        certificate: "allowed",
        reasons: [{ host: HOST, name: HOST, expected: `CNAME ${TARGET}`, ...reason }],
      });
    },
  );

  test.each([
    ["to itself", `${HOST} CNAME ${HOST}`, `CNAME ${HOST}`],
    ["of two", `${HOST} CNAME b.example.com\nb.example.com CNAME ${HOST}`, `CNAME b.example.com → ${HOST}`],
    [
      "behind another name",
      `${HOST} CNAME b.example.com\nb.example.com CNAME c.example.com\nc.example.com CNAME b.example.com`,
      "CNAME b.example.com → c.example.com → b.example.com",
    ],
  ])("a CNAME loop %s is reported", async (_, zone, found) => {
    const { state, dns, reasons } = await verify(HOST, zone);
    expect({ state, dns }).toEqual({ state: "pending_dns", dns: "loop" });
    expect(reasons[0]).toMatchObject({ code: "cname_loop", found, expected: `CNAME ${TARGET}` });
  });

  test.each([
    ["a CNAME record", "CNAME parking.example.net", "wrong_target", "CNAME parking.example.net"],
    ["an A record", "A 192.0.2.1", "conflict", "A 192.0.2.1"],
    ["a proxied record", "A 104.16.132.229", "proxied", "A 104.16.132.229 (Cloudflare's proxy)"],
  ])(
    "the fix for %s of a wildcard is to set a record of the host, because there is none to change",
    async (_, record, dns, found) => {
      const verification = await verify(HOST, `*.example.com ${record}`);
      expect(verification).toMatchObject({ state: "pending_dns", dns });
      expect(verification.reasons[0]).toMatchObject({
        found: `${found}, as for every name that matches a wildcard record`,
        fix: `At the DNS provider of example.com, set a CNAME record in place of any other record of orders: name orders, value ${TARGET}, TTL 3600. It takes precedence over the wildcard record, which can stay.`,
      });
    },
  );

  test("a wildcard with the right target verifies a host without a record of its own", async () => {
    expect(await verify(HOST, `*.example.com CNAME ${TARGET}`)).toMatchObject({ state: "verified" });
  });

  test("a wildcard with another value does not change the fix for the host's own record", async () => {
    const zone = `*.example.com CNAME parking.example.net\n${HOST} CNAME old.hosting.example.net`;
    expect((await verify(HOST, zone)).reasons).toMatchObject([
      { found: "CNAME old.hosting.example.net", fix: CHANGE },
    ]);
  });

  test("a wildcard is found for a host that is several labels below it", async () => {
    const { reasons } = await verify("v1.eu.example.com", "*.example.com A 192.0.2.1");
    expect(reasons[0]?.fix).toContain("set a CNAME record in place of any other record of v1.eu:");
  });

  test("a CNAME chain that is too long is reported with its names", async () => {
    const chain = Array.from({ length: 20 }, (_, at) => `c${at}.example.com CNAME c${at + 1}.example.com`);
    const { dns, reasons } = await verify("c0.example.com", chain.join("\n"));
    expect(dns).toBe("loop");
    expect(reasons[0]?.found).toMatch(/^CNAME c1\.example\.com → .* → c16\.example\.com$/);
  });

  test("a host that is a zone of its own is compared by address, like every apex", async () => {
    const zone = `${HOST} NS ns1.example.com\n${HOST} A 198.51.100.7`;
    expect(await verify(HOST, zone)).toMatchObject({ state: "verified" });
    const { reasons } = await verify(HOST, `${HOST} NS ns1.example.com`);
    expect(reasons[0]?.fix).toContain(`At the DNS provider of ${HOST}, add an ALIAS or ANAME record`);
  });
});

describe("verification of an apex", () => {
  const APEX = "example.com";
  const EXPECTED = `ALIAS, ANAME or flattened CNAME ${TARGET}`;
  const ADDRESSES = "(198.51.100.7, 198.51.100.8, 2001:db8::7)";
  const ALIAS = `At the DNS provider of example.com, add an ALIAS or ANAME record (or a CNAME that the provider flattens): name @, value ${TARGET}, TTL 3600.`;

  test.each([
    ["all of the platform's addresses", `A 198.51.100.7\nA 198.51.100.8\nAAAA 2001:db8::7`],
    ["some of the platform's addresses", "A 198.51.100.8"],
    ["a CNAME to the platform host", `CNAME ${TARGET}`],
  ])("an apex with %s is verified", async (_, lines) => {
    expect(await verify(APEX, lines.replace(/^/gm, `${APEX} `))).toMatchObject({
      state: "verified",
      reasons: [],
    });
  });

  test.each<[string, string, string, Partial<Reason>]>([
    ["no record", "", "missing", { code: "record_missing", expected: EXPECTED, fix: ALIAS }],
    [
      "another address",
      "A 192.0.2.1",
      "wrong_target",
      {
        code: "wrong_target",
        found: "A 192.0.2.1",
        expected: `${EXPECTED} ${ADDRESSES}`,
        fix: `Remove the address records of ${APEX}. ${ALIAS}`,
      },
    ],
    [
      "another address besides the platform's",
      "A 198.51.100.7\nAAAA 2001:db8::bad",
      "conflict",
      {
        code: "stray_address",
        found: "AAAA 2001:db8::bad",
        fix: "At the DNS provider of example.com, remove the AAAA record for 2001:db8::bad.",
      },
    ],
    [
      "a proxy's addresses",
      "A 172.67.1.1",
      "proxied",
      { code: "proxied", found: "A 172.67.1.1 (Cloudflare's proxy)" },
    ],
  ])("an apex with %s is not verified", async (_, lines, dns, reason) => {
    const zone = lines === "" ? "" : lines.replace(/^/gm, `${APEX} `);
    const { reasons, ...rest } = await verify(APEX, zone);
    expect(rest).toEqual({ host: APEX, state: "pending_dns", dns, certificate: "allowed" });
    expect(reasons).toEqual([expect.objectContaining(reason)]);
  });

  test.each([
    ["ada.ns.cloudflare.com", "flattened CNAME at Cloudflare"],
    ["ns1.dnsimple.com", "ALIAS at DNSimple"],
    ["ns10.dnsmadeeasy.com", "ANAME at DNS Made Easy"],
    ["dns1.p01.nsone.net", "ALIAS at NS1"],
    ["ns1.elsewhere.example.net", "ALIAS, ANAME or flattened CNAME"],
  ])("an apex whose name server is %s is reported as %s", async (nameServer, record) => {
    const zone = `${APEX} A 198.51.100.7\n${APEX} NS ${nameServer}`;
    expect(await verify(APEX, zone)).toMatchObject({
      state: "verified",
      found: `A 198.51.100.7, the addresses of ${TARGET} (${record})`,
    });
  });

  test.each([
    [
      "ada.ns.cloudflare.com",
      `CNAME ${TARGET}, flattened by Cloudflare`,
      `At the DNS provider of example.com, add a CNAME record, which Cloudflare flattens: name @, value ${TARGET}, TTL 3600.`,
    ],
    [
      "ns10.dnsmadeeasy.com",
      `ANAME ${TARGET}`,
      `At the DNS provider of example.com, add an ANAME record: name @, value ${TARGET}, TTL 3600.`,
    ],
  ])(
    "the missing record of an apex at %s is the one that its provider has",
    async (nameServer, expected, fix) => {
      const { reasons } = await verify(APEX, `${APEX} NS ${nameServer}`);
      expect(reasons).toMatchObject([{ code: "record_missing", expected, fix }]);
      const wrong = await verify(APEX, `${APEX} NS ${nameServer}\n${APEX} A 192.0.2.1`);
      expect(wrong.reasons[0]).toMatchObject({ fix: `Remove the address records of ${APEX}. ${fix}` });
      expect(wrong).not.toHaveProperty("found");
    },
  );

  test("an apex is unknown, not wrong, if the lookup of the platform host fails", async () => {
    const { state, dns, reasons } = await verify(APEX, `${APEX} A 192.0.2.1`, { [TARGET]: "SERVFAIL" });
    expect({ state, dns }).toEqual({ state: "unknown", dns: "unknown" });
    expect(reasons).toMatchObject([{ code: "dns_unanswered", name: TARGET, found: `${TARGET}: SERVFAIL` }]);
  });

  test.each([
    ["does not exist", "", "typo.platform.example.net has no A or AAAA record"],
    [
      "has other records only",
      'typo.platform.example.net CAA 0 issue "amazon.com"',
      "typo.platform.example.net has no A or AAAA record",
    ],
  ])("an apex is not verified if the platform host %s", async (_, zone, found) => {
    const options = { target: "typo.platform.example.net" };
    const { state, dns, reasons } = await verify(APEX, `${APEX} A 192.0.2.1\n${zone}`, {}, options);
    expect({ state, dns }).toEqual({ state: "pending_dns", dns: "target_missing" });
    expect(reasons).toMatchObject([{ code: "target_missing", name: "typo.platform.example.net", found }]);
  });
});

describe("verification of the platform host", () => {
  const GONE = "gone.platform.example.net";
  const pointsToGone = `${HOST} CNAME ${GONE}`;

  test.each([
    ["does not exist", "", `NXDOMAIN: ${GONE} does not exist`],
    ["has no address", `${GONE} CAA 0 issue "amazon.com"`, `${GONE} has no A or AAAA record`],
    [
      "is a CNAME to a name that does not exist",
      `${GONE} CNAME b.example.net\nb.example.net CNAME c.example.net`,
      `CNAME ${GONE} → b.example.net → c.example.net; NXDOMAIN: c.example.net does not exist`,
    ],
    [
      "is a CNAME to a name without an address",
      `${GONE} CNAME b.example.net\nb.example.net CAA 0 issue "amazon.com"`,
      `CNAME ${GONE} → b.example.net; b.example.net has no A or AAAA record`,
    ],
    [
      "is in a CNAME loop",
      `${GONE} CNAME b.example.net\nb.example.net CNAME ${GONE}`,
      `CNAME ${GONE} → b.example.net → ${GONE}; the records form a loop`,
    ],
    [
      "is a CNAME to the host",
      `${GONE} CNAME ${HOST}`,
      `CNAME ${GONE} → ${HOST} → ${GONE}; the records form a loop`,
    ],
  ])("a host is not verified if the platform host %s", async (_, zone, found) => {
    const verification = await verify(HOST, `${pointsToGone}\n${zone}`, {}, { target: GONE });
    expect(verification).toMatchObject({ state: "pending_dns", dns: "target_missing" });
    expect(verification.reasons[0]).toEqual({
      code: "target_missing",
      host: HOST,
      name: GONE,
      found,
      expected: `an A or AAAA record for ${GONE}`,
      fix: `Check that ${GONE} is the present target of ${HOST}. If its deployment was removed, remove the record orders at the DNS provider of example.com, or others can take over the host.`,
    });
    expect(eventOf(verification)).toBe("dns_failed");
  });

  test.each([
    ["only an IPv6 address", `${GONE} AAAA 2001:db8::9`],
    ["a CNAME to a name with an address", `${GONE} CNAME b.example.net\nb.example.net A 198.51.100.9`],
  ])("a host is verified if the platform host has %s", async (_, zone) => {
    expect(await verify(HOST, `${pointsToGone}\n${zone}`, {}, { target: GONE })).toMatchObject({
      state: "verified",
      reasons: [],
    });
  });

  test.each(["SERVFAIL", "timeout"] as const)(
    "a host is unknown if the lookup of the platform host fails with %s",
    async (failure) => {
      const verification = await verify(HOST, CORRECT, { [`CNAME ${TARGET}`]: failure });
      expect(verification).toMatchObject({ state: "unknown", dns: "unknown" });
      expect(verification.reasons[0]).toMatchObject({ code: "dns_unanswered", name: TARGET });
      const addresses = { [`A ${TARGET}`]: failure, [`AAAA ${TARGET}`]: failure };
      expect(await verify(HOST, CORRECT, addresses)).toMatchObject({ state: "unknown", dns: "unknown" });
      expect(await verify(HOST, CORRECT, { [`AAAA ${TARGET}`]: failure })).toMatchObject({ dns: "ok" });
    },
  );

  test("a platform host that the zone's own server refuses to look up is not checked", async () => {
    expect(
      await verify(HOST, CORRECT, { net: "REFUSED", com: "REFUSED", "example.com": "none" }),
    ).toMatchObject({
      dns: "ok",
      found: `CNAME ${TARGET}; ${TARGET} was not checked: this name server refuses names outside its zones`,
    });
    // A resolver that answers for other zones refuses the platform host for another reason.
    const { dns, reasons } = await verify(HOST, CORRECT, { [TARGET]: "REFUSED" });
    expect({ dns, found: reasons[0]?.found }).toEqual({ dns: "unknown", found: `${TARGET}: REFUSED` });
    const inZone = "platform.example.com";
    const refused = { [inZone]: "REFUSED" } as const;
    const verification = await verify(HOST, `${HOST} CNAME ${inZone}`, refused, { target: inZone });
    expect(verification).toMatchObject({ state: "unknown", dns: "unknown" });
  });
});

describe("verification of a CNAME with address records beside it", () => {
  test.each([
    ["an A record", `${HOST} A 192.0.2.9`, "A 192.0.2.9", "A record"],
    ["an AAAA record", `${HOST} AAAA 2001:db8::9`, "AAAA 2001:db8::9", "AAAA record"],
    [
      "records of both types",
      `${HOST} A 192.0.2.9\n${HOST} AAAA 2001:db8::9`,
      "A 192.0.2.9, AAAA 2001:db8::9",
      "A and AAAA records",
    ],
    // Also the platform's address: it changes, and the record does not.
    ["the platform's address", `${HOST} A 198.51.100.7`, "A 198.51.100.7", "A record"],
  ])("%s blocks a correct CNAME", async (_case, records, found, types) => {
    const verification = await verify(HOST, `${CORRECT}\n${records}`);
    expect(verification).toMatchObject({ state: "pending_dns", dns: "conflict" });
    expect(Object.keys(verification)).not.toContain("found");
    expect(verification.reasons).toEqual([
      {
        code: "blocking_address",
        host: HOST,
        name: HOST,
        found: `${found}, beside a CNAME`,
        expected: `CNAME ${TARGET}`,
        fix: `At the DNS provider of example.com, remove the ${types} of orders and keep the CNAME record. If there is none, another name server of example.com has it: let the registrar list only the name servers of one provider.`,
      },
    ]);
  });

  test("an address record is reported together with a wrong target", async () => {
    const { reasons } = await verify(HOST, `${HOST} CNAME old.hosting.example.net\n${HOST} A 192.0.2.9`);
    expect(reasons.map(({ code }) => code)).toEqual(["blocking_address", "wrong_target"]);
  });

  test("the addresses behind a CNAME do not block it", async () => {
    expect(await verify(HOST, CORRECT)).toMatchObject({ state: "verified", reasons: [] });
  });
});

describe("verification of the zone", () => {
  test("a zone that does not exist is reported as not delegated, together with the missing record", async () => {
    const { state, dns, reasons } = await verify("www.unregistered.com", "");
    expect({ state, dns }).toEqual({ state: "pending_dns", dns: "not_delegated" });
    expect(reasons).toMatchObject([
      {
        code: "zone_not_delegated",
        name: "unregistered.com",
        found: "NXDOMAIN: unregistered.com does not exist in DNS",
        fix: "Check that unregistered.com is registered and has not expired, and enter its DNS provider's name servers at the registrar.",
      },
      { code: "record_missing", name: "www.unregistered.com" },
    ]);
  });

  test("a zone whose servers fail while its parent answers is lame", async () => {
    const { state, dns, certificate, reasons } = await verify(HOST, "", { "example.com": "SERVFAIL" });
    expect({ state, dns, certificate }).toEqual({
      state: "pending_dns",
      dns: "lame",
      certificate: "unknown",
    });
    expect(reasons[0]).toMatchObject({
      code: "zone_lame",
      name: "example.com",
      found: "SERVFAIL for example.com, while com answers",
    });
  });

  test("a known zone takes the place of the registrable domain", async () => {
    const zone = "www.eu.example.com A 192.0.2.1";
    const { reasons } = await verify("www.eu.example.com", zone, {}, { knownZones: ["eu.example.com"] });
    expect(reasons[0]?.fix).toContain("At the DNS provider of eu.example.com, remove the A record of www,");
  });
});

describe("a failed lookup", () => {
  test.each<[string, Record<string, Failure>, string]>([
    ["SERVFAIL for the host alone", { [HOST]: "SERVFAIL" }, "SERVFAIL"],
    ["SERVFAIL for everything", { com: "SERVFAIL", net: "SERVFAIL" }, "SERVFAIL"],
    ["a timeout", { "example.com": "timeout" }, "no response in time"],
    ["REFUSED", { "example.com": "REFUSED" }, "REFUSED"],
    ["a server that does not support the query", { "example.com": "NOTIMP" }, "REFUSED"],
  ])("the host is unknown after %s", async (_, failures, words) => {
    const verification = await verify(HOST, CORRECT, failures);
    expect(verification).toMatchObject({ state: "unknown", dns: "unknown", certificate: "unknown" });
    expect(verification.reasons).toMatchObject([
      { code: "dns_unanswered", name: HOST, found: `${HOST}: ${words}` },
      { code: "caa_unanswered", name: HOST, found: `${HOST} CAA: ${words}` },
    ]);
  });

  test("the host is unknown if there is no server at the address", async () => {
    const server = await startDnsServer("");
    await server[Symbol.asyncDispose]();
    const resolver = createDnsResolver({ servers: [server.address], timeoutMs: 60, maxAttempts: 1 });
    const verification = await verifyHost(HOST, { resolver, target: TARGET });
    expect(verification.state).toBe("unknown");
    expect(verification.reasons[0]?.found).toMatch(
      /no DNS server at the resolver's address|no response in time/,
    );
  });

  test("a failed lookup takes no live domain down, but a wrong record does", async () => {
    const live = { ...addDomain(HOST, 0), state: "live" } as const;
    const stateAfter = async (zone: string, failures: Record<string, Failure> = {}) => {
      const result = transitionDomain(live, eventOf(await verify(HOST, zone, failures)), 1);
      return result.ok ? result.domain.state : result.code;
    };
    expect(await stateAfter(CORRECT, { "example.com": "timeout" })).toBe("live");
    expect(await stateAfter(CORRECT, { "example.com": "SERVFAIL" })).toBe("live");
    expect(await stateAfter(CORRECT)).toBe("live");
    expect(await stateAfter(`${HOST} CNAME old.hosting.example.net`)).toBe("needs_attention");
    expect(await stateAfter("")).toBe("needs_attention");
    expect(await stateAfter(`${CORRECT}\n${HOST} CAA 0 issue "letsencrypt.org"`)).toBe("live");
  });
});
