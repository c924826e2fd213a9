import type { Resource } from "@pulumi/pulumi";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claim, hostClaims, runsByEngine } from "../../infra/claims.ts";
import type { HostDns } from "../../infra/domains/host-plan.ts";
import { cloud } from "./harness/cloud.ts";
import { type Outcome, ofType, run } from "./harness/program.ts";
import { success } from "./harness/scenario.ts";
import type { OwnHost, Service } from "./programs/components.ts";

interface Program {
  readonly services: readonly Service[];
  readonly hosts?: readonly OwnHost[];
  /** Whether the services are deployed at the same time. */
  readonly together?: boolean;
}

/** Runs a program with several services. */
const components = (of: Program, at = cloud(), before?: Outcome, preview = false) =>
  run({
    program: "test/infra/programs/components.ts",
    stack: "production",
    config: Object.fromEntries(Object.entries(of).map(([key, value]) => [`components:${key}`, value])),
    cloud: at,
    preview,
    ...(before && { state: before.state }),
  });

const HOST = "orders.example.com";
const [a, b] = [{ name: "a" }, { name: "b" }];
const withHost = (service: Service): Service => ({ ...service, primary: HOST });
const manual = { dns: "manual" } as const;
const NAME = "Choose another name for one of them";
const TAKE_OUT =
  "Take the host out of one of them. To move it, see infra/domains/README.md#move-a-host-to-another-component.";
const twice = (subject: string, one: string, other: string, fix: string) =>
  `${subject} would belong to two components of this program, '${one}' and '${other}'. ${fix}`;
const hostTwice = (other: string) => twice(`The host ${HOST}`, "a", other, TAKE_OUT);

describe("two components cannot have", () => {
  test.each<[string, Program, string]>([
    [
      "the same host, deployed at the same time",
      { services: [withHost(a), withHost(b)], together: true },
      hostTwice("b"),
    ],
    [
      "a host of their own beside the service with the same one",
      { services: [withHost(a)], hosts: [{ host: HOST }] },
      hostTwice("hello"),
    ],
    [
      "the same name in the account",
      { services: [{ name: "shop" }, { name: "shop-store-orders" }] },
      twice(
        "The name 'shop-store-orders-production' of alarms, dashboard and metrics",
        "shop",
        "shop-store-orders",
        `${NAME}: infra/recovery.md#rename-a-component. Run 'npx pulumi up --refresh' after a rename.`,
      ),
    ],
  ])("%s: the preview fails with this reason alone", async (_, of, message) => {
    const { code, errors } = await components(of, undefined, undefined, true);
    expect(code).not.toBe(0);
    expect(errors).toBe(message);
  });

  // A run without an engine.
  beforeEach(() => void runsByEngine.set("", { claims: [], tables: new Set() }));
  afterEach(() => void runsByEngine.delete(""));
  const managed = { provider: "cloudflare", zoneId: "zone", comment: "mine", routing: "managed" } as const;
  const unmanaged = { provider: "manual", certificates: [] } as const;
  const claimHost = (by: string, name: string, host = HOST, dns: HostDns = unmanaged, parent?: Resource) =>
    claim({} as Resource, by, hostClaims(name, { host, dns }), parent);

  test.each([managed, unmanaged])("the same host, with the DNS provider $provider", (dns) => {
    claimHost("a", "first", HOST, dns);
    expect(() => claimHost("b", "second", HOST, dns)).toThrow(hostTwice("b"));
  });

  test("the same name for the resources of two hosts", () => {
    claimHost("orders", "eu", "eu.example.com");
    const subject = "The name 'eu' of the resources of a host";
    expect(() => claimHost("shop", "eu", "example.com")).toThrow(
      twice(subject, "orders", "shop", `${NAME}.`),
    );
  });

  test("a host as two children of the service that has it", () => {
    const service = {} as Resource;
    claim(service, "a", hostClaims("name", { host: HOST, dns: unmanaged }));
    claimHost("first", "name", HOST, unmanaged, service);
    expect(() => claimHost("second", "name", HOST, unmanaged, service)).toThrow(hostTwice("second"));
  });
});

test("two components can have hosts of their own, and one that could not be deployed claims nothing", async () => {
  const rejected = { ...withHost({ name: "shop" }), isRejected: true };
  const services = [withHost(a), rejected, { name: "shop-store-orders", primary: "shop.example.com" }];
  await success(components({ services, hosts: [{ host: "hello.example.com" }] }, undefined, undefined, true));
});

test("two regions can have services with the same name in the account, and manual DNS one host for both", async () => {
  const services: Service[] = [
    { ...manual, protect: false, name: "shop", region: "eu-central-1" },
    { ...manual, protect: false, name: "shop-store-orders", region: "us-east-1" },
  ];
  const outcome = await success(components({ services: services.map(withHost) }));
  expect(ofType(outcome, "aws:cloudwatch/dashboard:Dashboard")).toHaveLength(2);
  expect(ofType(outcome, "aws:acm/certificate:Certificate")).toHaveLength(2);
});

test("a host that moves to another component in one update fails, and the error leads to the documented way", async () => {
  const at = cloud();
  const route = () => at.records().find(({ name }) => name === HOST)?.id;
  const before = await success(components({ services: [withHost(a), b] }, at));
  const failed = await components({ services: [a, withHost(b)] }, at, before);
  expect(failed.code).not.toBe(0);
  expect(failed.errors).toContain("An identical record already exists. (81058)");
  const [advice] = failed.logs.filter(({ severity }) => severity === 3);
  expect(advice?.message.split("\n")[2]).toBe(
    "  If another component of this program had the host, see infra/domains/README.md#move-a-host-to-another-component.",
  );
  const back = await success(components({ services: [withHost(a), b] }, at, failed));
  expect(route()).toBe("a-orders-example-com-route-id");
  const without = await success(components({ services: [a, b] }, at, back));
  expect(route()).toBeUndefined();
  await success(components({ services: [a, withHost(b)] }, at, without));
  expect(route()).toBe("b-orders-example-com-route-id");
});

test("a second service in another region can prepare the host with a certificate of its own", async () => {
  const arn = "arn:aws:acm:us-east-1:123456789012:certificate/01234567-89ab-cdef-0123-456789abcdef";
  const second: Service = {
    ...withHost(b),
    region: "us-east-1",
    hold: [HOST],
    certificates: { [HOST]: arn },
  };
  const at = cloud();
  await success(components({ services: [withHost(a), second] }, at));
  expect(at.records().map(({ name }) => name)).toEqual([`_0123.${HOST}`, HOST]);
});
