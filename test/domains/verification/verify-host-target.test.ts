import { describe, expect, test } from "vitest";
import { isWrong } from "../../../lib/domains/status/status.ts";
import { CORRECT, HOST, rowsOf, TARGET, verify } from "./fixture.ts";

describe("verification of the platform host", () => {
  const GONE = "gone.platform.example.net";
  const pointsToGone = `${HOST} CNAME ${GONE}`;

  const GONE_TARGETS = rowsOf(`
    does not exist | | NXDOMAIN: ${GONE} does not exist
    has no address | ${GONE} CAA 0 issue "amazon.com" | ${GONE} has no A or AAAA record
    is a CNAME to a name that does not exist | ${GONE} CNAME b.example.net + b.example.net CNAME c.example.net | CNAME ${GONE} → b.example.net → c.example.net; NXDOMAIN: c.example.net does not exist
    is a CNAME to a name without an address | ${GONE} CNAME b.example.net + b.example.net CAA 0 issue "amazon.com" | CNAME ${GONE} → b.example.net; b.example.net has no A or AAAA record
    is in a CNAME loop | ${GONE} CNAME b.example.net + b.example.net CNAME ${GONE} | CNAME ${GONE} → b.example.net → ${GONE}; the records form a loop
    is a CNAME to the host | ${GONE} CNAME ${HOST} | CNAME ${GONE} → ${HOST} → ${GONE}; the records form a loop
  `);
  test.each(GONE_TARGETS)("a host is not verified if the platform host %s", async (_case, zone, found) => {
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
    expect(isWrong(verification)).toBe(true);
  });

  test.each([
    ["record_missing", "example.com A 192.0.2.1"],
    ["wrong_target", `${HOST} CNAME old.hosting.example.net`],
  ])("no record is to be set to one that does not exist: %s", async (code, zone) => {
    const { reasons } = await verify(HOST, zone, {}, { target: GONE });
    expect(reasons.map((reason) => reason.code)).toEqual([code, "target_missing"]);
    expect(reasons[1]?.fix).toBe(
      `Check that ${GONE} is the present target of ${HOST} before you set a record with it, or others can take over the host.`,
    );
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
});

describe("a validation record that its provider hides", () => {
  const validationRecord = { name: `_a1.${HOST}`, value: "_b2.acm-validations.aws" };
  const CLOUDFLARE = "example.com NS ada.ns.cloudflare.com";
  const FLATTENED = `_a1.${HOST} A 198.51.100.44`;

  test.each([
    ["is answered with nothing", "", "Switch off what proxies or flattens this record."],
    ["is answered with addresses", FLATTENED, "Switch off what proxies or flattens this record."],
    ["is at Cloudflare", `${CLOUDFLARE}\n${FLATTENED}`, "Set it to 'DNS only', and switch 'CNAME flattening"],
  ])("has the setting named that hides it if it %s", async (_case, zone, setting) => {
    const { reasons } = await verify(HOST, `${CORRECT}\n${zone}`, {}, { validationRecord });
    expect(reasons.map(({ code }) => code)).toEqual(["validation_record"]);
    expect(reasons[0]?.fix).toContain(`If the record is there already, it is hidden from DNS. ${setting}`);
  });
});
