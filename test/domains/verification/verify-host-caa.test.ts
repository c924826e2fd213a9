import { describe, expect, test } from "vitest";
import { AUTHORITIES } from "../../../lib/domains/verification/caa.ts";
import { HOST, RIGHT, TARGET, verify } from "./fixture.ts";

describe("CAA records (RFC 8659)", () => {
  const FORBIDDING = `CAA 0 issue "letsencrypt.org"`;

  test.each<[string, string, string]>([
    ["on the host's parent", `example.com ${FORBIDDING}`, "example.com"],
    ["two levels up", `com ${FORBIDDING}`, "com"],
    ["on the name that the host's CNAME leads to", `${TARGET} ${FORBIDDING}`, TARGET],
    [
      "behind the CNAME of an ancestor",
      `example.com CNAME apex.hosting.example.net\napex.hosting.example.net ${FORBIDDING}`,
      "apex.hosting.example.net",
    ],
  ])("%s forbid the authority, and the very name is told", async (_, zone, name) => {
    const { state, dns, certificate, reasons } = await verify(HOST, `${RIGHT}\n${zone}`);
    expect({ state, dns, certificate }).toEqual({
      state: "needs_attention",
      dns: "ok",
      certificate: "forbidden",
    });
    expect(reasons).toMatchObject([
      {
        code: "caa_forbids",
        host: HOST,
        name,
        found: `${name} CAA 0 issue "letsencrypt.org"`,
        expected: `${name} CAA 0 issue "amazon.com"`,
      },
    ]);
  });

  test("climb from a deep host past names without a set", async () => {
    const host = "v1.eu.orders.example.com";
    const { reasons } = await verify(host, `${host} CNAME ${TARGET}\nexample.com ${FORBIDDING}`);
    expect(reasons).toMatchObject([{ code: "caa_forbids", name: "example.com" }]);
  });

  test("of the nearest set decide alone: a permitting set hides a forbidding one above, and the other way", async () => {
    const near = (one: string, above: string) =>
      verify(`v1.${HOST}`, `v1.${HOST} CNAME ${TARGET}\n${HOST} ${one}\nexample.com ${above}`);
    expect(await near('CAA 0 issue "amazon.com"', FORBIDDING)).toMatchObject({ certificate: "allowed" });
    expect(await near(FORBIDDING, 'CAA 0 issue "amazon.com"')).toMatchObject({ certificate: "forbidden" });
    expect(await near('CAA 0 iodef "mailto:a@example.com"', FORBIDDING)).toMatchObject({
      certificate: "allowed",
    });
  });

  test("of the parents of a CNAME's target do not count", async () => {
    expect(await verify(HOST, `${RIGHT}\nplatform.example.net ${FORBIDDING}`)).toMatchObject({
      state: "verified",
    });
  });

  test("that a host inherits from its old hosting are told as such, with the CNAME as the mend", async () => {
    const zone = `${HOST} CNAME old.hosting.example.net\nold.hosting.example.net ${FORBIDDING}`;
    const { dns, certificate, reasons } = await verify(HOST, zone);
    expect({ dns, certificate }).toEqual({ dns: "wrong_target", certificate: "forbidden" });
    expect(reasons[1]).toMatchObject({
      code: "caa_forbids",
      name: "old.hosting.example.net",
      mend: `${HOST} inherits them through its CNAME. Point it to ${TARGET} instead, and they no longer count.`,
    });
  });

  test("of the platform itself are its operator's to mend", async () => {
    const { reasons } = await verify(HOST, `${RIGHT}\n${TARGET} ${FORBIDDING}`);
    expect(reasons[0]?.fix).toBe(
      `These are the platform's own records. Ask its operator to add CAA 0 issue "amazon.com" at ${TARGET}.`,
    );
  });

  test("that are critical and unknown forbid every authority", async () => {
    const zone = `${RIGHT}\nexample.com CAA 0 issue "amazon.com"\nexample.com CAA 128 tbs "x"`;
    const { certificate, reasons } = await verify(HOST, zone);
    expect(certificate).toBe("forbidden");
    expect(reasons).toMatchObject([
      {
        code: "caa_unknown_critical",
        name: "example.com",
        found: `example.com CAA 0 issue "amazon.com", CAA 128 tbs "x"`,
        mend: "At the DNS provider of example.com, remove the critical record at example.com, or set its flags to 0.",
      },
    ]);
  });

  test("that do not answer leave the certificate unknown, where the record is right", async () => {
    const zone = `${RIGHT}\nexample.com ${FORBIDDING}`;
    const { state, dns, certificate, reasons } = await verify(HOST, zone, { [TARGET]: "SERVFAIL" });
    expect({ state, dns, certificate }).toEqual({ state: "unknown", dns: "ok", certificate: "unknown" });
    expect(reasons).toMatchObject([{ code: "caa_silent", name: TARGET }]);
  });

  test("above a nearer set need not answer", async () => {
    const zone = `${RIGHT}\n${TARGET} CAA 0 issue "amazon.com"`;
    const failures = { com: "SERVFAIL", "example.com": "none" } as const;
    expect(await verify(HOST, zone, failures)).toMatchObject({ state: "verified" });
    expect(await verify(HOST, RIGHT, failures)).toMatchObject({ state: "unknown", certificate: "unknown" });
  });

  test("outside the zone are taken as none where the zone's own servers are asked, which refuse such names", async () => {
    const failures = { com: "REFUSED", net: "REFUSED", "example.com": "none" } as const;
    expect(await verify(HOST, RIGHT, failures)).toMatchObject({ state: "verified", certificate: "allowed" });
    const zone = `${RIGHT}\nexample.com ${FORBIDDING}`;
    expect(await verify(HOST, zone, failures)).toMatchObject({ certificate: "forbidden" });
  });

  test("are read for another authority where one is given", async () => {
    const zone = `${RIGHT}\nexample.com ${FORBIDDING}`;
    const authority = { name: "Let's Encrypt", issuers: ["letsencrypt.org"] } as const;
    expect(await verify(HOST, zone, {}, { authority })).toMatchObject({ state: "verified" });
  });

  test.each(AUTHORITIES.amazon.issuers)("that name %s permit Amazon", async (issuer) => {
    const zone = `${RIGHT}\nexample.com CAA 0 issue "${issuer}"`;
    expect(await verify(HOST, zone)).toMatchObject({ state: "verified" });
  });
});
