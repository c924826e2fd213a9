import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { parseDomainConfig } from "../../lib/domains/mapping.ts";

const PLATFORM = "d-1a2b3c.execute-api.eu-west-1.example.net";

/** Reads the lines below `domains:` as a domains file has them. */
function read(yaml: string) {
  return parseDomainConfig(parseYaml(yaml), { plan: "pro", platformHost: PLATFORM });
}

const P = "primary: orders.example.com";

describe("a configuration that is wrong", () => {
  const ADDRESS = "This is an address. Write a hostname, since certificates and records are made for names.";
  const ALONE = "Write its hostname alone: orders.example.com.";
  const NOT_IDNA =
    "This is not an internationalised name that DNS can carry. Write letters, digits, hyphens and dots.";
  const SUCH_AS = "Write a hostname such as orders.example.com.";
  const MAPPING = "Write a mapping with 'primary'.";
  const PERMANENT = "Write 301, or leave it out: redirects are permanent.";
  const suffix = (name: string) =>
    `${name} is a public suffix, below which others register names. Write a name of your own, such as example.${name}.`;
  const odd = (character: string) =>
    `A hostname has no ${character}. Write letters, digits, hyphens and dots.`;

  test.each<[string, string, string]>([
    ["of a URL", '"https://orders.example.com/v1"', `This is a URL. ${ALONE}`],
    ["of a URL with a port", '"http://orders.example.com:8080"', `This is a URL. ${ALONE}`],
    ["of a URL with a password", '"https://me:pw@orders.example.com"', `This is a URL. ${ALONE}`],
    ["of a URL with no host", '"file:///etc/hosts"', "This is a URL. Write its hostname alone."],
    [
      "with a port",
      '"orders.example.com:8443"',
      "The port does not belong here. Write the hostname alone: orders.example.com.",
    ],
    [
      "with a path",
      "orders.example.com/v1",
      "A path or query does not belong here. Write the hostname alone: orders.example.com.",
    ],
    [
      "with a query",
      "orders.example.com?v=1",
      "A path or query does not belong here. Write the hostname alone: orders.example.com.",
    ],
    [
      "with a wide solidus",
      "orders.example.com／v1",
      "A path or query does not belong here. Write the hostname alone: orders.example.com.",
    ],
    ["with a wildcard", '"*.example.com"', "A wildcard cannot be served. Write each host by its own name."],
    ["of an IPv4 address", '"203.0.113.7"', ADDRESS],
    ["of an IPv4 address with a trailing dot", '"203.0.113.7."', ADDRESS],
    ["of a short IPv4 address", '"127.1.1"', ADDRESS],
    ["of a hexadecimal IPv4 address", '"0x7f.0x1"', ADDRESS],
    ["of an IPv6 address", '"2001:db8::1"', ADDRESS],
    ["of an IPv6 address in brackets", '"[2001:db8::1]"', ADDRESS],
    ["of an IPv6 address with a port", '"[2001:db8::1]:443"', ADDRESS],
    [
      "with one label",
      "localhost",
      "A name with one label is not public. Write the whole name, such as orders.example.com.",
    ],
    [
      "with one label and a dot",
      "com.",
      "A name with one label is not public. Write the whole name, such as orders.example.com.",
    ],
    ["of a public suffix", "co.uk", suffix("co.uk")],
    ["of a public suffix in upper case", "CO.UK.", suffix("co.uk")],
    ["of a public suffix by wildcard rule", "any.kawasaki.jp", suffix("any.kawasaki.jp")],
    ["of an internationalised public suffix", "公司.cn", suffix("xn--55qx5d.cn")],
    ["of a private public suffix", "github.io", suffix("github.io")],
    [
      "with an underscore",
      "my_orders.example.com",
      "A hostname has no underscore. Write a hyphen, or choose another name.",
    ],
    ["with a space", "orders .example.com", "A hostname has no spaces. Remove them."],
    ["with a line break", '"orders.example.com\\n"', "A hostname has no spaces. Remove them."],
    ["of a mail address", "me@example.com", odd('"@"')],
    ["with an escape", "orders%2eexample.com", odd('"%"')],
    ["with a NUL", '"orders\\0.example.com"', odd('"\\u0000"')],
    ["with a variable left in", "$HOST.example.com", odd('"$"')],
    ["with an empty label", "orders..example.com", "There is an empty label. Remove the extra dot."],
    ["with a leading dot", ".example.com", "There is an empty label. Remove the extra dot."],
    ["with two trailing dots", "orders.example.com..", "There is an empty label. Remove the extra dot."],
    [
      "with a leading hyphen",
      '"-orders.example.com"',
      "The label -orders begins or ends with a hyphen. Remove it.",
    ],
    [
      "with a trailing hyphen",
      "orders-.example.com",
      "The label orders- begins or ends with a hyphen. Remove it.",
    ],
    [
      "with a label of 64 characters",
      `${"a".repeat(64)}.example.com`,
      `The label ${"a".repeat(64)} has 64 characters. Shorten it to 63.`,
    ],
    [
      "with a label that is too long as punycode",
      `${"ü".repeat(60)}.example.com`,
      `The label xn--td${"a".repeat(60)} has 66 characters. Shorten it to 63.`,
    ],
    ["that is too long", `${"a.".repeat(124)}example.com`, "The name has 259 characters. Shorten it to 253."],
    [
      "with broken punycode",
      "xn--a.example.com",
      "The label xn--a is no valid punycode. Write the name in its own script instead.",
    ],
    ["with an invisible joiner", '"a\u200db.example.com"', NOT_IDNA],
    ["that mixes digits of two scripts", '"٢٠٣.٠.١١٣.7"', NOT_IDNA],
    ["that is empty", '""', `This is empty. ${SUCH_AS}`],
    ["that is a number", "443", SUCH_AS],
    ["that is missing its value", "", SUCH_AS],
  ])("a primary %s is refused with its mend (decision 18)", (_, primary, message) => {
    expect(read(`primary: ${primary}`)).toEqual({ issues: [{ path: "domains.primary", message }] });
  });

  test.each<[string, string, Record<string, string>]>([
    ["no mapping at all", "", { domains: MAPPING }],
    ["a name instead of a mapping", "orders.example.com", { domains: MAPPING }],
    ["a list instead of a mapping", "[orders.example.com]", { domains: MAPPING }],
    ["no primary", "aliases: []", { "domains.primary": SUCH_AS }],
    [
      "an unknown field",
      `${P}\nalias: [a.example.com]`,
      { "domains.alias": "Unknown field. Known: primary, aliases, redirects." },
    ],
    [
      "an unknown field of a redirect",
      `${P}\nredirects: [{ from: www.example.com, to: orders.example.com, code: 301 }]`,
      { "domains.redirects[0].code": "Unknown field. Known: from, to, status." },
    ],
    [
      "aliases that are no list",
      `${P}\naliases: a.example.com`,
      { "domains.aliases": "Write a list of hostnames, or leave it out." },
    ],
    [
      "aliases left empty",
      `${P}\naliases:`,
      { "domains.aliases": "Write a list of hostnames, or leave it out." },
    ],
    [
      "redirects that are no list",
      `${P}\nredirects: { from: www.example.com, to: orders.example.com }`,
      { "domains.redirects": "Write a list of redirects, or leave it out." },
    ],
    [
      "a redirect that is a name",
      `${P}\nredirects: [www.example.com]`,
      { "domains.redirects[0]": "Write a mapping with 'from' and 'to'." },
    ],
    [
      "a redirect with no 'to'",
      `${P}\nredirects: [{ from: www.example.com }]`,
      { "domains.redirects[0].to": SUCH_AS },
    ],
    [
      "a redirect with no 'from'",
      `${P}\nredirects: [{ to: orders.example.com }]`,
      { "domains.redirects[0].from": SUCH_AS },
    ],
    [
      "status 302",
      `${P}\nredirects: [{ from: www.example.com, to: orders.example.com, status: 302 }]`,
      { "domains.redirects[0].status": PERMANENT },
    ],
    [
      "status 308",
      `${P}\nredirects: [{ from: www.example.com, to: orders.example.com, status: 308 }]`,
      { "domains.redirects[0].status": PERMANENT },
    ],
    [
      "a status in quotes",
      `${P}\nredirects: [{ from: www.example.com, to: orders.example.com, status: "301" }]`,
      { "domains.redirects[0].status": PERMANENT },
    ],
    [
      "the platform's own host as primary, in any form",
      "primary: D-1A2B3C.execute-api.eu-west-1.example.net.",
      {
        "domains.primary": `${PLATFORM} is the platform's own host, which serves anyway. Write a host of your own.`,
      },
    ],
    [
      "the platform's own host as alias",
      `${P}\naliases: [${PLATFORM}]`,
      {
        "domains.aliases[0]": `${PLATFORM} is the platform's own host, which serves anyway. Write a host of your own.`,
      },
    ],
    [
      "a redirect from the platform's own host",
      `${P}\nredirects: [{ from: ${PLATFORM}, to: orders.example.com }]`,
      {
        "domains.redirects[0].from": `${PLATFORM} is the platform's own host, which serves anyway. Write a host of your own.`,
      },
    ],
    [
      "the primary among the aliases",
      `${P}\naliases: [ORDERS.example.com.]`,
      {
        "domains.aliases[0]":
          "orders.example.com is named twice, first at domains.primary. Remove one of the two.",
      },
    ],
    [
      "an alias in two scripts",
      `${P}\naliases: [bücher.example.com, xn--bcher-kva.example.com]`,
      {
        "domains.aliases[1]":
          "xn--bcher-kva.example.com is named twice, first at domains.aliases[0]. Remove one of the two.",
      },
    ],
    [
      "two redirects from one host",
      `${P}\nredirects: [{ from: www.example.com, to: orders.example.com }, { from: WWW.example.com, to: orders.example.com }]`,
      {
        "domains.redirects[1].from":
          "www.example.com is named twice, first at domains.redirects[0].from. Remove one of the two.",
      },
    ],
    [
      "an alias that redirects as well",
      `${P}\naliases: [www.example.com]\nredirects: [{ from: www.example.com, to: orders.example.com }]`,
      {
        "domains.redirects[0].from":
          "www.example.com is named twice, first at domains.aliases[0]. Remove one of the two.",
      },
    ],
    [
      "a redirect to itself",
      `${P}\nredirects: [{ from: www.example.com, to: WWW.example.com. }]`,
      {
        "domains.redirects[0].to":
          "www.example.com redirects to itself. Write the primary, orders.example.com.",
      },
    ],
    [
      "a redirect from the primary",
      `${P}\nredirects: [{ from: orders.example.com, to: www.example.com }]`,
      {
        "domains.redirects[0].from":
          "orders.example.com is the primary, which cannot redirect. Remove this redirect, or choose another primary.",
      },
    ],
    [
      "a redirect from the primary to itself",
      `${P}\nredirects: [{ from: orders.example.com, to: orders.example.com }]`,
      {
        "domains.redirects[0].from":
          "orders.example.com is the primary, which cannot redirect. Remove this redirect, or choose another primary.",
      },
    ],
    [
      "a redirect that leads elsewhere",
      `${P}\nredirects: [{ from: www.example.com, to: evil.example.org }]`,
      {
        "domains.redirects[0].to":
          "A redirect leads to the primary and nowhere else. Write orders.example.com.",
      },
    ],
    [
      "a redirect to an alias",
      `${P}\naliases: [a.example.com]\nredirects: [{ from: www.example.com, to: a.example.com }]`,
      {
        "domains.redirects[0].to":
          "A redirect leads to the primary and nowhere else. Write orders.example.com.",
      },
    ],
    [
      "a chain of redirects",
      `${P}\nredirects: [{ from: a.example.com, to: b.example.com }, { from: b.example.com, to: orders.example.com }]`,
      {
        "domains.redirects[0].to":
          "A redirect leads to the primary and nowhere else. Write orders.example.com.",
      },
    ],
    [
      "a loop of two",
      `${P}\nredirects: [{ from: a.example.com, to: b.example.com }, { from: b.example.com, to: a.example.com }]`,
      {
        "domains.redirects[0].to":
          "This is a loop: a.example.com → b.example.com → a.example.com. Redirect every host to the primary, orders.example.com.",
        "domains.redirects[1].to":
          "This is a loop: b.example.com → a.example.com → b.example.com. Redirect every host to the primary, orders.example.com.",
      },
    ],
    [
      "a loop through the primary",
      `${P}\nredirects: [{ from: www.example.com, to: orders.example.com }, { from: orders.example.com, to: www.example.com }]`,
      {
        "domains.redirects[1].from":
          "orders.example.com is the primary, which cannot redirect. Remove this redirect, or choose another primary.",
        "domains.redirects[1].to":
          "This is a loop: orders.example.com → www.example.com → orders.example.com. Redirect every host to the primary, orders.example.com.",
      },
    ],
    [
      "a way into a loop",
      `${P}\nredirects: [{ from: x.example.com, to: a.example.com }, { from: a.example.com, to: a.example.com }]`,
      {
        "domains.redirects[0].to":
          "A redirect leads to the primary and nowhere else. Write orders.example.com.",
        "domains.redirects[1].to":
          "a.example.com redirects to itself. Write the primary, orders.example.com.",
      },
    ],
    [
      "many things at once, all of which are told",
      "primary: co.uk\naliases: ['*.example.com', a.example.com, a.example.com]\nredirects: [{ from: b.example.com, to: b.example.com, status: 302 }]\nextra: 1",
      {
        "domains.primary": suffix("co.uk"),
        "domains.aliases[0]": "A wildcard cannot be served. Write each host by its own name.",
        "domains.redirects[0].status": PERMANENT,
        "domains.extra": "Unknown field. Known: primary, aliases, redirects.",
        "domains.aliases[2]":
          "a.example.com is named twice, first at domains.aliases[1]. Remove one of the two.",
        "domains.redirects[0].to": "b.example.com redirects to itself. Write the primary.",
      },
    ],
  ])("with %s is refused with the field and the mend (decision 18)", (_, yaml, expected) => {
    const parsed = read(yaml);
    const issues = "issues" in parsed ? parsed.issues : [];
    expect(Object.fromEntries(issues.map(({ path, message }) => [path, message]))).toEqual(expected);
    expect(issues).toHaveLength(Object.keys(expected).length);
  });
});
