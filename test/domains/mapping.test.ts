import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { parseDomains } from "../../lib/domains/parse.ts";
import { PLANS } from "../../lib/plans/plan-limits.ts";

const context = { plan: "pro" } as const;

test.each([
  ["Orders.EXAMPLE.com", "orders.example.com"],
  ["orders.example.com.", "orders.example.com"],
  ["example.com", "example.com"],
  ["example.co.uk", "example.co.uk"],
  ["shop.uk.com", "shop.uk.com"],
  ["v1.eu.orders.example.com", "v1.eu.orders.example.com"],
  ["1.2.3.4.example.com", "1.2.3.4.example.com"],
  ["orders.1shop", "orders.1shop"],
  ["orders.shop1", "orders.shop1"],
  // Its labels look like a special-use name, or it only ends like a name of the platform.
  ["local.test.example.com", "local.test.example.com"],
  ["orders.myamazonaws.com", "orders.myamazonaws.com"],
  ["Bücher.Example.com", "xn--bcher-kva.example.com"],
  ["XN--BCHER-KVA.example.com", "xn--bcher-kva.example.com"],
  ["straße.de", "xn--strae-oqa.de"],
  ["注文。例え。jp", "xn--7dv27n.xn--r8jz45g.jp"],
  ["заказы.рф", "xn--80aatcn8h.xn--p1ai"],
  [`${"a".repeat(63)}.example.com`, `${"a".repeat(63)}.example.com`],
])("the host %s is valid in every role, as %s", (written, primary) => {
  const none = { aliases: [], redirects: [] };
  expect(parseDomains({ primary: written }, context)).toEqual({ ok: true, domains: { ...none, primary } });
  const other = "other.example.org";
  const beside = { primary: other, aliases: [written], redirects: [] };
  expect(parseDomains(beside, context)).toMatchObject({ ok: true, domains: { aliases: [primary] } });
  const redirects = [{ from: written, to: "OTHER.example.org." }];
  expect(parseDomains({ primary: other, redirects }, context)).toEqual({
    ok: true,
    domains: { ...none, primary: other, redirects: [{ from: primary, to: other, status: 301 }] },
  });
});

test.each(["{}", "{ aliases: [], redirects: [] }"])("the mapping %s has no custom host", (yaml) => {
  const domains = { aliases: [], redirects: [] };
  for (const plan of ["free", "pro"] as const)
    expect(parseDomains(parseYaml(yaml), { plan })).toEqual({ ok: true, domains });
  expect(parseDomains(parseYaml(yaml))).toEqual({ ok: true, domains });
});

describe("the plan of the project", () => {
  test("the plan defaults to free", () => {
    expect(parseDomains({ primary: "orders.example.com" })).toMatchObject({ issues: [{ path: "domains" }] });
  });

  test.each(PLANS.filter((plan) => plan !== "free"))("the plan %s allows domains", (plan) => {
    expect(parseDomains({ primary: "orders.example.com" }, { plan })).toHaveProperty("domains");
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
