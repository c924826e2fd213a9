import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { InvalidInputError } from "../../lib/core/errors.ts";
import { deserializeDomains, hostsOf, serializeDomains } from "../../lib/domains/mapping.ts";
import { defineDomains, domainsJsonSchema, parseDomainsFile } from "../../lib/domains/parse.ts";
import { hostTable } from "../../lib/domains/routing.ts";

const context = { plan: "pro" } as const;

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
      { domains: "It is missing. Write a mapping with 'primary', or {} to have no custom host." },
    ],
    [
      "with the mapping at the top level",
      "primary: orders.example.com",
      {
        domains: "It is missing. Write a mapping with 'primary', or {} to have no custom host.",
        primary: "Unknown key. Remove it, or use one of: domains.",
      },
    ],
    [
      "with an invalid nested field",
      "domains: { primary: orders.example.com, redirects: [{ from: a.example.com, to: orders.example.com }, { from: 'b:80', to: x }] }",
      {
        "domains.redirects[1].from":
          "This contains a port. Write only the hostname, such as orders.example.com.",
        "domains.redirects[1].to":
          "A name with a single label is not public. Write the full name, such as orders.example.com.",
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

test("the JSON Schema of a mapping describes it as it is written, where everything may be left out", () => {
  const { properties, ...schema } = domainsJsonSchema() as { readonly properties: object };
  expect(Object.keys(properties)).toEqual(["primary", "aliases", "redirects"]);
  expect(schema).toMatchObject({ type: "object", additionalProperties: false });
  expect(schema).not.toHaveProperty("required");
});
