import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { explainSettingsIssues, parseSettings, withDefaults } from "../../../infra/config/settings.ts";
import { defineDomains } from "../../../lib/domains/parse.ts";
import { cloud } from "../harness/cloud.ts";
import { run, stackFile } from "../harness/program.ts";

const domains = { primary: "orders.example.com" };
const long = `${"a".repeat(60)}.example.com`;

/** Parses a configuration whose keys have no namespace. */
const parse = (values: Readonly<Record<string, unknown>>, secretKeys: readonly string[] = []) =>
  parseSettings({
    values: Object.fromEntries(
      Object.entries(values).map(([key, value]) => [
        `store-orders:${key}`,
        typeof value === "string" ? value : JSON.stringify(value),
      ]),
    ),
    secretKeys: secretKeys.map((key) => `store-orders:${key}`),
  });

describe("a valid configuration", () => {
  test("an empty configuration has the defaults", () => {
    expect(parse({})).toMatchInlineSnapshot(`
      {
        "ok": true,
        "settings": {
          "accessLogs": "off",
          "adopt": {},
          "banPolicy": {
            "durationMs": 900000,
            "maxRejections": 20,
          },
          "certificates": {},
          "closePlatformHost": false,
          "dns": "cloudflare",
          "hold": [],
          "logRetentionDays": 30,
          "memoryMiB": 512,
          "plan": "free",
          "protect": true,
          "reverify": {},
          "throttle": {
            "burst": 250,
            "perSecond": 500,
          },
          "timeoutSeconds": 300,
        },
      }
    `);
  });

  test("keys of other namespaces are ignored", () => {
    expect(
      parseSettings({ values: { "aws:region": "eu-central-1" }, secretKeys: ["aws:token"] }),
    ).toHaveProperty("settings");
  });

  test("other keys can refer to hosts in any spelling", () => {
    const parsed = parse({
      plan: "pro",
      domains,
      hold: ["Orders.Example.com."],
      reverify: { "orders.example.com": 3 },
    });
    expect(parsed).toMatchObject({
      settings: { hold: ["orders.example.com"], reverify: { "orders.example.com": 3 } },
    });
    const inOwnScript = parse({
      plan: "pro",
      domains: { primary: "xn--bcher-kva.example.com" },
      adopt: { "Bücher.Example.com": "0".repeat(32) },
    });
    expect(inOwnScript).toMatchObject({
      settings: { adopt: { "xn--bcher-kva.example.com": "0".repeat(32) } },
    });
  });

  test.each(["2026", "1e3", "true", "null"])("a text can be %s, which is also JSON", (text) => {
    expect(parse({ renamedFrom: text })).toMatchObject({ settings: { renamedFrom: text } });
    const nested = { tables: { orders: text.padEnd(3, "s") }, tags: { year: text } };
    expect(parse(nested)).toMatchObject({ settings: nested });
  });

  test("numbers, booleans and mappings are not texts", () => {
    expect(parse({ memoryMiB: 1024, protect: false, hold: [] })).toMatchObject({
      settings: { memoryMiB: 1024, protect: false, hold: [] },
    });
  });

  test("an empty mapping is valid on the Free plan and has no hosts", () => {
    expect(parse({ domains: {} })).toMatchObject({ settings: { domains: { aliases: [], redirects: [] } } });
  });

  test("the ban duration is configured in minutes and parsed to milliseconds", () => {
    expect(parse({ banPolicy: { minutes: 5 } })).toMatchObject({
      settings: { banPolicy: { maxRejections: 20, durationMs: 300_000 } },
    });
  });
});

test("servers are described by their names, and addresses are normalised", () => {
  const servers = { production: "https://Orders.example.com/v1", staging: "https://staging.example.com/v1" };
  expect(parse({ servers, docsUrl: "https://docs.example.com/<a>" })).toMatchObject({
    settings: {
      servers: [
        { url: "https://orders.example.com/v1", description: "production" },
        { url: "https://staging.example.com/v1", description: "staging" },
      ],
      docsUrl: "https://docs.example.com/%3Ca%3E",
    },
  });
});

describe("an invalid configuration is reported with the key and the fix", () => {
  /** Configurations in YAML, without the namespace of the keys. */
  const INVALID = `
    plan: gold
    domains: {primary: orders.example.com}
    HOST, domains: {primary: ${long}}
    memoryMiB: 64
    timeoutSeconds: soon
    logRetentionDays: 10
    servers: {production: orders.example.com/v1}
    servers: {production: "https://orders.example.com/"}
    servers: ["https://orders.example.com/v1"]
    corsOrigins: ["https://shop.example.com/"]
    corsOrigins: "*"
    plans: {trial: {perMinute: 2}}
    plans: {trial: {perMinute: 100000, perDay: 1}}
    plans: {Trial 1: custom}
    keys: {headers: [x api key]}
    keys: [x-api-key]
    basePath: shop
    basePath: /~shop
    entry: ./functions
    preview: v3
    docsUrl: "http://docs.example.com/"
    alarmEmail: oncall
    banPolicy: {maxRejections: -1, hours: 1}
    permissionsBoundary: store-orders-boundary
    permissionsBoundary: arn:aws:iam::123456789012:role/limits
    tables: {orders: my orders}
    tables: {orders: shop, accounts: shop}
    tables: shop
    tables: {orders: 2026}
    renamedFrom: acme/shop/production
    protected: true
    protect: "yes"
    dns: bind
    HOST, reverify: {order.example.com: 1}
    HOST, reverify: {orders.example.com: 1, ORDERS.example.com.: 2}
    hold: [orders.example.com]
    HOST, hold: [orders.example.com], adopt: {orders.example.com: "${"0".repeat(32)}"}
    closePlatformHost: true
    HOST, dns: manual, hold: [orders.example.com]
    HOST, adopt: {orders.example.com: orders}
    HOST, adopt: {orders.example.com: 1.0e31}
    HOST, certificates: {orders.example.com: orders}
    HOST, reverify: {orders.example.com: 1}, certificates: {orders.example.com: "arn:aws:acm:eu-central-1:123456789012:certificate/1"}
    certificates: {a.example.com: "arn:aws:acm:eu-central-1:123456789012:certificate/1"}
    tags: {"store-orders:stack": mine}
    tags: {team: shop; pets}
    tags: [shop]
    tags: {year: 2026}
    constructor: x, toString: "1"
  `;
  test.each(INVALID.trim().split(/\n\s*/))("%s", (line) => {
    const host = "plan: pro, domains: {primary: orders.example.com}";
    const parsed = parse(
      parseYaml(`{${line.replace("HOST, domains", "plan: pro, domains").replace("HOST", host)}}`),
    );
    expect(parsed.ok ? "" : explainSettingsIssues("staging", parsed.issues)).toMatchSnapshot();
  });

  test("a secret that must not be one is named", () => {
    const parsed = parse({ plan: "pro" }, ["plan"]);
    expect(parsed.ok ? "" : explainSettingsIssues("staging", parsed.issues)).toMatchSnapshot();
  });

  test("all issues are reported together, without the values of secrets", () => {
    const parsed = parse({ plan: "gold", memoryMiB: 1, alarmEmail: "s3cret" }, ["alarmEmail"]);
    const text = parsed.ok ? "" : explainSettingsIssues("production", parsed.issues);
    expect(text.split("\n")).toHaveLength(4);
    expect(text).not.toContain("s3cret");
  });
});

test("an invalid configuration stops the program before any resource is registered, without a stack trace", async () => {
  const config = { ...stackFile("production"), "store-orders:plan": "free", "store-orders:memoryMiB": 1 };
  const { code, errors, registrations } = await run({
    stack: "production",
    config,
    preview: true,
    cloud: cloud(),
    languageHost: true,
  });
  expect(code).not.toBe(0);
  expect(registrations.filter(({ custom }) => custom)).toEqual([]);
  expect(errors).toMatchInlineSnapshot(`
    "The configuration of the stack 'production' has 2 problems:
      Pulumi.production.yaml  store-orders:memoryMiB: Write a whole number from 128 to 10240.
      Pulumi.production.yaml  store-orders:domains: Custom domains need the plan 'pro' or above, but the plan is 'free'. Change the plan, or remove the domains."
  `);
});

describe("settings in a program", () => {
  const hosts = defineDomains({ primary: "orders.example.com" }, { plan: "pro" });

  test("withDefaults normalises the hosts and adds the defaults", () => {
    const settings = withDefaults({ plan: "pro", domains: hosts, hold: ["ORDERS.example.com."] });
    expect(settings).toMatchObject({ domains: hosts, hold: ["orders.example.com"], dns: "cloudflare" });
  });

  test.each<[Parameters<typeof withDefaults>[0], string[]]>([
    [{ memoryMiB: 1, banPolicy: { minutes: 0 } }, ["memoryMiB", "banPolicy.minutes"]],
    [{ plan: "pro", domains: hosts, hold: ["order.example.com"] }, ["hold"]],
    [{ domains: hosts }, ["domains"]],
  ])("withDefaults throws every issue of %j", (settings, paths) => {
    const issues = paths.map((path) => expect.objectContaining({ path }));
    expect(() => withDefaults(settings)).toThrow(expect.objectContaining({ issues }));
  });

  test("withDefaults takes only domains that have been validated", () => {
    // @ts-expect-error: a literal has not been validated
    expect(() => withDefaults({ plan: "pro", domains: { primary: "orders.local" } })).toThrow("orders.local");
  });
});
