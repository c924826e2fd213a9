import { describe, expect, test } from "vitest";
import { ASKED, CORRECT, HOST, TARGET, verify } from "./fixture.ts";

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
        fix: `At the DNS provider of example.com, remove the ${types} of orders (${found.replaceAll(/A+ /g, "")}) and keep the CNAME record.${ASKED}`,
      },
    ]);
  });

  test("an address record is reported together with a wrong target", async () => {
    const { reasons } = await verify(HOST, `${HOST} CNAME old.hosting.example.net\n${HOST} A 192.0.2.9`);
    expect(reasons.map(({ code }) => code)).toEqual(["blocking_address", "wrong_target"]);
  });

  test("the addresses behind a CNAME do not block it", async () => {
    expect(await verify(HOST, CORRECT)).toMatchObject({ state: "verified", reasons: [] });
    // A provider can flatten a CNAME, and still show it.
    const flattened = await verify(HOST, `${CORRECT}\n${HOST} A 198.51.100.7`);
    expect(flattened).toMatchObject({ state: "verified", reasons: [] });
  });
});
