import { expect, test } from "vitest";
import { explainAddresses, parseAddress } from "../../../lib/domains/addresses.ts";
import { ASKED, rowsOf, verify } from "./fixture.ts";

const ADDRESSES = ["198.51.100.7", "2001:db8::7"];
const BOTH = "records A 198.51.100.7, AAAA 2001:db8::7";

const check = (host: string, zone: string, target: readonly string[] = ADDRESSES) =>
  verify(host, zone, {}, { target, deployment: "machine" });

test.each([
  ["both records", "A 198.51.100.7\nAAAA 2001:db8::7"],
  ["a CNAME that leads to the addresses", "CNAME d-1a2b3c-two.example.com"],
])("a host of one machine with %s is verified, at an apex and below", async (_, lines) => {
  const other = "d-1a2b3c-two.example.com A 198.51.100.7\nd-1a2b3c-two.example.com AAAA 2001:db8::7";
  for (const host of ["example.com", "orders.example.com"]) {
    const { state, reasons, found } = await check(host, `${lines.replace(/^/gm, `${host} `)}\n${other}`);
    expect([state, reasons]).toEqual(["verified", []]);
    expect(found).toBe("A 198.51.100.7, AAAA 2001:db8::7");
  }
});

const WRONG = rowsOf(`
  | record_missing | although the name exists | add the ${BOTH}: name @, TTL 3600.
  A 198.51.100.7 | record_missing | A 198.51.100.7 | add the AAAA record: name @, value 2001:db8::7, TTL 3600.
  A 192.0.2.1 | wrong_target | A 192.0.2.1 | remove the A record of @ (192.0.2.1), then add the ${BOTH}: name @, TTL 3600.
  A 198.51.100.7 + A 192.0.2.1 + AAAA 2001:db8::7 | stray_address | A 192.0.2.1 | remove the A record of @ (192.0.2.1). If it is an address of the machine, give it with --address, too.
  A 198.51.100.7 + A 10.0.0.5 + AAAA 2001:db8::7 | stray_address | A 10.0.0.5 | remove the A record of @ (10.0.0.5). DNS asks
  A 192.168.1.7 | wrong_target | A 192.168.1.7 (private) | remove the A record of @ (192.168.1.7), then add the ${BOTH}: name @, TTL 3600. If the DNS provider shows the right record, an internal DNS server answers
  A 172.67.1.1 | proxied | Cloudflare's proxy | set the record @ to "DNS only" and check that its value
  CNAME old.hosting.example.net | wrong_target | CNAME old | remove the CNAME record @, then add the
  CNAME gone.example.net | wrong_target | CNAME gone | remove the CNAME record @, then add the
`);
test.each(WRONG)(
  "a host of one machine with '%s' gets %s, and what to do",
  async (lines = "", code, found = "", fix = "") => {
    for (const [host, label] of [
      ["example.com", "@"],
      ["orders.example.com", "orders"],
    ] as const) {
      const zone = lines === "" ? `x.${host} A 192.0.2.1` : lines.replace(/^/gm, `${host} `);
      const { state, reasons } = await check(host, zone);
      expect(state).toBe("pending_dns");
      expect(reasons).toMatchObject([{ code, expected: "A 198.51.100.7, AAAA 2001:db8::7" }]);
      expect(reasons[0]?.found).toContain(found);
      expect(reasons[0]?.fix).toContain(fix.replaceAll("@", label));
      if (!fix.includes("DNS only"))
        expect(reasons[0]?.fix).toMatch(/^At the DNS provider of example\.com, /);
    }
  },
);

test("a wrong record of a wildcard is not to be removed, and a completed one is to be renamed", async () => {
  const { reasons } = await check("www.example.com", "*.example.com A 192.0.2.1", ["198.51.100.7"]);
  expect(reasons[0]?.fix).toBe(
    `At the DNS provider of example.com, set the A record in place of any other record of www: name www, value 198.51.100.7, TTL 3600. It takes precedence over the wildcard record, which can stay.${ASKED}`,
  );
  const completed = await check("www.example.com", "www.example.com.example.com A 198.51.100.7");
  expect(completed.reasons[0]?.fix).toContain("rename the records www.example.com.example.com to www");
});

test("an address that nobody reaches is noted with its range, and is no error", async () => {
  const { state, notes } = await check("example.com", "example.com A 10.0.0.5", ["10.0.0.5"]);
  expect(state).toBe("verified");
  expect(notes).toContain(
    "10.0.0.5 is a private address: no visitor and no certificate authority reaches it.",
  );
  const ranges = ["127.0.0.1", "::1", "fe80::1", "203.0.113.7", "2001:db8::7", "0.0.0.0"].flatMap((each) =>
    explainAddresses([each]).map((note) => /is (an? \S+) address/.exec(note)?.[1]),
  );
  expect(ranges.join()).toBe(
    "a loopback,a loopback,a link-local,a documentation,a documentation,an unspecified",
  );
  expect(explainAddresses(["93.184.216.34", "2606:4700::1"])).toEqual([]);
});

test.each([
  ["2001:DB8:0:0::7", "2001:db8::7"],
  ["203.0.113.7", "203.0.113.7"],
  ["203.0.113", undefined],
  ["0x7f.1", undefined],
  ["203.0.113.256", undefined],
  ["::1]:80/x", undefined],
  ["orders.example.com", undefined],
  ["", undefined],
])("the address %j is read as %j", (text, address) => {
  expect(parseAddress(text)).toBe(address);
});
