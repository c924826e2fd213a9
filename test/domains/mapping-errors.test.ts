import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { parseDomains } from "../../lib/domains/parse.ts";

const PLATFORM = "d-1a2b3c.execute-api.eu-west-1.example.net";

/** Parses the lines below `domains:` of a domains file. */
function parse(yaml: string) {
  return parseDomains(parseYaml(yaml), { plan: "pro", platformHost: PLATFORM });
}

const P = "primary: orders.example.com";

describe("an invalid mapping", () => {
  const SUCH_AS = "Write a hostname such as orders.example.com.";
  const MAPPING = "Write a mapping with 'primary', or {} to have no custom host.";
  const PRIMARY_NEEDED = "Write the primary, such as orders.example.com: aliases and redirects need one.";
  const PERMANENT = "Write 301, or omit it: redirects are permanent.";
  const suffix = (name: string) =>
    `${name} is a public suffix, under which others register names. Use a name of your own, such as example.${name}.`;

  test.each<[string, string, Record<string, string>]>([
    ["no mapping", "", { domains: MAPPING }],
    ["a name instead of a mapping", "orders.example.com", { domains: MAPPING }],
    ["a list instead of a mapping", "[orders.example.com]", { domains: MAPPING }],
    ["aliases but no primary", "aliases: [a.example.com]", { "domains.primary": PRIMARY_NEEDED }],
    [
      "redirects but no primary",
      "redirects: [{ from: a.example.com, to: b.example.com }]",
      { "domains.primary": PRIMARY_NEEDED },
    ],
    ["a primary without a value", "primary:", { "domains.primary": SUCH_AS }],
    [
      "a primary without a value, and an alias",
      "primary:\naliases: [a.example.com]",
      { "domains.primary": SUCH_AS },
    ],
    [
      "an unknown key",
      `${P}\nalias: [a.example.com]`,
      { "domains.alias": "Unknown key. Remove it, or use one of: primary, aliases, redirects." },
    ],
    [
      "an unknown key of a redirect",
      `${P}\nredirects: [{ from: www.example.com, to: orders.example.com, code: 301 }]`,
      { "domains.redirects[0].code": "Unknown key. Remove it, or use one of: from, to, status." },
    ],
    [
      "aliases that are not a list",
      `${P}\naliases: a.example.com`,
      { "domains.aliases": "Write a list of hostnames, or omit it." },
    ],
    [
      "aliases without a value",
      `${P}\naliases:`,
      { "domains.aliases": "Write a list of hostnames, or omit it." },
    ],
    [
      "redirects that are not a list",
      `${P}\nredirects: { from: www.example.com, to: orders.example.com }`,
      { "domains.redirects": "Write a list of redirects, or omit it." },
    ],
    [
      "a redirect that is only a name",
      `${P}\nredirects: [www.example.com]`,
      { "domains.redirects[0]": "Write a mapping with 'from' and 'to'." },
    ],
    [
      "a redirect without 'to'",
      `${P}\nredirects: [{ from: www.example.com }]`,
      { "domains.redirects[0].to": SUCH_AS },
    ],
    [
      "a redirect without 'from'",
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
      "the platform's own host as primary, in another spelling",
      "primary: D-1A2B3C.execute-api.eu-west-1.example.net.",
      {
        "domains.primary": `${PLATFORM} is the platform's own host, which always serves. Write a host of your own.`,
      },
    ],
    [
      "the platform's own host as alias",
      `${P}\naliases: [${PLATFORM}]`,
      {
        "domains.aliases[0]": `${PLATFORM} is the platform's own host, which always serves. Write a host of your own.`,
      },
    ],
    [
      "a redirect from the platform's own host",
      `${P}\nredirects: [{ from: ${PLATFORM}, to: orders.example.com }]`,
      {
        "domains.redirects[0].from": `${PLATFORM} is the platform's own host, which always serves. Write a host of your own.`,
      },
    ],
    [
      "the primary among the aliases",
      `${P}\naliases: [ORDERS.example.com.]`,
      {
        "domains.aliases[0]":
          "orders.example.com is listed twice, first at domains.primary. Remove one of the two.",
      },
    ],
    [
      "an alias in two scripts",
      `${P}\naliases: [bücher.example.com, xn--bcher-kva.example.com]`,
      {
        "domains.aliases[1]":
          "xn--bcher-kva.example.com is listed twice, first at domains.aliases[0]. Remove one of the two.",
      },
    ],
    [
      "two redirects from the same host",
      `${P}\nredirects: [{ from: www.example.com, to: orders.example.com }, { from: WWW.example.com, to: orders.example.com }]`,
      {
        "domains.redirects[1].from":
          "www.example.com is listed twice, first at domains.redirects[0].from. Remove one of the two.",
      },
    ],
    [
      "an alias that also redirects",
      `${P}\naliases: [www.example.com]\nredirects: [{ from: www.example.com, to: orders.example.com }]`,
      {
        "domains.redirects[0].from":
          "www.example.com is listed twice, first at domains.aliases[0]. Remove one of the two.",
      },
    ],
    [
      "a redirect to itself",
      `${P}\nredirects: [{ from: www.example.com, to: WWW.example.com. }]`,
      {
        "domains.redirects[0].to":
          "www.example.com redirects to itself. Redirect it to the primary, orders.example.com.",
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
      "a redirect to a host outside the mapping",
      `${P}\nredirects: [{ from: www.example.com, to: evil.example.org }]`,
      {
        "domains.redirects[0].to": "A host can redirect only to the primary. Write orders.example.com.",
      },
    ],
    [
      "a redirect to an alias",
      `${P}\naliases: [a.example.com]\nredirects: [{ from: www.example.com, to: a.example.com }]`,
      {
        "domains.redirects[0].to": "A host can redirect only to the primary. Write orders.example.com.",
      },
    ],
    [
      "a chain of redirects",
      `${P}\nredirects: [{ from: a.example.com, to: b.example.com }, { from: b.example.com, to: orders.example.com }]`,
      {
        "domains.redirects[0].to": "A host can redirect only to the primary. Write orders.example.com.",
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
      "a redirect into a loop",
      `${P}\nredirects: [{ from: x.example.com, to: a.example.com }, { from: a.example.com, to: a.example.com }]`,
      {
        "domains.redirects[0].to": "A host can redirect only to the primary. Write orders.example.com.",
        "domains.redirects[1].to":
          "a.example.com redirects to itself. Redirect it to the primary, orders.example.com.",
      },
    ],
    [
      "many problems at once",
      "primary: co.uk\naliases: ['*.example.com', a.example.com, a.example.com]\nredirects: [{ from: b.example.com, to: b.example.com, status: 302 }]\nextra: 1",
      {
        "domains.primary": suffix("co.uk"),
        "domains.aliases[0]": "Wildcards are not supported. List each host by its full name.",
        "domains.redirects[0].status": PERMANENT,
        "domains.extra": "Unknown key. Remove it, or use one of: primary, aliases, redirects.",
        "domains.aliases[2]":
          "a.example.com is listed twice, first at domains.aliases[1]. Remove one of the two.",
        "domains.redirects[0].to": "b.example.com redirects to itself. Redirect it to the primary.",
      },
    ],
  ])("a mapping with %s is rejected with the path and the fix", (_, yaml, expected) => {
    const parsed = parse(yaml);
    const issues = parsed.ok ? [] : parsed.issues;
    expect(Object.fromEntries(issues.map(({ path, message }) => [path, message]))).toEqual(expected);
    expect(issues).toHaveLength(Object.keys(expected).length);
  });
});
