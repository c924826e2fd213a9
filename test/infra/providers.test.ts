import * as aws from "@pulumi/aws";
import * as cloudflare from "@pulumi/cloudflare";
import * as pulumi from "@pulumi/pulumi";
import { afterAll, expect, test, vi } from "vitest";
import {
  AccessLog,
  Api,
  CustomDomain,
  deployStoreOrders,
  type HostDns,
  Observability,
  OrdersFunction,
  preflight,
  StoreOrders,
  Tables,
  WebAcl,
  withDefaults,
} from "../../infra/index.ts";
import { defineDomains } from "../../lib/domains/parse.ts";
import { startDnsServer } from "../support/dns-server.ts";

// Most of the time would be bundling the functions and collecting stack traces, one for each resource and promise.
Object.assign(pulumi.Resource, { stackTrace: () => [] });
const { stackTraceLimit } = Error;
Error.stackTraceLimit = 0;
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});
vi.mock("esbuild", () => ({ build: async () => ({ outputFiles: [{ path: "/entry.mjs", text: "" }] }) }));

/** A resource that was registered, or a provider function that was called, with its provider. */
interface Use {
  readonly what: string;
  readonly provider: string;
}
let uses: Use[] = [];
/** What a provider adds to the inputs, by type of resource, and returns from a function: nothing, as in Pulumi's documentation. */
let outputs: Readonly<Record<string, object>> = {};
const isOurs = (token: string) => /^(aws|cloudflare):/.test(token);
await pulumi.runtime.setMocks(
  {
    newResource({ type, name, inputs, provider = "" }) {
      if (isOurs(type)) uses.push({ what: `${type} ${name}`, provider });
      return { id: `${name}-id`, state: { ...inputs, ...outputs[type] } };
    },
    call({ token, inputs, provider = "" }) {
      uses.push({ what: token, provider });
      return token === GET_CERTIFICATE
        ? { ...inputs, arn: "arn", status: "ISSUED" }
        : { ...inputs, ...outputs[token] };
    },
  },
  "shop",
  "test",
);
afterAll(() => pulumi.runtime.disconnect());
const GET_CERTIFICATE = "aws:acm/getCertificate:getCertificate";
const GET_DOMAIN_NAME = "aws:apigateway/getDomainName:getDomainName";
const GET_ZONES = "cloudflare:index/getZones:getZones";
const GET_ZONE = "aws:route53/getZone:getZone";
const GET_SETS = "aws:route53/getRecords:getRecords";
const GET_RECORDS = "cloudflare:index/getDnsRecords:getDnsRecords";

const dns = await startDnsServer("");
afterAll(() => dns[Symbol.asyncDispose]());

const own = { aws: new aws.Provider("own-aws"), cloudflare: new cloudflare.Provider("own-cloudflare") };
const other = { aws: new aws.Provider("other-aws"), cloudflare: new cloudflare.Provider("other-cloudflare") };
class Parent extends pulumi.ComponentResource {}

/** Every way in which Pulumi lets a program choose providers; those that are not `own` must not be used. */
const WAYS: Readonly<Record<string, (name: string) => pulumi.ComponentResourceOptions>> = {
  "a map of providers": () => ({ providers: own }),
  "an array of providers": () => ({ providers: [other.aws, own.aws, own.cloudflare] }),
  "one provider beside others": () => ({
    provider: own.aws,
    providers: { aws: other.aws, cloudflare: own.cloudflare },
  }),
  "a parent with providers": (name) => ({
    parent: new Parent("shop:Parent", `${name}-parent`, {}, { providers: own }),
  }),
  "a provider of its own below a parent with another": (name) => ({
    provider: own.aws,
    parent: new Parent(
      "shop:Parent",
      `${name}-parent`,
      {},
      { providers: { aws: other.aws, cloudflare: own.cloudflare } },
    ),
  }),
};

const code = new pulumi.asset.AssetArchive({});
const functionArgs = {
  ...{ description: "", code, handler: "entry.api", environment: {}, statements: [] },
  ...{ memoryMiB: 128, timeoutSeconds: 3, logRetentionDays: 1 },
};
const domains = defineDomains({ primary: "orders.example.com" }, { plan: "pro" });
const settings = {
  ...({ plan: "pro", domains, resolver: dns.address, events: { bus: "default" } } as const),
  ...({
    waf: { requestsPerFiveMinutes: 3_000 },
    accessLogs: "account",
    alarmEmail: "ops@example.com",
  } as const),
};
const customDomain = (dns: HostDns) => (name: string, options: pulumi.ComponentResourceOptions) =>
  new CustomDomain(name, { host: "orders.example.com", dns, restApi: "api", stageName: "live" }, options);

/** Every component, and the whole deployment, which is `StoreOrders` with its lookups, with each kind of DNS. */
const PARTS: Readonly<Record<string, (name: string, options: pulumi.ComponentResourceOptions) => unknown>> = {
  AccessLog: (name, options) => new AccessLog(name, { logRetentionDays: 1 }, options),
  Api(name, options) {
    const create = (role: string) => new OrdersFunction(`${name}-${role}`, functionArgs, options);
    const functions = { list: create("list"), api: create("api") };
    const throttle = { perSecond: 1, burst: 1 };
    return new Api(name, { functions, streamSeconds: 3, throttle }, options);
  },
  "CustomDomain at Cloudflare": customDomain({
    ...{ provider: "cloudflare", zoneId: "zone", comment: "shop", routing: "managed" },
  }),
  "CustomDomain at Route 53": customDomain({
    ...{ provider: "route53", zoneId: "zone", comment: "shop", routing: "managed" },
  }),
  "CustomDomain with manual DNS": customDomain({
    ...{ provider: "manual", certificates: [{ arn: "arn", status: "ISSUED" }] },
  }),
  Observability(name, options) {
    const functions = { list: "list", api: "api", events: "events" };
    const tables = { orders: "orders", accounts: "accounts" };
    const certificates = [{ key: "key", host: "orders.example.com", arn: "arn" }];
    const monitored = { apiName: "api", stageName: "live", functions, tables, certificates, namespace: name };
    return new Observability(name, { monitored, region: "eu-central-1", email: "ops@example.com" }, options);
  },
  StoreOrders: (name, options) => new StoreOrders(name, { settings: withDefaults({}), code }, options),
  Tables: (name, options) => new Tables(name, { prefix: name, stream: true }, options),
  WebAcl(name, options) {
    const args = { restApi: "api", deployment: "deployment", stageName: "live" };
    const stage = new aws.apigateway.Stage(name, args, { provider: own.aws });
    return new WebAcl(name, { stage, requestsPerFiveMinutes: 100 }, options);
  },
  "preflight at Cloudflare": (_name, options) => preflight(withDefaults(settings), options),
  "preflight at Route 53": (_name, options) =>
    preflight(withDefaults({ ...settings, dns: "route53" }), options),
  "preflight with manual DNS": (_name, options) =>
    preflight(withDefaults({ ...settings, dns: "manual" }), options),
  "deployStoreOrders at Cloudflare": (name, options) => deployStoreOrders(name, settings, options),
  "deployStoreOrders at Route 53": (name, options) =>
    deployStoreOrders(name, { ...settings, dns: "route53" }, options),
  "deployStoreOrders with manual DNS": (name, options) =>
    deployStoreOrders(name, { ...settings, dns: "manual" }, options),
};

// Each part with two ways, and each way with the parts that have resources or lookups of both providers.
const cases = Object.keys(WAYS).flatMap((way) =>
  Object.keys(PARTS)
    .filter((part) => /^(a map|a parent)/.test(way) || /^(CustomDomain at Cloudflare|preflight)/.test(part))
    .map((part) => [part, way] as const),
);

test.each(cases)("%s: every resource and every lookup has the provider of %s", async (part, way) => {
  const name = `c${cases.findIndex((each) => each[0] === part && each[1] === way)}`;
  uses = [];
  await PARTS[part]?.(name, WAYS[way]?.(name) ?? {});
  await pulumi.runtime.disconnect();
  expect(uses).not.toEqual([]);
  const expected = uses.map(({ what }) => {
    const [packageName = ""] = what.split(":");
    const urn = `urn:pulumi:test::shop::pulumi:providers:${packageName}::own-${packageName}`;
    return { what, provider: `${urn}::own-${packageName}-id` };
  });
  expect(uses).toEqual(expected);
  const lookups = uses.map(({ what }) => what).filter((what) => /\/get[A-Z]/.test(what));
  const ofPart: Readonly<Record<string, readonly string[]>> = {
    "preflight at Cloudflare": [GET_RECORDS, GET_ZONES],
    "preflight at Route 53": [GET_SETS, GET_ZONE],
    "preflight with manual DNS": [GET_CERTIFICATE, GET_DOMAIN_NAME],
    "deployStoreOrders at Cloudflare": [GET_RECORDS, GET_ZONES],
    "deployStoreOrders at Route 53": [GET_SETS, GET_ZONE],
    "deployStoreOrders with manual DNS": [GET_CERTIFICATE, GET_DOMAIN_NAME],
  };
  expect([...new Set(lookups)].sort()).toEqual(ofPart[part] ?? []);
});

test("without a choice of the program, the default providers are used", async () => {
  uses = [];
  await deployStoreOrders("default", { ...settings, dns: "manual" });
  await pulumi.runtime.disconnect();
  expect(uses.length).toBeGreaterThan(70);
  expect(uses.filter(({ provider }) => provider !== "")).toEqual([]);
});

test("under mocks with what the providers add, the whole service can be unit-tested", async () => {
  outputs = {
    [GET_ZONES]: {
      results: [{ id: "zone", name: "example.com", status: "active", type: "full", nameServers: [] }],
    },
    "aws:lambda/function:Function": { arn: "arn:aws:lambda:eu-central-1:1:function:f" },
    "aws:acm/certificate:Certificate": {
      domainValidationOptions: [
        { resourceRecordName: "_0.orders.example.com.", resourceRecordValue: "_1.aws." },
      ],
    },
  };
  const { baseUrl, domainStatus } = await deployStoreOrders("tested", settings);
  await pulumi.runtime.disconnect();
  expect(
    await new Promise((resolve) => pulumi.output({ baseUrl, domainStatus }).apply(resolve)),
  ).toMatchObject({
    baseUrl: "https://orders.example.com/v1",
    domainStatus: { "orders.example.com": { role: "primary", state: "live" } },
  });
  outputs = {};
});
