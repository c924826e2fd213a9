import { globSync, mkdtempSync, readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import errors from "@pulumi/pulumi/proto/errors_pb.js";
import status from "@pulumi/pulumi/proto/status_pb.js";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { parse } from "yaml";
import { cloud } from "../infra/harness/cloud.ts";
import type { Cloud } from "../infra/harness/deployment.ts";
import { find, ofType, run } from "../infra/harness/program.ts";
import { UNKNOWN_ON_THE_WIRE, wireSecret } from "../infra/harness/wire.ts";
import { startDnsServer } from "../support/dns-server.ts";
import {
  type ComponentProvider,
  installComponentPackage,
  type ProviderOptions,
  startProvider,
} from "./component-provider.ts";
import { ROOT, readJson } from "./installed.ts";

const SERVICE = "store-orders:index:Service";
const CUSTOM_DOMAIN = "store-orders:index:CustomDomain";
const folder = mkdtempSync(join(tmpdir(), "store-orders-component-"));
let home = "";
const dns = await startDnsServer("");
const schema = JSON.parse(readFileSync(join(ROOT, "infra/component/schema.json"), "utf8"));

/** Providers of an update and of a preview, for tests whose components have names of their own. */
let shared: { readonly update: ComponentProvider; readonly preview: ComponentProvider };

beforeAll(async () => {
  home = await installComponentPackage(inject("installed"));
  const startIn = async (options?: ProviderOptions) =>
    startProvider(home, cloud(), await mkdtemp(join(folder, "tmp-")), options);
  const [update, preview] = await Promise.all([startIn(), startIn({ preview: true })]);
  shared = { update, preview };
});
afterAll(async () => {
  await Promise.all(Object.values(shared).map((provider) => provider[Symbol.asyncDispose]()));
  await dns[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const settings = { plan: "pro", resolver: dns.address };

test("the manifest has the version of the project, and the packages with which it is tested", async () => {
  const { version, devDependencies } = await readJson(join(ROOT, "package.json"));
  const component = await readJson(join(ROOT, "infra/component/package.json"));
  const { "store-orders": library, ...packages } = component["dependencies"] ?? {};
  expect([component["version"], library, schema.version]).toEqual([version, version, version]);
  expect(devDependencies).toMatchObject(packages);
  const peers = (await readJson(join(ROOT, "package.json")))["peerDependencies"] ?? {};
  const forStacks = Object.keys(peers).filter((name) => /^(@pulumi|@aws-sdk)\/|^esbuild$/.test(name));
  expect(Object.keys(packages).sort()).toEqual(forStacks.sort());
});

describe("the provider of the component package", () => {
  test("returns the schema of the package", async () => {
    expect(JSON.parse(await shared.update.schema())).toEqual(schema);
  });

  test("creates the same resources as the library does in a program in TypeScript", async () => {
    const domains = {
      primary: "orders.example.com",
      redirects: [{ from: "www.example.com", to: "orders.example.com" }],
    };
    // On the wire, keys are sorted.
    const plans = { agreed: "custom", partner: { perMinute: 500, perDay: 20_000 } };
    const config = {
      "guest:name": "orders",
      "guest:settings": { plan: "pro", domains, throttle: { burst: 7 }, plans },
    };
    const program = await run({
      ...{ program: "test/infra/programs/guest.ts", stack: "staging", config, cloud: cloud() },
      dns,
    });
    const { construct, recording } = shared.update;
    const before = recording.registrations.length;
    const inputs = { ...settings, domains, throttle: { burst: 7 }, plans };
    const { urn, outputs } = await construct({ type: SERVICE, name: "orders", inputs });
    const registrations = recording.registrations.slice(before);

    expect(urn).toBe("urn:pulumi:staging::store-orders::store-orders:infra:StoreOrders::orders");
    const own = (all: typeof registrations) =>
      all
        .filter(({ type }) => type !== "pulumi:pulumi:Stack")
        // The bundle of the sources differs from that of the package.
        .map(({ parent, inputs: { code, ...inputs }, ...rest }) => ({
          ...{ ...rest, inputs, hasCode: code !== undefined },
          parent: parent.includes(":Stack::") ? "" : parent,
        }))
        .toSorted((one, other) => one.urn.localeCompare(other.urn));
    expect(own(registrations).length).toBeGreaterThan(80);
    expect(own(registrations)).toEqual(own(program.registrations));
    expect(Object.keys(outputs).sort()).toEqual(Object.keys(schema.resources[SERVICE].properties).sort());
    expect(outputs).toMatchObject({
      baseUrl: "https://orders.example.com/v1",
      ordersTable: "orders-orders",
      domainStatus: { "www.example.com": { role: "redirect", state: "live", next: [] } },
    });
  });

  test("creates a host for an API of the program, in a preview too", async () => {
    for (const preview of [true, false]) {
      const { construct } = preview ? shared.preview : shared.update;
      const { resolver } = settings;
      const inputs = { host: "Hello.example.com", restApi: "api1", stageName: "live", resolver };
      const created = await construct({ type: CUSTOM_DOMAIN, name: "hello", inputs });
      expect(find(created, "hello-mapping").inputs).toMatchObject({ restApi: "api1", stageName: "live" });
      expect(find(created, "hello-certificate").inputs).toMatchObject({
        domainName: "hello.example.com",
        tags: { "store-orders:stack": "store-orders/staging" },
      });
      expect(find(created, "hello-domain").inputs["tags"]).toEqual({
        "store-orders:records": "store-orders/staging",
        "store-orders:role": "primary",
      });
      expect(find(created, "hello-route").inputs["comment"]).toBe("store-orders/staging, kept by Pulumi");
      if (!preview) expect(created.outputs).toMatchObject({ state: "live", record: { zone: "example.com" } });
      const declared = Object.keys(schema.resources[CUSTOM_DOMAIN].properties);
      expect(Object.keys(created.outputs).filter((name) => !declared.includes(name))).toEqual([]);
    }
  });

  test("takes the settings of a host: prepared only, and with another number a new certificate", async () => {
    const inputs = {
      host: "held.example.com",
      restApi: "api1",
      stageName: "live",
      resolver: settings.resolver,
    };
    const held = await shared.update.construct({
      ...{ type: CUSTOM_DOMAIN, name: "held" },
      inputs: { ...inputs, hold: true, reverify: 2 },
    });
    expect(held.outputs).toMatchObject({ state: "pending_dns" });
    expect(find(held, "held-certificate").replacementTrigger).toBe(2);
  });

  test("creates two services in one program, with protected tables", async () => {
    const { construct, recording } = shared.update;
    const before = recording.registrations.length;
    const names = ["one", "other"];
    await Promise.all(names.map((name) => construct({ type: SERVICE, name, inputs: {} })));
    const registrations = recording.registrations.slice(before);
    const tables = ofType({ registrations }, "aws:dynamodb/table:Table");
    expect(tables.map(({ protect, beforeDelete }) => [protect, beforeDelete.length])).toEqual(
      Array.from({ length: 4 }, () => [true, 1]),
    );
  });

  test("rejects two services of one run with the same host, and takes the host again in the next run", async () => {
    await using provider = await startProvider(home, cloud(), await mkdtemp(join(folder, "tmp-")), {
      preview: true,
    });
    const service = (name: string, primary: string) =>
      provider.construct({ type: SERVICE, name, inputs: { ...settings, domains: { primary } } });
    await service("first", "orders.example.com");
    await service("second", "shop.example.com");
    const both = "would belong to two components of this program, 'first' and 'third'.";
    await expect(service("third", "orders.example.com")).rejects.toThrow(both);
    await provider.cancel();
    await service("fourth", "orders.example.com");
  });

  test("rejects two services with the same host and a provider of the program, which is another object for each", async () => {
    const providers = { aws: "urn:pulumi:staging::store-orders::pulumi:providers:aws::eu::eu-id" };
    const at = cloud();
    const invoke: Cloud["invoke"] = (call) =>
      call.token === "pulumi:pulumi:getResource"
        ? { urn: providers.aws, id: "eu-id", state: {} }
        : at.invoke(call);
    const temporary = await mkdtemp(join(folder, "tmp-"));
    await using provider = await startProvider(home, { ...at, invoke }, temporary, { preview: true });
    const inputs = { ...settings, dns: "manual", domains: { primary: "orders.example.com" } };
    const service = (name: string) => provider.construct({ type: SERVICE, name, inputs, providers });
    await service("first");
    await expect(service("second")).rejects.toThrow("would belong to two components of this program");
  });

  test("keeps the address of the alarms a secret", async () => {
    const inputs = { alarmEmail: wireSecret("ops@example.com") };
    const created = await shared.update.construct({ type: SERVICE, name: "alarmed", inputs });
    const [subscription] = ofType(created, "aws:sns/topicSubscription:TopicSubscription");
    expect(subscription?.inputs["endpoint"]).toEqual({ secret: "ops@example.com" });
  });

  test("deletes the bundles of the functions at the end of a run, before Pulumi kills it", async () => {
    const temporary = await mkdtemp(join(folder, "tmp-"));
    await using provider = await startProvider(home, cloud(), temporary, { bundle: true });
    const { construct, cancel } = provider;
    await construct({ type: SERVICE, name: "orders", inputs: {} });
    const bundles = async () => (await readdir(temporary)).filter((name) => name.startsWith("store-orders-"));
    expect(await bundles()).toHaveLength(1);
    await cancel();
    expect(await bundles()).toEqual([]);
  });

  test("reports every invalid input at its property", async () => {
    const host = { host: "https://a.b", restApi: "api1", stageName: "live" };
    const cases = [
      [SERVICE, { memoryMiB: 1 }, "memoryMiB", "Write a whole number"],
      [SERVICE, { memory: 1 }, "memory", "memoryMiB"],
      [SERVICE, { domains: { primary: "a.example.com" } }, "domains", "pro"],
      [SERVICE, { throttle: { burst: 0 } }, "throttle.burst", "Write a whole number"],
      [SERVICE, { events: { bus: UNKNOWN_ON_THE_WIRE } }, "events", "not known yet"],
      [SERVICE, { plan: wireSecret("pro") }, "plan", "cannot be a secret"],
      [CUSTOM_DOMAIN, host, "host", "This is a URL."],
    ] as const;
    for (const [type, inputs, path, reason] of cases) {
      const failure = await shared.preview.construct({ type, name: "invalid", inputs }).then(
        () => undefined,
        (error) => error,
      );
      const [details] = failure.metadata.get("grpc-status-details-bin");
      const [any] = status.Status.deserializeBinary(details).getDetailsList();
      const list = errors.InputPropertiesError.deserializeBinary(any?.getValue_asU8() ?? new Uint8Array());
      const found = list.getErrorsList().map((each) => [each.getPropertyPath(), each.getReason()]);
      expect(found).toEqual([[path, expect.stringContaining(reason)]]);
    }
  });

  test("a host whose DNS is not ready is reported with its fix", async () => {
    const domains = { primary: "orders.example.org" };
    await expect(
      shared.preview.construct({ type: SERVICE, name: "unready", inputs: { ...settings, domains } }),
    ).rejects.toThrow(/DNS is not ready for the domains:\n.*orders\.example\.org/);
  });
});

describe("the examples in other languages", () => {
  test("the resources of the YAML program are created", async () => {
    const { resources, packages } = parse(
      await readFile(join(ROOT, "test/examples/in-yaml/Pulumi.yaml"), "utf8"),
    );
    expect(packages).toHaveProperty("store-orders");
    const { construct, recording } = shared.update;
    const before = recording.registrations.length;
    const { type, name, properties } = resources.service;
    const inputs = { ...properties, resolver: dns.address };
    await construct({ type: type.replace(":", ":index:"), name, inputs });
    expect(recording.registrations.length - before).toBeGreaterThan(70);
  });

  test("the Python program passes inputs and reads outputs that the schema declares", async () => {
    const [file = ""] = globSync(join(ROOT, "test/examples/in-python/__main__.py"));
    const source = await readFile(file, "utf8");
    const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const { inputProperties, properties } = schema.resources[SERVICE];
    const [, call = ""] = /store_orders\.Service\(([\s\S]*?)\n\)/.exec(source) ?? [];
    const passed = [...call.matchAll(/^ {4}(\w+)=/gm)].map(([, name]) => name);
    expect(passed.length).toBeGreaterThan(1);
    expect(Object.keys(inputProperties).map(snake)).toEqual(expect.arrayContaining(passed));
    const read = [...source.matchAll(/\bservice\.(\w+)/g)].map(([, name]) => name);
    expect(read.length).toBeGreaterThan(0);
    expect(Object.keys(properties).map(snake)).toEqual(expect.arrayContaining(read));
  });
});
