import * as pulumi from "@pulumi/pulumi";
import { afterAll, expect, test, vi } from "vitest";
import { startDnsServer } from "../support/dns-server.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const registered: pulumi.runtime.MockResourceArgs[] = [];
await pulumi.runtime.setMocks(
  {
    newResource(resource) {
      registered.push(resource);
      return { id: `${resource.name}-id`, state: { ...resource.inputs, ...STATES[resource.type] } };
    },
    call: ({ token, inputs }) =>
      token === "cloudflare:index/getZones:getZones" && inputs["name"] === "example.com"
        ? { results: [{ id: "zone", name: "example.com", status: "active", type: "full", nameServers: [] }] }
        : { results: [] },
  },
  "shop",
  "test",
);
const STATES: Readonly<Record<string, object>> = {
  "aws:lambda/function:Function": {
    arn: "arn:aws:lambda:eu-central-1:1:function:f",
    responseStreamingInvokeArn: "s",
  },
  "aws:acm/certificate:Certificate": {
    domainValidationOptions: [
      { resourceRecordName: "_0.orders.example.com.", resourceRecordValue: "_1.aws." },
    ],
  },
};
const { deployStoreOrders } = await import("../../infra/store-orders.ts");
const { defineDomains } = await import("../../lib/domains/parse.ts");
afterAll(() => pulumi.runtime.disconnect());

const dns = await startDnsServer("");
afterAll(() => dns[Symbol.asyncDispose]());

test("the whole service can be unit-tested under the mocks of Pulumi", async () => {
  const domains = defineDomains({ primary: "orders.example.com" }, { plan: "pro" });
  const { baseUrl, domainStatus } = await deployStoreOrders("orders", {
    plan: "pro",
    domains,
    resolver: dns.address,
  });
  await pulumi.runtime.disconnect();
  expect(await promiseOf(baseUrl)).toBe("https://orders.example.com/v1");
  expect(await promiseOf(pulumi.output(domainStatus))).toMatchObject({
    "orders.example.com": { role: "primary", state: "live" },
  });
  const names = registered.map(({ name }) => name);
  expect(names).toContain("orders-list-function");
  expect(names).toContain("orders-orders-example-com-route");
});

function promiseOf<T>(output: pulumi.Output<T>): Promise<T> {
  return new Promise((resolve) => output.apply(resolve));
}
