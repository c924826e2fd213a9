import { describe, expect, test } from "vitest";
import { ASKED, HOST, TARGET, verify } from "./fixture.ts";

const CHANGE = `At the DNS provider of example.com, change the value of the CNAME record orders to ${TARGET}.${ASKED}`;

describe("verification of a subdomain with a wildcard record", () => {
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
        fix: `At the DNS provider of example.com, set the CNAME record in place of any other record of orders: name orders, value ${TARGET}, TTL 3600. It takes precedence over the wildcard record, which can stay.${ASKED}`,
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

  test("an address that only the apex shares does not come from a wildcard", async () => {
    const { reasons } = await verify(HOST, `${HOST} A 192.0.2.1\nexample.com A 192.0.2.1`);
    expect(reasons).toMatchObject([{ code: "blocking_address", found: "A 192.0.2.1" }]);
  });

  test("a wildcard is found for a host that is several labels below it", async () => {
    const label = "v".repeat(63);
    const { reasons } = await verify(`${label}.eu.example.com`, "*.example.com A 192.0.2.1");
    expect(reasons[0]?.fix).toContain(`set the CNAME record in place of any other record of ${label}.eu:`);
  });

  test("the record of an apex is its own, whatever the zone above answers", async () => {
    const zone = "example.com CNAME parking.example.net\n*.com CNAME parking.example.net";
    const { reasons } = await verify("example.com", zone);
    expect(reasons).toMatchObject([{ code: "wrong_target", found: "CNAME parking.example.net" }]);
  });
});
