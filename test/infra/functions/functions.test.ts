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
  const { STORE_ORDERS_CORS_ORIGINS: origins } = functionEnvironment(withDefaults({ corsOrigins }), STORE);
  expect(JSON.parse(origins ?? "")).toEqual(corsOrigins);
  expect(functionEnvironment(withDefaults({}), STORE)).not.toHaveProperty("STORE_ORDERS_CORS_ORIGINS");
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

  test("too many redirects are an error with the number that fits", () => {
    const [, fitting = ""] =
      /so (\d+) of the 200 redirects fit/.exec(messageOf(() => withRedirects(200))) ?? [];
    expect(messageOf(() => withRedirects(200))).toBe(
      `The environment of a Lambda function has at most 4096 bytes, so ${fitting} of the 200 redirects fit. Remove ${200 - Number(fitting)} redirects from 'domains'.`,
    );
    expect(Number(fitting)).toBeGreaterThan(120);
    withRedirects(Number(fitting));
    expect(() => withRedirects(Number(fitting) + 1)).toThrow();
  });
});

function messageOf(action: () => unknown): string {
  try {
    action();
    return "";
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
}
