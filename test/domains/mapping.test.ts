import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { parseDomains } from "../../lib/domains/parse.ts";
import { PLANS } from "../../lib/plans/plan-limits.ts";

const context = { plan: "pro" } as const;

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
      "can name a host whose last label has a digit",
      "primary: orders.1shop\naliases: [orders.shop1]",
      mapping({ primary: "orders.1shop", aliases: ["orders.shop1"] }),
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
