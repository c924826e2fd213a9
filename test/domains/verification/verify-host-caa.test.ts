import { describe, expect, test } from "vitest";
import { AUTHORITIES } from "../../../lib/domains/verification/caa.ts";
import { CORRECT, HOST, rowsOf, TARGET, verify } from "./fixture.ts";

describe("verification of CAA records", () => {
  const FORBIDDING = `CAA 0 issue "letsencrypt.org"`;

  const FORBIDDEN = rowsOf(`
    on the parent of the host | example.com ${FORBIDDING} | example.com
    two levels up | com ${FORBIDDING} | com
    on the target of the host's CNAME | ${TARGET} ${FORBIDDING} | ${TARGET}
    on the target of an ancestor's CNAME | example.com CNAME apex.hosting.example.net + apex.hosting.example.net ${FORBIDDING} | apex.hosting.example.net
  `);
  test.each(FORBIDDEN)(
    "CAA records %s that forbid the authority are reported with their name",
    async (_case, zone, name) => {
      const { state, dns, certificate, reasons } = await verify(HOST, `${CORRECT}\n${zone}`);
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
    },
  );

  test("CAA records that permit one of two authorities, or with limits, are noted", async () => {
    const authorities = [AUTHORITIES.amazon, AUTHORITIES.letsencrypt];
    const set = (value: string) => `${CORRECT}\nexample.com CAA 0 issue "${value}"`;
    const forOne = await verify(HOST, set("letsencrypt.org"), {}, { authorities });
    expect(forOne).toMatchObject({ certificate: "allowed", reasons: [] });
    expect(forOne.notes).toEqual(["The CAA records at example.com permit no certificate of Amazon."]);
    const limited = await verify(
      HOST,
      set("amazon.com; accounturi=https://a.example/1; validationmethods=dns-01"),
    );
    expect(limited.notes).toEqual([
      "The CAA records at example.com limit Amazon: accounturi=https://a.example/1; validationmethods=dns-01.",
    ]);
    const twice = `${set("amazon.com; accounturi=a")}\nexample.com CAA 0 issue "amazon.com; accounturi=b"`;
    expect((await verify(HOST, twice)).notes).toEqual([
      "The CAA records at example.com limit Amazon: accounturi=a, or accounturi=b.",
    ]);
  });

  const ADD = 'add the record CAA 0 issue "amazon.com"';
  const OLD = "old.hosting.example.net";

  const AT = "At the DNS provider of";
  const FLAGS = 'set the flags of CAA 128 tbs "x" to 0';
  const POINT = `${HOST} inherits these records through its CNAME. Point it to ${TARGET} instead.`;
  const OPERATOR = "These records belong to the platform. Ask its operator to";
  const BEHIND = `${OLD}, the target of the CNAME at example.com`;
  const PLACES = rowsOf(`
    of the host itself | ${HOST} | ${HOST} A 192.0.2.1 | ${AT} example.com, ${ADD} at ${HOST}; keep the existing records. | ${AT} example.com, ${FLAGS} at ${HOST}.
    of an ancestor | example.com | ${CORRECT} | ${AT} example.com, ${ADD} at example.com; keep the existing records. | ${AT} example.com, ${FLAGS} at example.com.
    behind an ancestor's CNAME | ${OLD} | ${CORRECT} + example.com CNAME ${OLD} | ${AT} example.net, ${ADD} at ${BEHIND}; keep the existing records. | ${AT} example.net, ${FLAGS} at ${BEHIND}.
    behind the host's CNAME to the old hosting | ${OLD} | ${HOST} CNAME ${OLD} | ${POINT} | ${POINT}
    of the platform | ${TARGET} | ${CORRECT} | ${OPERATOR} ${ADD} at ${TARGET}. | ${OPERATOR} ${FLAGS} at ${TARGET}.
  `);
  test.each(PLACES)(
    "the fix for CAA records %s names the place and the change",
    async (_case, owner, zone, toAdd, toRemove) => {
      const fixOf = async (record: string) =>
        (await verify(HOST, `${zone}\n${owner} ${record}`)).reasons.find(({ code }) =>
          code.startsWith("caa_"),
        );
      const common = { host: HOST, name: owner };
      expect(await fixOf(FORBIDDING)).toEqual({
        ...common,
        code: "caa_forbids",
        found: `${owner} ${FORBIDDING}`,
        expected: `${owner} CAA 0 issue "amazon.com"`,
        fix: toAdd,
      });
      expect(await fixOf('CAA 128 tbs "x"')).toEqual({
        ...common,
        code: "caa_unknown_critical",
        found: `${owner} CAA 128 tbs "x"`,
        expected: "no critical CAA record except issue, issuewild, iodef",
        fix: toRemove,
      });
    },
  );

  test("only the nearest set of CAA records decides, whether it permits or forbids", async () => {
    const near = (one: string, above: string) =>
      verify(`v1.${HOST}`, `v1.${HOST} CNAME ${TARGET}\n${HOST} ${one}\nexample.com ${above}`);
    expect(await near('CAA 0 issue "amazon.com"', FORBIDDING)).toMatchObject({ certificate: "allowed" });
    expect(await near(FORBIDDING, 'CAA 0 issue "amazon.com"')).toMatchObject({ certificate: "forbidden" });
    expect(await near('CAA 0 iodef "mailto:a@example.com"', FORBIDDING)).toMatchObject({
      certificate: "allowed",
    });
  });

  test("CAA records on the parents of a CNAME's target do not count", async () => {
    expect(await verify(HOST, `${CORRECT}\nplatform.example.net ${FORBIDDING}`)).toMatchObject({
      state: "verified",
    });
  });

  test("CAA records of the old hosting are reported together with the CNAME that inherits them", async () => {
    const { dns, certificate } = await verify(HOST, `${HOST} CNAME ${OLD}\n${OLD} ${FORBIDDING}`);
    expect({ dns, certificate }).toEqual({ dns: "wrong_target", certificate: "forbidden" });
  });

  test("a failed lookup of CAA records leaves the certificate unknown, even if the record is correct", async () => {
    const zone = `${CORRECT}\nexample.com ${FORBIDDING}`;
    const { state, dns, certificate, reasons } = await verify(HOST, zone, { [`CAA ${TARGET}`]: "SERVFAIL" });
    expect({ state, dns, certificate }).toEqual({ state: "unknown", dns: "ok", certificate: "unknown" });
    expect(reasons).toEqual([
      {
        code: "caa_unanswered",
        host: HOST,
        name: TARGET,
        found: `${TARGET} CAA: SERVFAIL`,
        expected: "an answer, even if there are no CAA records",
        fix: "Retry. If it keeps failing, check the name servers of example.net.",
      },
    ]);
  });

  test("a name that does not exist has no CAA records, even if their lookup fails", async () => {
    expect(await verify(HOST, "", { [`CAA ${HOST}`]: "SERVFAIL" })).toMatchObject({
      dns: "missing",
      certificate: "allowed",
    });
  });

  test("a failed lookup of CAA records above a nearer set does not matter", async () => {
    const zone = `${CORRECT}\n${TARGET} CAA 0 issue "amazon.com"`;
    const failures = { com: "SERVFAIL", "example.com": "none" } as const;
    expect(await verify(HOST, zone, failures)).toMatchObject({ state: "verified" });
    expect(await verify(HOST, CORRECT, failures)).toMatchObject({ state: "unknown", certificate: "unknown" });
  });

  test("a mail protection stays, and a method that one machine does not have is a reason there", async () => {
    const of = (record: string, deployment: "machine" | "manual") =>
      verify(
        HOST,
        `${CORRECT}\nexample.com CAA 0 issue "letsencrypt.org"\nexample.com CAA ${record}`,
        {},
        { authorities: [AUTHORITIES.letsencrypt], deployment },
      );
    expect(await of('128 issuemail ";"', "machine")).toMatchObject({ state: "verified", reasons: [] });
    const limited = `${CORRECT}\nexample.com CAA 0 issue "letsencrypt.org; validationmethods=dns-01"`;
    const authorities = [AUTHORITIES.letsencrypt];
    const { state, attention, reasons } = await verify(
      HOST,
      limited,
      {},
      { authorities, deployment: "machine" },
    );
    expect({ state, attention }).toEqual({ state: "needs_attention", attention: "certificate_forbidden" });
    expect(reasons).toMatchObject([
      {
        code: "caa_method",
        expected: 'example.com CAA 0 issue "letsencrypt.org; validationmethods=http-01,tls-alpn-01"',
        fix: "At the DNS provider of example.com, permit http-01 or tls-alpn-01 in the record for letsencrypt.org at example.com, or let the server in front use a method that is permitted.",
      },
    ]);
    expect((await verify(HOST, limited, {}, { authorities })).notes).toHaveLength(1);
  });

  test.each(["letsencrypt.org.", "LetsEncrypt.org", "letsencrypt.org; a=1;"])(
    "a record that the authority does not read is named: %s",
    async (value) => {
      const authorities = [AUTHORITIES.letsencrypt];
      const zone = `${CORRECT}\nexample.com CAA 0 issue "${value}"`;
      const [reason] = (await verify(HOST, zone, {}, { authorities })).reasons;
      expect(reason?.code).toBe("caa_forbids");
      expect(reason?.fix).toMatch(
        `; keep the existing records. Let's Encrypt does not read CAA 0 issue "${value}" as a permission.`,
      );
    },
  );
});
