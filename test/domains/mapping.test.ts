import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { type DomainConfig, parseDomainConfig, parseDomainsFile } from "../../lib/domains/mapping.ts";
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
