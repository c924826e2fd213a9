import * as pulumi from "@pulumi/pulumi";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { startDnsServer } from "../support/dns-server.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const registered: pulumi.runtime.MockResourceArgs[] = [];
/** The mocks of Pulumi's documentation. Whatever a provider adds is undefined. */
await pulumi.runtime.setMocks(
  {
    newResource(resource) {
      registered.push(resource);
      return { id: `${resource.name}-id`, state: resource.inputs };
    },
    call: ({ inputs }) => inputs,
  },
  "shop",
  "test",
);
const { deployStoreOrders } = await import("../../infra/store-orders.ts");
const { defineDomains } = await import("../../lib/domains/parse.ts");

const dns = await startDnsServer("");
afterAll(() => dns[Symbol.asyncDispose]());
beforeEach(() => {
  registered.length = 0;
});

const HOST = "orders.example.com";
const domains = defineDomains(
  { primary: HOST, redirects: [{ from: `www.${HOST}`, to: HOST, status: 301 }] },
  { plan: "pro" },
);
const hosts = { plan: "pro", domains, resolver: dns.address } as const;
const everything = {
  events: { bus: "default" },
  waf: { requestsPerFiveMinutes: 3_000 },
  accessLogs: "manage",
  alarmEmail: "ops@example.com",
} as const;

test.each([
  ["no setting", {}, "-tables-orders"],
  ["every component, and DNS at Cloudflare", { ...hosts, ...everything }, "-orders-example-com-route"],
  ["DNS managed elsewhere", { ...hosts, dns: "manual" }, "-orders-example-com-mapping"],
] as const)("a program with %s runs under the mocks of Pulumi's documentation", async (_, settings, last) => {
  const { baseUrl, domainStatus } = await deployStoreOrders("orders", settings);
  await pulumi.runtime.disconnect();
  const outputs = await new Promise((resolve) => pulumi.output([baseUrl, domainStatus]).apply(resolve));
  expect(outputs).toHaveLength(2);
  expect(registered.map(({ name }) => name)).toContain(`orders${last}`);
});
