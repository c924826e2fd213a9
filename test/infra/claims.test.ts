import * as pulumi from "@pulumi/pulumi";
import { afterAll, describe, expect, test, vi } from "vitest";
import { startDnsServer } from "../support/dns-server.ts";
import { cloud } from "./harness/cloud.ts";
import { ofType, type RunOptions, run } from "./harness/program.ts";
import { success } from "./harness/scenario.ts";

// Most of the time would be bundling the functions and collecting stack traces, one for each resource and promise.
Object.assign(pulumi.Resource, { stackTrace: () => [] });
const { stackTraceLimit } = Error;
Error.stackTraceLimit = 0;
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});
vi.mock("esbuild", () => ({ build: async () => ({ outputFiles: [{ path: "/entry.mjs", text: "" }] }) }));
await pulumi.runtime.setMocks(
  { newResource: ({ name, inputs }) => ({ id: `${name}-id`, state: inputs }), call: ({ inputs }) => inputs },
  "store-orders",
  "production",
);
const { CustomDomain, deployStoreOrders } = await import("../../infra/index.ts");
const { defineDomains } = await import("../../lib/domains/index.ts");
afterAll(async () => {
  await pulumi.runtime.disconnect();
  // Other tests of this process are outside of a run.
  pulumi.runtime.resetOptions("store-orders", "production", -1, "", "", false, "");
});
const dns = await startDnsServer("");
afterAll(() => dns[Symbol.asyncDispose]());

/** Deploys a service with one host. */
const service = async (name: string, primary: string, more: object = {}) => {
  const domains = defineDomains({ primary }, { plan: "pro" });
  return deployStoreOrders(name, { plan: "pro", domains, resolver: dns.address, ...more });
};
/** A run of a program in this process, as the Automation API makes it. */
const inProcess = (program: () => Promise<unknown>) =>
  pulumi.runtime.runInPulumiStack(async () => {
    await program();
    return {};
  });
const manual = { dns: "manual" };
const live = { provider: "cloudflare", zoneId: "zone", comment: "mine", routing: "managed" } as const;
const api = { restApi: "api1", stageName: "live" };
const ofTwo = (subject: string, one: string, other: string, fix: string) =>
  `${subject} would belong to two components of this program, '${one}' and '${other}'. ${fix}`;
const NAME = "Choose another name for one of them";
const HOST =
  "Take the host out of one of them. To move it, see infra/domains/README.md#move-a-host-to-another-component.";
const METRICS = "The name 'shop-store-orders-production' of alarms, dashboard and metrics";

describe("two components of one run", () => {
  test.each<[string, () => Promise<unknown>, string]>([
    [
      "the same host",
      async () => {
        await service("a", "orders.example.com");
        await service("b", "orders.example.com");
      },
      ofTwo("The host orders.example.com", "a", "b", HOST),
    ],
    [
      "the same host, deployed at the same time",
      () => Promise.all(["a", "b"].map((name) => service(name, "orders.example.com"))),
      ofTwo("The host orders.example.com", "a", "b", HOST),
    ],
    [
      "the same host with manual DNS",
      async () => {
        await service("a", "orders.example.com", manual);
        await service("b", "orders.example.com", manual);
      },
      ofTwo("The host orders.example.com", "a", "b", HOST),
    ],
    [
      "a host of their own beside the service with the same one",
      async () => {
        await service("a", "orders.example.com");
        new CustomDomain("hello", { host: "orders.example.com", dns: live, ...api });
      },
      ofTwo("The host orders.example.com", "a", "hello", HOST),
    ],
    [
      "a second child of the service with its host",
      async () => {
        const parent = await service("a", "orders.example.com");
        new CustomDomain("hello", { host: "orders.example.com", dns: live, ...api }, { parent });
      },
      ofTwo("The host orders.example.com", "a", "hello", HOST),
    ],
    [
      "the same name in the account",
      async () => {
        await deployStoreOrders("shop");
        await deployStoreOrders("shop-store-orders");
      },
      ofTwo(METRICS, "shop", "shop-store-orders", NAME),
    ],
    [
      "the same name for the resources of two hosts",
      async () => {
        await service("orders", "eu.example.com");
        await service("orders-eu", "example.com");
      },
      ofTwo("The name 'orders-eu-example-com' of the resources of a host", "orders", "orders-eu", NAME),
    ],
  ])("cannot have %s", async (_case, program, message) => {
    await inProcess(() => expect(program()).rejects.toThrow(message));
  });

  test("can have hosts of their own, and be deployed in every run of the process", async () => {
    for (const _run of [1, 2])
      await inProcess(async () => {
        await service("a", "orders.example.com");
        await service("b", "shop.example.com");
        new CustomDomain("hello", { host: "hello.example.com", dns: live, ...api });
      });
  });

  test("a component that could not be deployed claims nothing", async () => {
    await inProcess(async () => {
      await service("a", "orders.example.com");
      await expect(service("shop", "orders.example.com")).rejects.toThrow("The host orders.example.com");
      await deployStoreOrders("shop-store-orders");
    });
  });
});

/** Runs a program with several services under the language host. */
const services = (all: readonly object[], preview: boolean, more: Partial<RunOptions> = {}) =>
  run({
    program: "test/infra/programs/components.ts",
    stack: "production",
    config: { "components:services": all },
    cloud: cloud(),
    preview,
    ...more,
  });

test.each([
  [
    "the same host",
    [
      { name: "a", primary: "orders.example.com" },
      { name: "b", primary: "orders.example.com" },
    ],
    ofTwo("The host orders.example.com", "a", "b", HOST),
  ],
  ["the same name in the account", [{ name: "shop" }, { name: "shop-store-orders" }], METRICS],
  [
    "the same name for the resources of two hosts",
    [
      { name: "orders", primary: "eu.example.com" },
      { name: "orders-eu", primary: "example.com" },
    ],
    "The name 'orders-eu-example-com' of the resources of a host",
  ],
])(
  "a preview of a program with %s for two services fails with this reason alone",
  async (_case, all, message) => {
    const { code, errors } = await services(all, true);
    expect(code).not.toBe(0);
    expect(errors).toContain(message);
    expect(errors).not.toMatch(/Duplicate resource URN|already registered|unhandled|\n\s+at /i);
  },
);

test("two regions can have services with the same name in the account, and manual DNS one host for both", async () => {
  const both = { primary: "orders.example.com", ...manual, protect: false };
  const all = [
    { ...both, name: "shop", region: "eu-central-1" },
    { ...both, name: "shop-store-orders", region: "us-east-1" },
  ];
  const outcome = await success(services(all, false));
  expect(ofType(outcome, "aws:cloudwatch/dashboard:Dashboard")).toHaveLength(2);
  expect(ofType(outcome, "aws:acm/certificate:Certificate")).toHaveLength(2);
});

describe("a host that moves to another component", () => {
  const at = cloud();
  const host = "orders.example.com";
  const [a, b] = [{ name: "a" }, { name: "b" }];
  const record = () => at.records().find(({ name }) => name === host);
  const before = services([{ ...a, primary: host }, b], false, { cloud: at });
  const next = async (run: typeof before, all: readonly object[]) =>
    services(all, false, { cloud: at, state: (await run).state });

  test("in one update fails, and the error leads to the way that the documentation has", async () => {
    await success(before);
    const failed = await next(before, [a, { ...b, primary: host }]);
    expect(failed.code).not.toBe(0);
    expect(failed.errors).toContain("An identical record already exists. (81058)");
    const [advice] = failed.logs.filter(({ severity }) => severity === 3);
    expect(advice?.message.split("\n")[2]).toBe(
      "  If another component of this program had the host, see infra/domains/README.md#move-a-host-to-another-component.",
    );
    const back = next(Promise.resolve(failed), [{ ...a, primary: host }, b]);
    await success(back);
    expect(record()).toEqual(expect.objectContaining({ id: "a-orders-example-com-route-id" }));
    const without = next(back, [a, b]);
    await success(without);
    expect(record()).toBeUndefined();
    await success(next(without, [a, { ...b, primary: host }]));
    expect(record()).toEqual(expect.objectContaining({ id: "b-orders-example-com-route-id" }));
  });
});

test("a second service in another region can prepare the host with a certificate of its own", async () => {
  const host = "orders.example.com";
  const arn = "arn:aws:acm:us-east-1:123456789012:certificate/01234567-89ab-cdef-0123-456789abcdef";
  const second = { region: "us-east-1", hold: [host], certificates: { [host]: arn } };
  const at = cloud();
  const all = [
    { name: "a", primary: host },
    { name: "b", primary: host, ...second },
  ];
  await success(services(all, false, { cloud: at }));
  expect(at.records().map(({ name }) => name)).toEqual([`_0123.${host}`, host]);
});
