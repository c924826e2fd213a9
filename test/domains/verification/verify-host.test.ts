import { describe, expect, test } from "vitest";
import type { Reason } from "../../../lib/domains/status/reasons.ts";
import { ASKED, CORRECT, HOST, TARGET, verify } from "./fixture.ts";

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
        fix: CHANGE + ASKED,
      },
    ],
    [
      "whose CNAME is one letter off",
      `${HOST} CNAME d-1a2b3d.platform.example.net`,
      "wrong_target",
      {
        code: "wrong_target",
        found: "CNAME d-1a2b3d.platform.example.net",
        fix: CHANGE + ASKED,
      },
    ],
    [
      "whose CNAME had the zone appended by the provider",
      `${HOST} CNAME ${TARGET}.example.com`,
      "wrong_target",
      {
        code: "wrong_target",
        found: `CNAME ${TARGET}.example.com`,
        fix: `${CHANGE} End it with a dot: the provider has appended the zone.${ASKED}`,
      },
    ],
    [
      "whose CNAME leads to the platform through another name",
      `${HOST} CNAME hop.example.com\nhop.example.com CNAME ${TARGET}`,
      "wrong_target",
      {
        code: "wrong_target",
        found: `CNAME hop.example.com → ${TARGET}`,
        fix: CHANGE + ASKED,
      },
    ],
    [
      "with a blocking A record",
      `${HOST} A 192.0.2.1`,
      "conflict",
      {
        code: "blocking_address",
        found: "A 192.0.2.1",
        fix: `At the DNS provider of example.com, remove the A record of orders (192.0.2.1)${REPLACE}`,
      },
    ],
    [
      "with a blocking AAAA record",
      `${HOST} AAAA 2001:db8::1`,
      "conflict",
      {
        code: "blocking_address",
        found: "AAAA 2001:db8::1",
        fix: `At the DNS provider of example.com, remove the AAAA record of orders (2001:db8::1)${REPLACE}`,
      },
    ],
    [
      "that is proxied over IPv4",
      `${HOST} A 104.16.132.229\n${HOST} A 104.16.133.229`,
      "proxied",
      {
        code: "proxied",
        found: "A 104.16.132.229, A 104.16.133.229 (Cloudflare's proxy)",
        fix: UNPROXY,
      },
    ],
    [
      "of whose addresses one is proxied",
      `${HOST} A 104.16.132.229\n${HOST} A 192.0.2.9`,
      "proxied",
      {
        code: "proxied",
        found: "A 104.16.132.229, A 192.0.2.9 (Cloudflare's proxy)",
        fix: UNPROXY,
      },
    ],
    [
      "that is proxied over IPv6",
      `${HOST} AAAA 2606:4700::6810:84e5`,
      "proxied",
      {
        code: "proxied",
        found: "AAAA 2606:4700::6810:84e5 (Cloudflare's proxy)",
        fix: UNPROXY,
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
        notes: [],
        reasons: [{ host: HOST, name: HOST, expected: `CNAME ${TARGET}`, ...reason }],
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
