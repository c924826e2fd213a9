import { expect, test } from "vitest";
import { withDefaults } from "../../../infra/config/settings.ts";
import { functionEnvironment } from "../../../infra/functions/environment.ts";
import { deserializeDomains } from "../../../lib/domains/mapping.ts";
import { defineDomains } from "../../../lib/domains/parse.ts";
import { hostTable, routeHost } from "../../../lib/domains/routing.ts";
import { PLATFORM_HOST } from "../../../lib/lambda/event.ts";

/** Routes a request as the functions do. */
function route(environment: Readonly<Record<string, string>>, host: string) {
  const domains = deserializeDomains(environment["STORE_ORDERS_DOMAINS"] ?? "");
  return routeHost(hostTable(domains, [PLATFORM_HOST]), host, "/").action;
}

test("the functions of a stack with domains serve these and the API Gateway hostname", () => {
  const domains = defineDomains({ primary: "orders.example.com" }, { plan: "pro" });
  const environment = functionEnvironment(withDefaults({ plan: "pro", domains }), "orders");
  expect(route(environment, "orders.example.com")).toBe("serve");
  expect(route(environment, PLATFORM_HOST)).toBe("serve");
  expect(route(environment, "www.example.com")).toBe("misdirected");
});

test.each([
  ["without domains", {}],
  ["with an empty mapping", { domains: defineDomains({}) }],
])("the functions of a stack %s serve only the API Gateway hostname", (_case, settings) => {
  const environment = functionEnvironment(withDefaults(settings), "orders");
  expect(route(environment, PLATFORM_HOST)).toBe("serve");
  expect(route(environment, "orders.example.com")).toBe("misdirected");
});
