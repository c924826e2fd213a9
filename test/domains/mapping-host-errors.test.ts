import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { explainTopLevel, parseCustomHost } from "../../lib/domains/hostname.ts";
import { parseDomains } from "../../lib/domains/parse.ts";

/** Parses the lines below `domains:` of a domains file. */
function parse(yaml: string) {
  return parseDomains(parseYaml(yaml), { plan: "pro" });
}

describe("an invalid host", () => {
  const ADDRESS = "This is an IP address. Write a hostname: certificates and records are issued for names.";
  const ALONE = "Write only its hostname, such as orders.example.com.";
  const NOT_IDNA = "This is not a valid internationalised name. Use only letters, digits, hyphens and dots.";
  const SUCH_AS = "Write a hostname such as orders.example.com.";
  const suffix = (name: string) =>
    `${name} is a public suffix, under which others register names. Use a name of your own, such as orders.example.com.`;
  const character = (found: string) =>
    `A hostname cannot contain ${found}. Use only letters, digits, hyphens and dots.`;

  const OWN_HOST = "Write a host under a domain of your own, such as orders.example.com.";
  const specialUse = (host: string, domain: string) =>
    `${host} ends with .${domain}, a special-use name: nobody can register it, and no certificate is issued for it. ${OWN_HOST}`;
  const platformHost = (host: string) =>
    `${host} belongs to the cloud platform, whose own host always serves. ${OWN_HOST}`;

  test.each<[string, string, string]>([
    ["that is a URL", '"https://orders.example.com/v1"', `This is a URL. ${ALONE}`],
    ["that is a URL with a sign in its scheme", '"git+ssh://orders.example.com"', `This is a URL. ${ALONE}`],
    ["that is a URL with a port", '"http://orders.example.com:8080"', `This is a URL. ${ALONE}`],
    ["that is a URL with a password", '"https://me:pw@orders.example.com"', `This is a URL. ${ALONE}`],
    ["that is a URL without a host", '"file:///etc/hosts"', `This is a URL. ${ALONE}`],
    [
      "with a port",
      '"orders.example.com:8443"',
      "This contains a port. Write only the hostname, such as orders.example.com.",
    ],
    [
      "with a path",
      "orders.example.com/v1",
      "This contains a path or query. Write only the hostname, such as orders.example.com.",
    ],
    [
      "with a path that ends like a port",
      "orders.example.com/v1:80",
      "This contains a path or query. Write only the hostname, such as orders.example.com.",
    ],
    [
      "with a query",
      "orders.example.com?v=1",
      "This contains a path or query. Write only the hostname, such as orders.example.com.",
    ],
    [
      "with a wide solidus",
      "orders.example.com／v1",
      "This contains a path or query. Write only the hostname, such as orders.example.com.",
    ],
    ["with a wildcard", '"*.example.com"', "Wildcards are not supported. List each host by its full name."],
    ["that is an IPv4 address", '"203.0.113.77"', ADDRESS],
    ["that is an IPv4 address with a trailing dot", '"203.0.113.7."', ADDRESS],
    ["that is a short IPv4 address", '"127.1.1"', ADDRESS],
    ["that is a hexadecimal IPv4 address", '"0x7f.0x1"', ADDRESS],
    ["that is an IPv6 address", '"2001:db8::1"', ADDRESS],
    ["that is an IPv6 address in brackets", '"[2001:db8::1]"', ADDRESS],
    ["that is an IPv6 address with a port", '"[2001:db8::1]:443"', ADDRESS],
    [
      "with a single label",
      "localhost",
      "A name with a single label is not public. Write the full name, such as orders.example.com.",
    ],
    [
      "with a single label and a dot",
      "com.",
      "A name with a single label is not public. Write the full name, such as orders.example.com.",
    ],
    ["that is a public suffix", "co.uk", suffix("co.uk")],
    ["that is a public suffix in upper case", "CO.UK.", suffix("co.uk")],
    ["that is a public suffix by a wildcard rule", "any.kawasaki.jp", suffix("any.kawasaki.jp")],
    ["that is an internationalised public suffix", "公司.cn", suffix("xn--55qx5d.cn")],
    ["that is a public suffix of the private section", "github.io", suffix("github.io")],
    ["with an underscore", "my_orders.example.com", character('"_"')],
    ["with a space", "orders .example.com", character('" "')],
    ["with a line break", '"orders.example.com\\n"', character('"\\n"')],
    ["that is a mail address", "me@example.com", character('"@"')],
    ["with a percent escape", "orders%2eexample.com", character('"%"')],
    ["with a NUL", '"orders\\0.example.com"', character('"\\u0000"')],
    ["with an unexpanded variable", "$HOST.example.com", character('"$"')],
    ["with an empty label", "orders..example.com", "The name contains an empty label. Remove the extra dot."],
    ["with a leading dot", ".example.com", "The name contains an empty label. Remove the extra dot."],
    [
      "with two trailing dots",
      "orders.example.com..",
      "The name contains an empty label. Remove the extra dot.",
    ],
    [
      "with a leading hyphen",
      '"-orders.example.com"',
      "The label -orders starts or ends with a hyphen. Remove it.",
    ],
    [
      "with a trailing hyphen",
      "orders-.example.com",
      "The label orders- starts or ends with a hyphen. Remove it.",
    ],
    [
      "with a label of 64 characters",
      `${"a".repeat(64)}.example.com`,
      `The label ${"a".repeat(64)} has 64 characters. Shorten it to 63 or fewer.`,
    ],
    [
      "with a label that is too long as punycode",
      `${"ü".repeat(60)}.example.com`,
      `The label xn--td${"a".repeat(60)} has 66 characters. Shorten it to 63 or fewer.`,
    ],
    [
      "that is too long",
      `${"a.".repeat(124)}example.com`,
      "The name has 259 characters. Shorten it to 253 or fewer.",
    ],
    [
      "with broken punycode",
      "xn--a.example.com",
      "The label xn--a is not valid punycode. Write the name in its own script instead.",
    ],
    ["with an invisible joiner", '"a\u200db.example.com"', NOT_IDNA],
    ["that mixes digits of two scripts", '"٢٠٣.٠.١١٣.7"', NOT_IDNA],
    ["that is empty", '""', "The hostname is empty. Write one such as orders.example.com."],
    ["that is a number", "443", SUCH_AS],
    ["without a value", "", SUCH_AS],
    ["in the domain .local", "orders.local", specialUse("orders.local", "local")],
    ["in the domain .internal", "ORDERS.Internal.", specialUse("orders.internal", "internal")],
    ["in the domain .onion", "orders.onion", specialUse("orders.onion", "onion")],
    ["in the domain .arpa", "orders.home.arpa", specialUse("orders.home.arpa", "arpa")],
    ["in the domain .localhost", "orders.localhost", specialUse("orders.localhost", "localhost")],
    ["in the domain .test", "orders.test", specialUse("orders.test", "test")],
    ["in the domain .example", "orders.example", specialUse("orders.example", "example")],
    ["in the domain .invalid", "orders.invalid", specialUse("orders.invalid", "invalid")],
    ["in the domain .alt", "orders.alt", specialUse("orders.alt", "alt")],
    [
      "that is the name of a REST API",
      "abc.execute-api.eu-central-1.amazonaws.com",
      platformHost("abc.execute-api.eu-central-1.amazonaws.com"),
    ],
    [
      "that is the stand-in for every REST API",
      "Execute-API.amazonaws.com",
      platformHost("execute-api.amazonaws.com"),
    ],
    ["that is a platform domain", "amazonaws.com", platformHost("amazonaws.com")],
    [
      "that is the name of a REST API in China",
      "abc.execute-api.cn-north-1.amazonaws.com.cn",
      platformHost("abc.execute-api.cn-north-1.amazonaws.com.cn"),
    ],
    ["that is the name of a distribution", "d111.cloudfront.net", platformHost("d111.cloudfront.net")],
  ])("a primary %s is rejected with the fix", (_, primary, message) => {
    expect(parse(`primary: ${primary}`)).toEqual({
      ok: false,
      code: "invalid_domains",
      issues: [{ path: "domains.primary", message }],
    });
  });
});

test("special-use and platform names are rejected in every role", () => {
  const parsed = parse(
    "primary: orders.local\naliases: [a.test, d1.execute-api.eu-west-1.amazonaws.com]\nredirects: [{ from: b.onion, to: c.internal }]",
  );
  const paths = parsed.ok ? [] : parsed.issues.map(({ path }) => path);
  expect(paths).toEqual([
    "domains.primary",
    "domains.aliases[0]",
    "domains.aliases[1]",
    "domains.redirects[0].from",
    "domains.redirects[0].to",
  ]);
});

test.each([
  "primary: https://orders.local/v1",
  "primary: orders.internal:8080",
  "primary: abc.execute-api.eu-west-1.amazonaws.com/v1",
  "primary: s3.amazonaws.com",
  "primary: e164.arpa",
  "primary: ck",
  "{ primary: orders.local, redirects: [{ from: www.example.com, to: api.example.com }] }",
  "{ primary: a.cloudfront.net, redirects: [{ from: www.example.com, to: www.example.com }] }",
  "{ redirects: [{ from: www.example.com, to: orders.test }] }",
])("no message about %s suggests a name that is rejected", (yaml) => {
  const parsed = parse(yaml);
  const suggestions = (parsed.ok ? [] : parsed.issues).flatMap(
    ({ message }) =>
      /(?:: |such as |Write |the primary, )((?:[a-z0-9-]+\.)+[a-z0-9-]+)\.$/.exec(message)?.[1] ?? [],
  );
  expect(parsed.ok).toBe(false);
  for (const name of suggestions) expect(parseCustomHost(name)).toEqual({ ok: true, hostname: name });
});

test.each([
  [
    "orders.exmaple.cmo",
    ["orders.exmaple.cmo ends with .cmo, which is no known top-level domain. Check its spelling."],
  ],
  ["orders.example.com", []],
  ["orders.example.co.uk", []],
  ["shop.github.io", []],
  ["xn--e1afmkfd.xn--p1ai", []],
])("%s is accepted, with the warnings %j", (primary, warnings) => {
  expect(parseDomains({ primary }, { plan: "pro" }).ok).toBe(true);
  expect(explainTopLevel(primary)).toEqual(warnings);
});
