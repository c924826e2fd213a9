import * as pulumi from "@pulumi/pulumi";
import { afterAll, beforeEach, describe, expect, test, vi } from "vitest";
import { startDnsServer } from "../support/dns-server.ts";

// Most of the time would be bundling the functions and collecting stack traces, one for each resource and promise.
Object.assign(pulumi.Resource, { stackTrace: () => [] });
const { stackTraceLimit } = Error;
Error.stackTraceLimit = 0;
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});
vi.mock("esbuild", () => ({ build: async () => ({ outputFiles: [{ path: "/entry.mjs", text: "" }] }) }));

/** What the provider adds, by type of resource: nothing in the mocks of Pulumi's documentation, where it is undefined. */
let states: Readonly<Record<string, object>> = {};
let zones: readonly object[] | undefined;
const registered: string[] = [];
await pulumi.runtime.setMocks(
  {
    newResource({ name, type, inputs }) {
      registered.push(name);
      return { id: `${name}-id`, state: { ...inputs, ...states[type] } };
    },
    call: ({ token, inputs }) =>
      zones === undefined
        ? inputs
        : { results: token.endsWith(":getZones") && inputs["name"] === "example.com" ? zones : [] },
  },
  "shop",
  "test",
);
const { deployStoreOrders } = await import("../../infra/store-orders.ts");
const { defineDomains } = await import("../../lib/domains/parse.ts");
afterAll(() => pulumi.runtime.disconnect());

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
  accessLogs: "account",
  alarmEmail: "ops@example.com",
} as const;

/** Deploys the service, and waits for its outputs. */
async function deploy(settings: Parameters<typeof deployStoreOrders>[1]) {
  const { baseUrl, domainStatus } = await deployStoreOrders("orders", settings);
  await pulumi.runtime.disconnect();
  return new Promise((resolve) => pulumi.output({ baseUrl, domainStatus }).apply(resolve));
}

describe("under the mocks of Pulumi's documentation", () => {
  test.each([
    ["no setting", {}, "-tables-orders"],
    ["every component, and DNS at Cloudflare", { ...hosts, ...everything }, "-orders-example-com-route"],
    ["DNS at Route 53", { ...hosts, dns: "route53" }, "-orders-example-com-route"],
    ["DNS managed elsewhere", { ...hosts, dns: "manual" }, "-orders-example-com-mapping"],
  ] as const)("a program with %s runs", async (_, settings, last) => {
    expect(await deploy(settings)).toHaveProperty("baseUrl");
    expect(registered).toContain(`orders${last}`);
  });
});

test("under mocks with what the providers add, the whole service can be unit-tested", async () => {
  zones = [{ id: "zone", name: "example.com", status: "active", type: "full", nameServers: [] }];
  const validation = { resourceRecordName: "_0.orders.example.com.", resourceRecordValue: "_1.aws." };
  states = {
    "aws:lambda/function:Function": { arn: "arn:aws:lambda:eu-central-1:1:function:f" },
    "aws:acm/certificate:Certificate": { domainValidationOptions: [validation] },
  };
  expect(await deploy(hosts)).toMatchObject({
    baseUrl: "https://orders.example.com/v1",
    domainStatus: { [HOST]: { role: "primary", state: "live" } },
  });
  expect(registered).toContain("orders-list-function");
});
