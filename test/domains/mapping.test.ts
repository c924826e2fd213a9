import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { deserializeDomains, hostsOf, serializeDomains } from "../../lib/domains/mapping.ts";
import { defineDomains, parseDomains, parseDomainsFile } from "../../lib/domains/parse.ts";
import { hostTable } from "../../lib/domains/routing.ts";
import { domainsFileJsonSchema, domainsJsonSchema } from "../../lib/domains/schema.ts";
import { InvalidInputError } from "../../lib/errors.ts";
import { PLANS } from "../../lib/plans/plan-limits.ts";

const PLATFORM = "d-1a2b3c.execute-api.eu-west-1.example.net";
const context = { plan: "pro", platformHost: PLATFORM } as const;

/** Parses the lines below `domains:` of a domains file. */
function parse(yaml: string) {
  return parseDomains(parseYaml(yaml), context);
}

const P = "primary: orders.example.com";

describe("a valid mapping", () => {
  const mapping = (rest: object = {}) => ({
    primary: "orders.example.com",
    aliases: [],
    redirects: [],
    ...rest,
  });
  const redirect = (from: string) => ({ from, to: "orders.example.com", status: 301 }) as const;

  test.each<[string, string, object]>([
    ["can have only a primary", P, mapping()],
    ["can be empty, for no custom host", "{}", { aliases: [], redirects: [] }],
    ["can have only empty lists", "aliases: []\nredirects: []", { aliases: [], redirects: [] }],
    ["can be in any case", "primary: Orders.EXAMPLE.com", mapping()],
    ["can have a trailing dot", "primary: orders.example.com.", mapping()],
    ["can name an apex", "primary: example.com", mapping({ primary: "example.com" })],
    [
      "can name an apex below a suffix of two labels",
      "primary: example.co.uk",
      mapping({ primary: "example.co.uk" }),
    ],
    ["can name a host below a private suffix", "primary: shop.uk.com", mapping({ primary: "shop.uk.com" })],
    [
      "can name a host with many labels",
      "primary: v1.eu.orders.example.com",
      mapping({ primary: "v1.eu.orders.example.com" }),
    ],
    [
      "can name a host that starts with a digit",
      "primary: 1.2.3.4.example.com",
      mapping({ primary: "1.2.3.4.example.com" }),
    ],
    [
      "can name a host whose labels look like a special-use name",
      "primary: local.test.example.com",
      mapping({ primary: "local.test.example.com" }),
    ],
    [
      "can name a host whose domain only ends like the platform's",
      "primary: orders.myamazonaws.com",
      mapping({ primary: "orders.myamazonaws.com" }),
    ],
    [
      "has internationalised names as punycode",
      "primary: Bücher.Example.com",
      mapping({ primary: "xn--bcher-kva.example.com" }),
    ],
    [
      "can be spelled in punycode",
      "primary: XN--BCHER-KVA.example.com",
      mapping({ primary: "xn--bcher-kva.example.com" }),
    ],
    ["keeps a sharp s distinct from ss", "primary: straße.de", mapping({ primary: "xn--strae-oqa.de" })],
    [
      "can be spelled with ideographic dots",
      "primary: 注文。例え。jp",
      mapping({ primary: "xn--7dv27n.xn--r8jz45g.jp" }),
    ],
    [
      "can name an internationalised top-level domain",
      "primary: заказы.рф",
      mapping({ primary: "xn--80aatcn8h.xn--p1ai" }),
    ],
    [
      "can have a label of 63 characters",
      `primary: ${"a".repeat(63)}.example.com`,
      mapping({ primary: `${"a".repeat(63)}.example.com` }),
    ],
    ["can have aliases", `${P}\naliases: [API.example.com]`, mapping({ aliases: ["api.example.com"] })],
    ["can have empty lists", `${P}\naliases: []\nredirects: []`, mapping()],
    [
      "has 301 as the default status of a redirect",
      `${P}\nredirects: [{ from: www.example.com, to: orders.example.com }]`,
      mapping({ redirects: [redirect("www.example.com")] }),
    ],
    [
      "compares 'to' with the primary in any spelling",
      `${P}\nredirects: [{ from: WWW.example.com., to: ORDERS.example.com., status: 301 }]`,
      mapping({ redirects: [redirect("www.example.com")] }),
    ],
    [
      "can have many redirects",
      `${P}\nredirects: [{ from: a.example.com, to: orders.example.com }, { from: b.example.org, to: orders.example.com }]`,
      mapping({ redirects: [redirect("a.example.com"), redirect("b.example.org")] }),
    ],
    [
      "can name a sibling of the platform's own host",
      "primary: other.execute-api.eu-west-1.example.net",
      mapping({ primary: "other.execute-api.eu-west-1.example.net" }),
    ],
  ])("a valid mapping %s", (_, yaml, expected) => {
    expect(parse(yaml)).toEqual({ ok: true, domains: expected });
  });
});

describe("the plan of the project", () => {
  test("an empty mapping needs no plan", () => {
    expect(parseDomains({}, { plan: "free" })).toEqual({ ok: true, domains: { aliases: [], redirects: [] } });
    expect(parseDomains({})).toEqual({ ok: true, domains: { aliases: [], redirects: [] } });
  });

  test("the plan defaults to free", () => {
    expect(parseDomains({ primary: "orders.example.com" })).toMatchObject({ issues: [{ path: "domains" }] });
  });

  test.each(PLANS.filter((plan) => plan !== "free"))("the plan %s allows domains", (plan) => {
    expect(parseDomains(parseYaml(P), { plan })).toHaveProperty("domains");
  });

  test("the plan free is rejected together with every other problem", () => {
    expect(parseDomains({ primary: "localhost" }, { plan: "free" })).toEqual({
      ok: false,
      code: "invalid_domains",
      issues: [
        {
          path: "domains",
          message:
            "Custom domains need the plan 'pro' or above, but the plan is 'free'. Change the plan, or remove the domains.",
        },
        {
          path: "domains.primary",
          message:
            "A name with a single label is not public. Write the full name, such as orders.example.com.",
        },
      ],
    });
  });
});

describe("a domains file", () => {
  test("a domains file has the mapping under 'domains'", () => {
    const file = `
domains:
  primary: orders.example.com
  redirects:
    - { from: www.orders.example.com, to: orders.example.com, status: 301 }
`;
    expect(parseDomainsFile(parseYaml(file), context)).toEqual({
      ok: true,
      domains: {
        primary: "orders.example.com",
        aliases: [],
        redirects: [{ from: "www.orders.example.com", to: "orders.example.com", status: 301 }],
      },
    });
  });

  test.each<[string, string, Record<string, string>]>([
    ["that is empty", "", { "": "Write the mapping under 'domains'." }],
    [
      "without the mapping",
      "{}",
      { domains: "Write a mapping with 'primary', or {} to have no custom host." },
    ],
    [
      "with the mapping at the top level",
      "primary: orders.example.com",
      {
        domains: "Write a mapping with 'primary', or {} to have no custom host.",
        primary: "Unknown key. Remove it, or use one of: domains.",
      },
    ],
    [
      "with an invalid nested field",
      "domains: { primary: orders.example.com, redirects: [{ from: a.example.com, to: orders.example.com }, { from: 'b:80', to: x }] }",
      {
        "domains.redirects[1].from": "This contains a port. Write only the hostname.",
        "domains.redirects[1].to":
          "A name with a single label is not public. Write the full name, such as orders.example.com.",
      },
    ],
    [
      "with the platform's own host",
      `domains: { primary: ${PLATFORM} }`,
      {
        "domains.primary": `${PLATFORM} is the platform's own host, which always serves. Write a host of your own.`,
      },
    ],
  ])("a domains file %s is rejected with the path in the file", (_, yaml, expected) => {
    const parsed = parseDomainsFile(parseYaml(yaml), context);
    const issues = parsed.ok ? [] : parsed.issues;
    expect(Object.fromEntries(issues.map(({ path, message }) => [path, message]))).toEqual(expected);
  });
});

describe("defineDomains", () => {
  test("defineDomains returns the validated mapping, with the default status", () => {
    const domains = defineDomains(
      { primary: "Orders.example.com", redirects: [{ from: "www.example.com", to: "orders.example.com." }] },
      { plan: "pro" },
    );
    expect(hostsOf(domains)).toEqual([
      { host: "orders.example.com", role: "primary" },
      { host: "www.example.com", role: "redirect" },
    ]);
    expect(domains.redirects).toEqual([{ from: "www.example.com", to: "orders.example.com", status: 301 }]);
  });

  test("defineDomains throws every problem with its path", () => {
    let thrown: unknown;
    try {
      defineDomains({ primary: "https://a.example.com", aliases: ["b.local"] }, { plan: "free" });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(InvalidInputError);
    expect((thrown as InvalidInputError).issues.map(({ path }) => path)).toEqual([
      "domains",
      "domains.primary",
      "domains.aliases[0]",
    ]);
  });

  test("an empty mapping has no hosts", () => {
    expect(hostsOf(defineDomains({}))).toEqual([]);
  });

  test("a mapping that has not been validated is not assignable to DomainMapping", () => {
    const domains = defineDomains({});
    // @ts-expect-error: a literal has not been validated
    hostTable({ aliases: [], redirects: [] });
    // @ts-expect-error: a changed copy has not been validated
    hostTable({ ...domains, aliases: ["orders.local"] });
    hostTable(domains);
  });

  test.each([
    [{}],
    [{ primary: "orders.example.com" }],
    [
      {
        primary: "orders.example.com",
        aliases: ["buy.example.com", "shop.example.com"],
        redirects: [
          { from: "www.example.com", to: "orders.example.com" },
          { from: "example.com", to: "orders.example.com" },
        ],
      },
    ],
  ])("the serialized mapping %j is read back unchanged", (mapping) => {
    const domains = defineDomains(mapping, { plan: "pro" });
    expect(deserializeDomains(serializeDomains(domains))).toStrictEqual(domains);
  });
});

describe("the JSON Schema", () => {
  test("domainsJsonSchema describes the mapping as it is written", () => {
    expect(domainsJsonSchema()).toMatchObject({
      type: "object",
      properties: {
        primary: { type: "string" },
        aliases: { type: "array", items: { type: "string" } },
        redirects: {
          items: {
            properties: { status: { const: 301, default: 301 } },
            required: ["from", "to"],
            additionalProperties: false,
          },
        },
      },
      additionalProperties: false,
    });
    expect(domainsJsonSchema()).not.toHaveProperty("required");
  });

  test("domainsFileJsonSchema requires the key 'domains'", () => {
    expect(domainsFileJsonSchema()).toMatchObject({ required: ["domains"], additionalProperties: false });
  });
});

describe("generated mappings", () => {
  const plain = ["a.example.com", "b.example.com", "c.example.org", "xn--bcher-kva.example.com"];
  const spelled = fc.constantFrom(
    ...plain,
    "A.example.com.",
    "bücher.example.com",
    "B.EXAMPLE.COM",
    "localhost",
  );
  const normalize = (host: string) =>
    host.toLowerCase().replace(/\.$/, "").replace("bücher", "xn--bcher-kva");
  const mapping = fc.record({
    primary: spelled,
    aliases: fc.array(spelled, { maxLength: 2 }),
    redirects: fc.array(fc.record({ from: spelled, to: spelled }), { maxLength: 3 }),
  });
  const coherent = mapping.map((value) => ({
    ...value,
    redirects: value.redirects.map(({ from }) => ({ from, to: value.primary })),
  }));

  test("a mapping is valid exactly if no host is listed twice and every redirect leads to the primary", () => {
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof(mapping, coherent), ({ primary, aliases, redirects }) => {
        const hosts = [primary, ...aliases, ...redirects.map(({ from }) => from)].map(normalize);
        const valid =
          new Set(hosts).size === hosts.length &&
          redirects.every(({ to }) => normalize(to) === normalize(primary)) &&
          !hosts.includes("localhost");
        const parsed = parseDomains({ primary, aliases, redirects }, context);
        if (parsed.ok) accepted++;
        expect(parsed.ok).toBe(valid);
      }),
      { numRuns: 500 },
    );
    expect(accepted).toBeGreaterThan(20);
  });

  test("a valid mapping has no loop, no duplicate and no redirect from the primary", () => {
    fc.assert(
      fc.property(fc.oneof(mapping, coherent), (value) => {
        const parsed = parseDomains(value, context);
        if (!parsed.ok) return;
        const { primary = "", aliases, redirects } = parsed.domains;
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

  test("parsing a parsed mapping returns the same mapping", () => {
    fc.assert(
      fc.property(coherent, (value) => {
        const parsed = parseDomains(value, context);
        if (parsed.ok) expect(parseDomains(parsed.domains, context)).toEqual(parsed);
      }),
    );
  });

  test("parsing any value returns a mapping or issues with paths, and never throws", () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), (value) => {
        const parsed = parseDomains(value, context);
        if (!parsed.ok) for (const { path } of parsed.issues) expect(path).toMatch(/^domains/);
      }),
    );
  });
});
