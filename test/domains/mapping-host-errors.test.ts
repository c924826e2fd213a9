import { expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { explainTopLevel, parseCustomHost, parseHostname } from "../../lib/domains/hostname.ts";
import { parseDomains } from "../../lib/domains/parse.ts";

/** Parses the lines below `domains:` of a domains file. */
function parse(yaml: string) {
  return parseDomains(parseYaml(yaml), { plan: "pro" });
}

const OWN = "Write a host under a domain of your own, such as orders.example.com.";
const ONLY = "Write only the hostname, such as orders.example.com.";
const LETTERS = "Use only letters, digits, hyphens and dots.";
const suffix = (name: string) =>
  `${name} is a public suffix, under which others register names. Use a name of your own, such as orders.example.com.`;
const character = (found: string) => `A hostname cannot contain ${found}. ${LETTERS}`;
const platform = (host: string) =>
  `${host} belongs to the cloud platform, whose own host always serves. ${OWN}`;
const specialUse = (domain: string) =>
  `orders.${domain} ends with .${domain.split(".").at(-1)}, a special-use name: nobody can register it, and no certificate is issued for it. ${OWN}`;

/** By code: what is said about hosts of one's own, and the hosts. */
const REJECTED: readonly (readonly [code: string, message: string, ...hosts: readonly string[]])[] = [
  ["empty", "The hostname is empty. Write one such as orders.example.com.", "", "."],
  [
    "url",
    "This is a URL. Write only its hostname, such as orders.example.com.",
    ...["https://orders.example.com/v1", "git+ssh://orders.example.com", "http://orders.example.com:8080"],
    ...["https://me:pw@orders.example.com", "file:///etc/hosts"],
  ],
  ["port", `This contains a port. ${ONLY}`, "orders.example.com:8443", "orders.example.com:"],
  [
    "path",
    `This contains a path or query. ${ONLY}`,
    ...[
      "orders.example.com/v1",
      "orders.example.com/v1:80",
      "orders.example.com?v=1",
      "orders.example.com／v1",
    ],
  ],
  ["wildcard", "Wildcards are not supported. List each host by its full name.", "*.example.com"],
  [
    "ip_address",
    "This is an IP address. Write a hostname: certificates and records are issued for names.",
    ...["203.0.113.77", "203.0.113.7.", "127.1.1", "0x7f.0x1", "2001:db8::1", "[2001:db8::1]"],
    ...["[2001:db8::1]:443", "::1", "fe80::1%eth0", "[fe80::1%eth0]"],
  ],
  [
    "single_label",
    "A name with a single label is not public. Write the full name, such as orders.example.com.",
    ...["localhost", "com."],
  ],
  ["public_suffix", suffix("co.uk"), "co.uk", "CO.UK."],
  ["public_suffix", suffix("any.kawasaki.jp"), "any.kawasaki.jp"],
  ["public_suffix", suffix("xn--55qx5d.cn"), "公司.cn"],
  ["public_suffix", suffix("github.io"), "github.io"],
  ["invalid_character", character('"_"'), "my_orders.example.com"],
  ["invalid_character", character('" "'), "orders .example.com"],
  ["invalid_character", character('"\\n"'), "orders.example.com\n"],
  ["invalid_character", character('"@"'), "me@example.com"],
  ["invalid_character", character('"%"'), "orders%2eexample.com"],
  ["invalid_character", character('"\\u0000"'), "orders\0.example.com"],
  ["invalid_character", character('"$"'), "$HOST.example.com"],
  [
    "invalid_label",
    "The name contains an empty label. Remove the extra dot.",
    ...["orders..example.com", ".example.com", "orders.example.com.."],
  ],
  ["invalid_label", "The label -orders starts or ends with a hyphen. Remove it.", "-orders.example.com"],
  ["invalid_label", "The label orders- starts or ends with a hyphen. Remove it.", "orders-.example.com"],
  [
    "too_long",
    `The label ${"a".repeat(64)} has 64 characters. Shorten it to 63 or fewer.`,
    `${"a".repeat(64)}.example.com`,
  ],
  [
    "too_long",
    `The label xn--td${"a".repeat(60)} has 66 characters. Shorten it to 63 or fewer.`,
    `${"ü".repeat(60)}.example.com`,
  ],
  ["too_long", "The name has 254 characters. Shorten it to 253 or fewer.", `a${"a.".repeat(121)}example.com`],
  [
    "invalid_idn",
    "The label xn--a is not valid punycode. Write the name in its own script instead.",
    "xn--a.example.com",
  ],
  [
    "invalid_idn",
    `This is not a valid internationalised name. ${LETTERS}`,
    ...["a\u200db.example.com", "٢٠٣.٠.١١٣.7"],
  ],
  ...["local", "onion", "home.arpa", "localhost", "test", "example", "invalid", "alt", "internal"].map(
    (domain) => ["special_use", specialUse(domain), `ORDERS.${domain}.`] as const,
  ),
  ...["abc.execute-api.eu-central-1.amazonaws.com", "execute-api.amazonaws.com", "amazonaws.com"].map(
    (host) => ["platform_host", platform(host), host] as const,
  ),
  ...["abc.execute-api.cn-north-1.amazonaws.com.cn", "d111.cloudfront.net"].map(
    (host) => ["platform_host", platform(host), host.toUpperCase()] as const,
  ),
];

test.each(REJECTED.flatMap(([code, message, ...hosts]) => hosts.map((host) => [host, code, message])))(
  "the host %j is rejected as %s, with the fix",
  (host, code, message) => {
    expect(parseCustomHost(host)).toEqual({ ok: false, code, message });
    expect(parseDomains({ primary: host }, { plan: "pro" })).toEqual({
      ok: false,
      code: "invalid_domains",
      issues: [{ path: "domains.primary", message }],
    });
  },
);

test("a name of 253 characters is valid", () => {
  expect(parseHostname(`${"a.".repeat(121)}example.com`)).toMatchObject({ ok: true });
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
