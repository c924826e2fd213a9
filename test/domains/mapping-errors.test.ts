import { describe, test } from "vitest";
import { expectIssues } from "./mapping-errors-fixture.ts";

const P = "primary: orders.example.com";

describe("an invalid mapping", () => {
  const SUCH_AS = "Write a hostname such as orders.example.com.";
  const MAPPING = "Write a mapping with 'primary', or {} to have no custom host.";
  const PRIMARY_NEEDED = "Write the primary, such as orders.example.com: aliases and redirects need one.";
  const PERMANENT = "Write 301, or omit it: redirects are permanent.";
  const suffix = (name: string) =>
    `${name} is a public suffix, under which others register names. Use a name of your own, such as orders.example.com.`;

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
      { "domains.alias": "Unknown key. Did you mean 'aliases'? Otherwise remove it." },
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
      "many conflicts at once",
      `${P}\naliases: [a.example.com, a.example.com]\nredirects: [{ from: b.example.com, to: b.example.com }]`,
      {
        "domains.aliases[1]":
          "a.example.com is listed twice, first at domains.aliases[0]. Remove one of the two.",
        "domains.redirects[0].to":
          "b.example.com redirects to itself. Redirect it to the primary, orders.example.com.",
      },
    ],
    [
      "many problems at once",
      "primary: co.uk\naliases: ['*.example.com', a.example.com]\nredirects: [{ from: b.example.com, to: c.example.com, status: 302 }]\nextra: 1",
      {
        "domains.primary": suffix("co.uk"),
        "domains.aliases[0]": "Wildcards are not supported. List each host by its full name.",
        "domains.redirects[0].status": PERMANENT,
        "domains.extra": "Unknown key. Remove it, or use one of: primary, aliases, redirects.",
      },
    ],
  ])("a mapping with %s is rejected with the path and the fix", (_, yaml, expected) =>
    expectIssues(yaml, expected),
  );
});

test("a list of more than 500 hosts is rejected, and one of 500 is not", () => {
  const hosts = (count: number) => Array.from({ length: count }, (_, index) => `h${index}.example.com`);
  const aliases = (count: number) => `${P}\naliases: [${hosts(count).join(", ")}]`;
  const redirects = (count: number) =>
    `${P}\nredirects: [${hosts(count).map((from) => `{ from: ${from}, to: orders.example.com }`)}]`;
  for (const list of [aliases, redirects]) expectIssues(list(500), {});
  const message = (list: string) => `There can be at most 500 ${list}. Remove some of them.`;
  expectIssues(aliases(501), { "domains.aliases": message("aliases") });
  expectIssues(redirects(501), { "domains.redirects": message("redirects") });
});
