import { describe, expect, test } from "vitest";
import { ASKED, rowsOf, TARGET, verify } from "./fixture.ts";

describe("verification of an apex", () => {
  const APEX = "example.com";
  const EXPECTED = `ALIAS, ANAME or flattened CNAME ${TARGET}`;
  const ADDRESSES = "(198.51.100.7, 198.51.100.8, 2001:db8::7)";
  const ALIAS = `At the DNS provider of example.com, add the ALIAS, ANAME or flattened CNAME record: name @, value ${TARGET}, TTL 3600. If it offers none of these, use a host below example.com, such as www.example.com.`;

  test.each([
    [
      "all of the platform's addresses",
      `A 198.51.100.7\nA 198.51.100.8\nAAAA 2001:db8::7`,
      "copied addresses",
    ],
    ["some of the platform's addresses", "A 198.51.100.8", "copied addresses"],
    ["a CNAME to the platform host", `CNAME ${TARGET}`, "DNS forbids a CNAME at an apex"],
  ])("an apex with %s is verified, with a note", async (_, lines, note) => {
    const { state, reasons, notes } = await verify(APEX, lines.replace(/^/gm, `${APEX} `));
    expect({ state, reasons }).toEqual({ state: "verified", reasons: [] });
    expect(notes.at(-1)).toContain(note);
  });

  const REMOVE = "At the DNS provider of example.com, remove the";
  const NOT_VERIFIED = rowsOf(`
    no record | | missing | record_missing | no such record, although the name exists | ${EXPECTED} | ${ALIAS}
    another address | A 192.0.2.1 | wrong_target | wrong_target | A 192.0.2.1 | ${EXPECTED} ${ADDRESSES} | ${ALIAS.replace(", add", ", remove the A record of @ (192.0.2.1), then add")}
    a foreign address beside it | A 198.51.100.7 + AAAA 2001:db8::bad | conflict | stray_address | AAAA 2001:db8::bad | ${EXPECTED} ${ADDRESSES} | ${REMOVE} AAAA record of @ (2001:db8::bad).
    several beside it | A 198.51.100.7 + A 192.0.2.1 + AAAA 2001:db8::bad | conflict | stray_address | A 192.0.2.1, AAAA 2001:db8::bad | ${EXPECTED} ${ADDRESSES} | ${REMOVE} A and AAAA records of @ (192.0.2.1, 2001:db8::bad).
    a proxy | A 172.67.1.1 | proxied | proxied | A 172.67.1.1 (Cloudflare's proxy) | ${EXPECTED} ${ADDRESSES} | At Cloudflare, set the record @ to "DNS only" and check that its value is ${TARGET}.
  `);
  test.each(NOT_VERIFIED)(
    "an apex with %s is not verified",
    async (_case, lines = "", dns, code, found, expected, fix) => {
      const zone = lines === "" ? "" : lines.replace(/^/gm, `${APEX} `);
      const { reasons, ...rest } = await verify(APEX, zone);
      expect(rest).toEqual({ host: APEX, state: "pending_dns", dns, certificate: "allowed", notes: [] });
      expect(reasons).toEqual([{ host: APEX, name: APEX, code, found, expected, fix: `${fix}${ASKED}` }]);
    },
  );

  test.each([
    ["ada.ns.cloudflare.com", "flattened CNAME"],
    ["ns1.dnsimple.com", "ALIAS"],
    ["ns10.dnsmadeeasy.com", "ANAME"],
    ["dns1.p01.nsone.net", "ALIAS"],
    ["ns1.elsewhere.example.net", "ALIAS, ANAME or flattened CNAME"],
  ])("an apex whose name server is %s is reported as %s", async (nameServer, record) => {
    const zone = `${APEX} A 198.51.100.7\n${APEX} NS ${nameServer}`;
    const { state, found, notes } = await verify(APEX, zone);
    expect([state, found]).toEqual(["verified", `A 198.51.100.7, the addresses of ${TARGET} (${record})`]);
    expect(notes).toHaveLength(record.includes("or") ? 1 : 0);
  });

  test.each([
    ["ada.ns.cloudflare.com", "flattened CNAME"],
    ["ns10.dnsmadeeasy.com", "ANAME"],
  ])("the missing record of an apex at %s is the %s that its provider has", async (nameServer, type) => {
    const fix = `At the DNS provider of example.com, add the ${type} record: name @, value ${TARGET}, TTL 3600.`;
    const expected = `${type} ${TARGET}`;
    const { reasons } = await verify(APEX, `${APEX} NS ${nameServer}`);
    expect(reasons).toMatchObject([{ code: "record_missing", expected }]);
    expect(reasons[0]?.fix).toBe(
      `${fix} DNS asks ${[nameServer, "ns1.example.com"].toSorted().join(", ")} for example.com: if your provider's name servers are others, enter those at the registrar.`,
    );
    const wrong = await verify(APEX, `${APEX} NS ${nameServer}\n${APEX} A 192.0.2.1`);
    expect(wrong.reasons[0]?.fix).toContain(
      fix.replace(", add", ", remove the A record of @ (192.0.2.1), then add"),
    );
    expect(wrong).not.toHaveProperty("found");
  });

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
