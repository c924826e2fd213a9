import { describe, expect, test } from "vitest";
import { ASKED, CORRECT, HOST, rowsOf, TARGET, verify } from "./fixture.ts";

const ADD = `At the DNS provider of example.com, add the CNAME record: name orders, value ${TARGET}, TTL 3600.${ASKED}`;
const CHANGE = `At the DNS provider of example.com, change the value of the CNAME record orders to ${TARGET}.`;
const REPLACE = `, then add the CNAME record: name orders, value ${TARGET}, TTL 3600.${ASKED}`;
const UNPROXY = `At Cloudflare, set the record orders to "DNS only" and check that its value is ${TARGET}.${ASKED}`;

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
      notes: [],
      found: `CNAME ${TARGET}`,
      reasons: [],
    });
  });

  const [REMOVE, PROXY] = ["At the DNS provider of example.com, remove the", "(Cloudflare's proxy)"];
  const OLD = "old.hosting.example.net";
  const NOT_VERIFIED = rowsOf(`
    no record at all | | missing | record_missing | NXDOMAIN: the name does not exist | ${ADD}
    other records only | _dmarc.${HOST} A 192.0.2.9 | missing | record_missing | no such record, although the name exists | ${ADD}
    a CNAME of another host | ${HOST} CNAME ${OLD} | wrong_target | wrong_target | CNAME ${OLD} | ${CHANGE}${ASKED}
    a CNAME that is one letter off | ${HOST} CNAME d-1a2b3d.platform.example.net | wrong_target | wrong_target | CNAME d-1a2b3d.platform.example.net | ${CHANGE}${ASKED}
    a CNAME to which the provider appended the zone | ${HOST} CNAME ${TARGET}.example.com | wrong_target | wrong_target | CNAME ${TARGET}.example.com | ${CHANGE} End it with a dot: the provider has appended the zone.${ASKED}
    a CNAME through another name | ${HOST} CNAME hop.example.com + hop.example.com CNAME ${TARGET} | wrong_target | wrong_target | CNAME hop.example.com → ${TARGET} | ${CHANGE}${ASKED}
    a blocking A record | ${HOST} A 192.0.2.1 | conflict | blocking_address | A 192.0.2.1 | ${REMOVE} A record of orders (192.0.2.1)${REPLACE}
    a blocking AAAA record | ${HOST} AAAA 2001:db8::1 | conflict | blocking_address | AAAA 2001:db8::1 | ${REMOVE} AAAA record of orders (2001:db8::1)${REPLACE}
    a proxy over IPv4 | ${HOST} A 104.16.132.229 + ${HOST} A 104.16.133.229 | proxied | proxied | A 104.16.132.229, A 104.16.133.229 ${PROXY} | ${UNPROXY}
    one proxied address | ${HOST} A 104.16.132.229 + ${HOST} A 192.0.2.9 | proxied | proxied | A 104.16.132.229, A 192.0.2.9 ${PROXY} | ${UNPROXY}
    a proxy over IPv6 | ${HOST} AAAA 2606:4700::6810:84e5 | proxied | proxied | AAAA 2606:4700::6810:84e5 ${PROXY} | ${UNPROXY}
  `);
  test.each(NOT_VERIFIED)(
    "a subdomain with %s is not verified, and the reason says what was found and how to fix it",
    async (_case, zone = "", dns, code, found, fix) => {
      expect(await verify(HOST, zone)).toEqual({
        host: HOST,
        state: "pending_dns",
        dns,
        certificate: "allowed",
        notes: [],
        reasons: [{ host: HOST, name: HOST, expected: `CNAME ${TARGET}`, code, found, fix }],
      });
    },
  );

  test("a subdomain with addresses of the platform alone is verified: its CNAME is flattened", async () => {
    const { state, found } = await verify(HOST, `${HOST} A 198.51.100.7\n${HOST} AAAA 2001:db8::7`);
    expect([state, found]).toEqual([
      "verified",
      `A 198.51.100.7, AAAA 2001:db8::7, the addresses of ${TARGET} (ALIAS, ANAME or flattened CNAME)`,
    ]);
  });

  const LOOPS = rowsOf(`
    to itself | ${HOST} CNAME ${HOST} | CNAME ${HOST}
    of two | ${HOST} CNAME b.example.com + b.example.com CNAME ${HOST} | CNAME b.example.com → ${HOST}
    behind another name | ${HOST} CNAME b.example.com + b.example.com CNAME c.example.com + c.example.com CNAME b.example.com | CNAME b.example.com → c.example.com → b.example.com
  `);
  test.each(LOOPS)("a CNAME loop %s is reported", async (_case, zone = "", found) => {
    const { state, dns, reasons } = await verify(HOST, zone);
    expect({ state, dns }).toEqual({ state: "pending_dns", dns: "loop" });
    expect(reasons).toMatchObject([
      { code: "cname_loop", found, expected: `CNAME ${TARGET}` },
      {
        code: "caa_unanswered",
        found: `${HOST} CAA: its CNAME records form a loop`,
        fix: `Correct the CNAME records of ${HOST}.`,
      },
    ]);
  });

  test("a CNAME chain that is too long is reported with its names", async () => {
    const chain = Array.from({ length: 20 }, (_, at) => `c${at}.example.com CNAME c${at + 1}.example.com`);
    const { dns, reasons } = await verify("c0.example.com", chain.join("\n"));
    expect(dns).toBe("loop");
    expect(reasons[0]?.found).toMatch(/^CNAME c1\.example\.com → .* → c16\.example\.com$/);
  });

  test("a host that is a zone of its own is compared by address, like every apex", async () => {
    const zone = `${HOST} SOA ns1.example.com\n${HOST} NS ns1.example.com\n`;
    expect(await verify(HOST, `${zone}${HOST} A 198.51.100.7`)).toMatchObject({ state: "verified" });
    const { reasons } = await verify(HOST, zone);
    expect(reasons[0]?.fix).toContain(
      `At the DNS provider of ${HOST}, add the ALIAS, ANAME or flattened CNAME record`,
    );
  });
});

test("the fix for a record whose name had the zone appended by the provider is to rename it", async () => {
  const { dns, reasons } = await verify(HOST, `${HOST}.example.com CNAME ${TARGET}`);
  expect(dns).toBe("missing");
  expect(reasons[0]?.fix).toBe(
    `At the DNS provider of example.com, rename the CNAME record orders.example.com.example.com to orders: the provider appends the zone to the name.${ASKED}`,
  );
});
