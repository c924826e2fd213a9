import { expect, test } from "vitest";
import { AUTHORITIES, evaluateCaa, findAuthority } from "../../../lib/domains/verification/caa.ts";
import type { CaaRecord } from "../../../lib/domains/verification/resolver.ts";

const { amazon, letsencrypt } = AUTHORITIES;

function set(...lines: readonly string[]): readonly CaaRecord[] {
  return lines.map((line) => {
    const [, flags, tag = "", value = ""] = /^(\d+) (\S+) (.*)$/.exec(line) ?? [];
    return { flags: Number(flags), tag, value };
  });
}

test.each<[string, readonly CaaRecord[]]>([
  ["an empty set", set()],
  ["the authority's name", set("0 issue amazon.com")],
  ["the name with spaces", set("0 issue \t amazon.com \t")],
  ["the authority's second name", set("0 issue amazontrust.com")],
  ["the name, and parameters of which there are none", set("0 issue amazon.com;")],
  ["a limit beside a record without one", set("0 issue amazon.com; accounturi=x", "0 issue amazon.com")],
  ["the name next to a rule that forbids everyone", set("0 issue ;", "0 issue amazon.com")],
  ["a tag in upper case", set("0 ISSUE amazon.com")],
  ["the critical flag on a known tag", set("128 issue amazon.com", "128 iodef mailto:a@example.com")],
  ["an unknown tag that is not critical", set("0 tbs unknown")],
  ["an unknown tag with flags that lack the critical bit", set("127 tbs unknown")],
  ["contacts only", set("0 iodef mailto:a@example.com")],
  ["contacts that are critical and empty", set("128 iodef ")],
  ["a rule for wildcards only", set("0 issuewild letsencrypt.org")],
])("a plain name is permitted by %s", (_, records) => {
  expect(evaluateCaa(records, amazon)).toEqual({ ok: true, limits: [] });
});

test.each<[string, readonly CaaRecord[]]>([
  ["another authority's name", set("0 issue letsencrypt.org")],
  ["a rule that forbids everyone", set("0 issue ;")],
  ["an empty value, once or twice", set("0 issue ", "0 issue ")],
  ["a value of spaces", set("0 issue   ")],
  ["a name below the authority's", set("0 issue ca.amazon.com")],
  ["an invalid name", set("0 issue %%%%%")],
  ["a parameter without a value", set("0 issue amazon.com; account")],
  ["another authority's name, critical", set("128 issue letsencrypt.org")],
  ["another authority's name beside an unknown tag", set("0 future amazon.com", "0 issue letsencrypt.org")],
  ["a rule that forbids everyone, with parameters", set("0 issue ; policy=ev")],
  ["the name as a parameter", set("0 issue letsencrypt.org; amazon.com")],
  ["a value that is not a name", set("0 issue amazon com")],
  ["a parameter whose name is not one", set("0 issue amazon.com; -a=b")],
  ["a parameter with a space in its value", set("0 issue amazon.com; a=b c")],
  [
    "a permission for wildcards only, next to another authority",
    set("0 issue letsencrypt.org", "0 issuewild amazon.com"),
  ],
])("a plain name is forbidden by %s", (_, records) => {
  expect(evaluateCaa(records, amazon)).toEqual({ ok: false, code: "caa_forbids" });
});

test("the limits of an authority are those of its own records (RFC 8657)", () => {
  const records = set(
    "0 issue amazon.com; accounturi \t= \thttps://example.com/1; policy=ev",
    "0 issue amazon.com; ValidationMethods=dns-01,http-01",
    "0 issue letsencrypt.org; accounturi=https://example.com/2",
  );
  expect(evaluateCaa(records, amazon)).toEqual({
    ok: true,
    limits: ["accounturi=https://example.com/1", "ValidationMethods=dns-01,http-01"],
  });
});

/** Values for an issuer, and what the functions of Let's Encrypt's Boulder v0.20261110.0 say to an order over http-01. */
const READ_BY_BOULDER = `
permits ISSUER;
permits ISSUER; a=1; a=2
permits ISSUER; a=
permits ISSUER; validationmethods = http-01
permits ISSUER; validationmethods=email,http-01
permits ISSUER; validationmethods=http-01,
permits ISSUER; ValidationMethods=dns-01
refuses ISSUER; a=1;
refuses ISSUER; validationmethods=http-01;
refuses ISSUER;;
refuses ISSUER; a_b=1
refuses ISSUER.
refuses ISSUER.; a=1
refuses ISSUER; accounturi=x; accounturi=x
refuses ISSUER; validationmethods=
refuses ISSUER; validationmethods=HTTP-01
refuses ISSUER; validationmethods=,http-01
refuses ISSUER; validationmethods=a_b,http-01
refuses ISSUER; validationmethods=http-01, dns-01
refuses ISSUER; validationmethods=http-01; validationmethods=http-01
refuses IsSuEr`;

const values = [...READ_BY_BOULDER.matchAll(/^(permits|refuses) (.*)$/gm)];
test.each(values.map(([, verdict, value = ""]) => [verdict, value] as const))(
  "Let's Encrypt %s '%s'",
  (verdict, value) => {
    const written = value.replace("ISSUER", "letsencrypt.org").replace("IsSuEr", "LetsEncrypt.org");
    const { ok } = evaluateCaa(set(`0 issue ${written}`), letsencrypt, { deployment: "machine" });
    expect(ok).toBe(verdict === "permits");
  },
);

test.each([
  ["Amazon.COM", 'the name "Amazon.COM", if Amazon accepts capital letters'],
  ["amazon.com; ValidationMethods=dns-01", "ValidationMethods=dns-01"],
  [
    "amazon.com; validationmethods=http-01; validationmethods=http-01,dns-01",
    "validationmethods=http-01; validationmethods=http-01,dns-01",
  ],
])("what the RFCs leave open is a limit for an authority that nobody has tried: %s", (value, limit) => {
  expect(evaluateCaa(set(`0 issue ${value}`), amazon, { deployment: "machine" })).toEqual({
    ok: true,
    limits: [limit],
  });
});

test.each(["amazon.com; a=1;", "amazon.com.", "amazon.com; accounturi=a; accounturi=b"])(
  "what the RFCs decide holds for every authority: '%s' is refused",
  (value) => {
    expect(evaluateCaa(set(`0 issue ${value}`), amazon)).toEqual({ ok: false, code: "caa_forbids" });
  },
);

const SECTIGO = "sectigo.com usertrust.com trust-provider.com comodoca.com";

test.each([
  ["amazon", "Amazon", "amazon.com amazontrust.com awstrust.com amazonaws.com"],
  ["LetsEncrypt", "Let's Encrypt", "letsencrypt.org"],
  ["letsencrypt.org", "Let's Encrypt", "letsencrypt.org"],
  ["PKI.goog.", "Google Trust Services", "pki.goog"],
  ["zerossl", "ZeroSSL", SECTIGO],
  ["sectigo", "Sectigo", SECTIGO],
  ["digicert", "DigiCert", "digicert.com symantec.com thawte.com geotrust.com rapidssl.com"],
  ["CA.example.org", "ca.example.org", "ca.example.org"],
])("the authority %s is %s, with the issuers %s", (name, found, issuers) => {
  expect(findAuthority(name)).toMatchObject({ name: found, issuers: issuers.split(" ") });
});

test.each(["nobody", "", "http://ca.example.org", "constructor"])("%j is no authority", (name) => {
  expect(findAuthority(name)).toBeUndefined();
});

// Of each class that Boulder tests, one case; and what others know.
const OTHER = findAuthority("ca.example.org") ?? amazon;
test.each([
  ["128 tbs x", amazon, false],
  ["255 tbs x", amazon, false],
  ["1 tbs x", amazon, true],
  ["128 issuemail ;", amazon, false],
  ["0 issuemail ;", amazon, true],
  ["128 tbs x", letsencrypt, false],
  ["1 tbs x", letsencrypt, false],
  ["126 tbs x", letsencrypt, true],
  ["128 issuemail ;", letsencrypt, true],
  ["1 IssueVMC digicert.com", letsencrypt, true],
  ["128 issuemail ;", OTHER, false],
  ["1 tbs x", OTHER, true],
] as const)("a record '%s' beside a permission of %o: %s", (record, authority, ok) => {
  const verdict = evaluateCaa(set(`0 issue ${authority.issuers[0]}`, record), authority);
  expect(verdict).toEqual(ok ? { ok, limits: [] } : { ok, code: "caa_unknown_critical" });
});

test.each([
  ["dns-01", "caa_method"],
  ["http-01", undefined],
  ["http-01,dns-01", undefined],
  ["dns-01,tls-alpn-01", undefined],
  ["dns-01; accounturi=https://a.example/1", "caa_method"],
])("validationmethods=%s on one machine: %s", (methods, code) => {
  const limited = set(`0 issue letsencrypt.org; validationmethods=${methods}`);
  expect(evaluateCaa(limited, letsencrypt, { deployment: "machine" })).toMatchObject(
    code === undefined ? { ok: true } : { ok: false, code },
  );
  expect(evaluateCaa(limited, letsencrypt)).toMatchObject({ ok: true });
  const beside = [...limited, ...set("0 issue letsencrypt.org")];
  expect(evaluateCaa(beside, letsencrypt, { deployment: "machine" })).toEqual({ ok: true, limits: [] });
});
