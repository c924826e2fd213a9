import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { type DomainConfig, parseDomainConfig, parseDomainsFile } from "../../lib/domains/domain-config.ts";
import { PLANS } from "../../lib/plans/plan-limits.ts";

const PLATFORM = "d-1a2b3c.execute-api.eu-west-1.example.net";
const context = { plan: "pro", platformHost: PLATFORM } as const;

/** Reads the lines below `domains:` as a domains file has them. */
function read(yaml: string) {
  return parseDomainConfig(parseYaml(yaml), context);
}

const P = "primary: orders.example.com";

describe("a configuration that is right", () => {
  const config = (rest: Partial<DomainConfig> = {}): DomainConfig => ({
    primary: "orders.example.com",
    aliases: [],
    redirects: [],
    ...rest,
  });
  const redirect = (from: string) => ({ from, to: "orders.example.com", status: 301 }) as const;

  test.each<[string, string, DomainConfig]>([
    ["has a primary alone", P, config()],
    ["is read in any case", "primary: Orders.EXAMPLE.com", config()],
    ["is read with a trailing dot", "primary: orders.example.com.", config()],
    ["may be an apex", "primary: example.com", config({ primary: "example.com" })],
    ["may be an apex below a long suffix", "primary: example.co.uk", config({ primary: "example.co.uk" })],
    ["may stand below a private suffix", "primary: shop.uk.com", config({ primary: "shop.uk.com" })],
    [
      "may have a deep host",
      "primary: v1.eu.orders.example.com",
      config({ primary: "v1.eu.orders.example.com" }),
    ],
    ["may begin with a digit", "primary: 1.2.3.4.example.com", config({ primary: "1.2.3.4.example.com" })],
    ["may use a reserved domain", "primary: orders.test", config({ primary: "orders.test" })],
    [
      "has internationalised names as punycode",
      "primary: Bücher.Example.com",
      config({ primary: "xn--bcher-kva.example.com" }),
    ],
    [
      "may be written in punycode",
      "primary: XN--BCHER-KVA.example.com",
      config({ primary: "xn--bcher-kva.example.com" }),
    ],
    ["keeps a sharp s apart from ss", "primary: straße.de", config({ primary: "xn--strae-oqa.de" })],
    [
      "may be written with ideographic dots",
      "primary: 注文。例え。jp",
      config({ primary: "xn--7dv27n.xn--r8jz45g.jp" }),
    ],
    ["may name an IDN country", "primary: заказы.рф", config({ primary: "xn--80aatcn8h.xn--p1ai" })],
    [
      "may have a label of 63 characters",
      `primary: ${"a".repeat(63)}.example.com`,
      config({ primary: `${"a".repeat(63)}.example.com` }),
    ],
    ["may have aliases", `${P}\naliases: [API.example.com]`, config({ aliases: ["api.example.com"] })],
    ["may have empty lists", `${P}\naliases: []\nredirects: []`, config()],
    [
      "has 301 as the default of a redirect",
      `${P}\nredirects: [{ from: www.example.com, to: orders.example.com }]`,
      config({ redirects: [redirect("www.example.com")] }),
    ],
    [
      "compares 'to' with the primary in its one form",
      `${P}\nredirects: [{ from: WWW.example.com., to: ORDERS.example.com., status: 301 }]`,
      config({ redirects: [redirect("www.example.com")] }),
    ],
    [
      "may have many redirects",
      `${P}\nredirects: [{ from: a.example.com, to: orders.example.com }, { from: b.example.org, to: orders.example.com }]`,
      config({ redirects: [redirect("a.example.com"), redirect("b.example.org")] }),
    ],
    [
      "may name a host below the platform's name of another project",
      "primary: other.execute-api.eu-west-1.example.net",
      config({ primary: "other.execute-api.eu-west-1.example.net" }),
    ],
  ])("%s (decision 18)", (_, yaml, expected) => {
    expect(read(yaml)).toEqual({ config: expected });
  });
});

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

describe("the plan (decision 19)", () => {
  test.each(PLANS.filter((plan) => plan !== "free"))("%s may have domains", (plan) => {
    expect(parseDomainConfig(parseYaml(P), { plan })).toHaveProperty("config");
  });

  test("free is refused, along with everything else that is wrong", () => {
    expect(parseDomainConfig({ primary: "localhost" }, { plan: "free" })).toEqual({
      issues: [
        {
          path: "domains",
          message:
            "Custom domains need the plan 'pro' or above, and this is 'free'. Change the plan, or remove the domains.",
        },
        {
          path: "domains.primary",
          message: "A name with one label is not public. Write the whole name, such as orders.example.com.",
        },
      ],
    });
  });
});

describe("a domains file", () => {
  test("has the mapping under 'domains', as in the interface's example", () => {
    const file = `
domains:
  primary: orders.example.com
  redirects:
    - { from: www.orders.example.com, to: orders.example.com, status: 301 }
`;
    expect(parseDomainsFile(parseYaml(file), context)).toEqual({
      config: {
        primary: "orders.example.com",
        aliases: [],
        redirects: [{ from: "www.orders.example.com", to: "orders.example.com", status: 301 }],
      },
    });
  });

  test.each<[string, string, Record<string, string>]>([
    ["empty", "", { "": "Write the mapping under 'domains'." }],
    ["without the mapping", "{}", { domains: "Write a mapping with 'primary'." }],
    [
      "with the mapping at its top",
      "primary: orders.example.com",
      { domains: "Write a mapping with 'primary'.", primary: "Unknown field. Known: domains." },
    ],
    [
      "with a wrong field far inside",
      "domains: { primary: orders.example.com, redirects: [{ from: a.example.com, to: orders.example.com }, { from: 'b:80', to: x }] }",
      {
        "domains.redirects[1].from": "The port does not belong here. Write the hostname alone.",
        "domains.redirects[1].to":
          "A name with one label is not public. Write the whole name, such as orders.example.com.",
      },
    ],
    [
      "with the platform's own host",
      `domains: { primary: ${PLATFORM} }`,
      {
        "domains.primary": `${PLATFORM} is the platform's own host, which serves anyway. Write a host of your own.`,
      },
    ],
  ])("that is %s is refused with the path in the file", (_, yaml, expected) => {
    const parsed = parseDomainsFile(parseYaml(yaml), context);
    const issues = "issues" in parsed ? parsed.issues : [];
    expect(Object.fromEntries(issues.map(({ path, message }) => [path, message]))).toEqual(expected);
  });
});

describe("every configuration", () => {
  const plain = ["a.example.com", "b.example.com", "c.example.org", "xn--bcher-kva.example.com"];
  const written = fc.constantFrom(
    ...plain,
    "A.example.com.",
    "bücher.example.com",
    "B.EXAMPLE.COM",
    "localhost",
  );
  const oneForm = (host: string) => host.toLowerCase().replace(/\.$/, "").replace("bücher", "xn--bcher-kva");
  const mapping = fc.record({
    primary: written,
    aliases: fc.array(written, { maxLength: 2 }),
    redirects: fc.array(fc.record({ from: written, to: written }), { maxLength: 3 }),
  });
  const coherent = mapping.map((value) => ({
    ...value,
    redirects: value.redirects.map(({ from }) => ({ from, to: value.primary })),
  }));

  test("is accepted exactly where no host is named twice and every redirect leads to the primary", () => {
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof(mapping, coherent), ({ primary, aliases, redirects }) => {
        const hosts = [primary, ...aliases, ...redirects.map(({ from }) => from)].map(oneForm);
        const right =
          new Set(hosts).size === hosts.length &&
          redirects.every(({ to }) => oneForm(to) === oneForm(primary)) &&
          !hosts.includes("localhost");
        const parsed = parseDomainConfig({ primary, aliases, redirects }, context);
        if ("config" in parsed) accepted++;
        expect("config" in parsed).toBe(right);
      }),
      { numRuns: 500 },
    );
    expect(accepted).toBeGreaterThan(20);
  });

  test("that is accepted has no loop, no duplicate and no redirect that leaves the primary (decision 18)", () => {
    fc.assert(
      fc.property(fc.oneof(mapping, coherent), (value) => {
        const parsed = parseDomainConfig(value, context);
        if (!("config" in parsed)) return;
        const { primary, aliases, redirects } = parsed.config;
        const hosts = [primary, ...aliases, ...redirects.map(({ from }) => from)];
        expect(new Set(hosts).size).toBe(hosts.length);
        const next = new Map(redirects.map(({ from, to }) => [from, to]));
        for (const { from, to, status } of redirects) {
          expect({ to, status, onward: next.get(to) }).toEqual({
            to: primary,
            status: 301,
            onward: undefined,
          });
          expect(from).not.toBe(to);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("that is accepted is accepted again as it came out, unchanged", () => {
    fc.assert(
      fc.property(coherent, (value) => {
        const parsed = parseDomainConfig(value, context);
        if ("config" in parsed) expect(parseDomainConfig(parsed.config, context)).toEqual(parsed);
      }),
    );
  });

  test("that is anything at all ends in a configuration or in issues with paths, never in an exception", () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), (value) => {
        const parsed = parseDomainConfig(value, context);
        if ("issues" in parsed) for (const { path } of parsed.issues) expect(path).toMatch(/^domains/);
      }),
    );
  });
});
