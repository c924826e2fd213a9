import { describe, expect, test } from "vitest";
import { withDefaults } from "../../../infra/config/settings.ts";
import { functionEnvironment, MAX_ENVIRONMENT_BYTES } from "../../../infra/functions/functions.ts";
import { deserializeDomains } from "../../../lib/domains/mapping.ts";
import { defineDomains } from "../../../lib/domains/parse.ts";
import { hostTable } from "../../../lib/domains/routing.ts";
import { PLATFORM_HOST } from "../../../lib/lambda/event.ts";

const STORE = { STORE_ORDERS_DYNAMODB: "orders" };

/** Routes a request as the functions do. */
function route(environment: Readonly<Record<string, string>>, host: string) {
  const domains = deserializeDomains(environment["STORE_ORDERS_DOMAINS"] ?? "");
  return hostTable(domains, [PLATFORM_HOST]).route(host, "/").action;
}

test("the functions of a stack with domains serve these and the API Gateway hostname", () => {
  const domains = defineDomains({ primary: "orders.example.com" }, { plan: "pro" });
  const environment = functionEnvironment(withDefaults({ plan: "pro", domains }), STORE);
  expect(route(environment, "orders.example.com")).toBe("serve");
  expect(route(environment, PLATFORM_HOST)).toBe("serve");
  expect(route(environment, "www.example.com")).toBe("misdirected");
});

test.each([
  ["without domains", {}],
  ["with an empty mapping", { domains: defineDomains({}) }],
])("the functions of a stack %s serve only the API Gateway hostname", (_case, settings) => {
  const environment = functionEnvironment(withDefaults(settings), STORE);
  expect(route(environment, PLATFORM_HOST)).toBe("serve");
  expect(route(environment, "orders.example.com")).toBe("misdirected");
});

test("the origins of web pages reach the functions, and none by default", () => {
  const corsOrigins = ["https://shop.example.com"];
  const optionsOf = (settings: Parameters<typeof withDefaults>[0]) =>
    JSON.parse(functionEnvironment(withDefaults(settings), STORE)["STORE_ORDERS_OPTIONS"] ?? "");
  expect(optionsOf({ corsOrigins })).toMatchObject({ corsOrigins });
  expect(optionsOf({})).not.toHaveProperty("corsOrigins");
});

test("the preview of a version reaches the functions, and none by default", () => {
  const environmentOf = (settings: Parameters<typeof withDefaults>[0]) =>
    functionEnvironment(withDefaults(settings), STORE)["STORE_ORDERS_PREVIEW"];
  expect([environmentOf({ preview: "v2" }), environmentOf({})]).toEqual(["v2", undefined]);
});

describe("the size of the environment", () => {
  const withRedirects = (count: number) => {
    const redirects = Array.from({ length: count }, (_, index) => ({
      from: `shop-number-${index}.example.com`,
      to: "orders.example.com",
    }));
    const domains = defineDomains({ primary: "orders.example.com", redirects }, { plan: "pro" });
    return functionEnvironment(withDefaults({ plan: "pro", domains }), {
      STORE_ORDERS_DYNAMODB: "store-orders-production",
    });
  };

  test("120 redirects fit, which is the quota of API Gateway for custom domains", () => {
    expect(JSON.stringify(withRedirects(120)).length).toBeLessThanOrEqual(MAX_ENVIRONMENT_BYTES);
  });

  test("too many redirects are an error with the bytes that are too many", () => {
    expect(() => withRedirects(200)).toThrow(
      /at most 4096 bytes, but the domains, servers and plans need \d+ more\. Use fewer redirects, aliases, servers or plans\.$/,
    );
  });
});
