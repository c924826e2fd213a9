import { describe, expect, test } from "vitest";
import { explainSettingsIssues, parseSettings, withDefaults } from "../../../infra/config/settings.ts";
import { InvalidInputError } from "../../../lib/core/errors.ts";
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
  test.each<[string, Readonly<Record<string, unknown>>, string[]?]>([
    ["an unknown plan", { plan: "gold" }],
    ["domains on the Free plan", { domains }],
    [
      "a redirect to another host than the primary",
      { plan: "pro", domains: { ...domains, redirects: [{ from: "a.example.com", to: "b.example.com" }] } },
    ],
    ["a URL instead of a host", { plan: "pro", domains: { primary: "https://orders.example.com/" } }],
    ["a host that is too long for a certificate", { plan: "pro", domains: { primary: long } }],
    ["a memory size that Lambda does not support", { memoryMiB: 64 }],
    ["text instead of a number", { timeoutSeconds: "soon" }],
    ["a retention period that CloudWatch does not support", { logRetentionDays: 10 }],
    ["a server without a scheme", { servers: { production: "orders.example.com/v1" } }],
    ["a server without the base path", { servers: { production: "https://orders.example.com/" } }],
    ["a list of servers", { servers: ["https://orders.example.com/v1"] }],
    ["an origin with a slash at the end", { corsOrigins: ["https://shop.example.com/"] }],
    ["a wildcard for the origins", { corsOrigins: "*" }],
    ["a plan without a limit", { plans: { trial: { perMinute: 2 } } }],
    ["a plan beyond what an account can count", { plans: { trial: { perMinute: 100_000, perDay: 1 } } }],
    ["a plan with a name that no account can have", { plans: { "Trial 1": "custom" } }],
    ["a name that no header has", { keys: { headers: ["x api key"] } }],
    ["keys without headers", { keys: ["x-api-key"] }],
    ["a base path without a slash at its beginning", { basePath: "shop" }],
    ["a base path that API Gateway does not accept", { basePath: "/~shop" }],
    ["an entry that is no module", { entry: "./functions" }],
    ["a preview of an unknown version", { preview: "v3" }],
    ["a documentation address without TLS", { docsUrl: "http://docs.example.com/" }],
    ["an invalid e-mail address", { alarmEmail: "oncall" }],
    ["an invalid ban policy", { banPolicy: { maxRejections: -1, hours: 1 } }],
    ["a name instead of the ARN of a boundary", { permissionsBoundary: "store-orders-boundary" }],
    ["a role instead of a boundary", { permissionsBoundary: "arn:aws:iam::123456789012:role/limits" }],
    ["a name that no table can have", { tables: { orders: "my orders" } }],
    ["one table for both", { tables: { orders: "shop", accounts: "shop" } }],
    ["a prefix instead of names", { tables: "shop" }],
    ["a former name with an organization", { renamedFrom: "acme/shop/production" }],
    ["a misspelt key", { protected: true }],
    ["text instead of a boolean", { protect: "yes" }],
    ["an unknown DNS provider", { dns: "bind" }],
    ["a host that is not configured", { reverify: { "order.example.com": 1 }, plan: "pro", domains }],
    [
      "a host in two spellings",
      { plan: "pro", domains, reverify: { "orders.example.com": 1, "ORDERS.example.com.": 2 } },
    ],
    ["a host setting without domains", { hold: ["orders.example.com"] }],
    [
      "a host that is both held and adopted",
      { plan: "pro", domains, hold: ["orders.example.com"], adopt: { "orders.example.com": "0".repeat(32) } },
    ],
    ["a closed API Gateway hostname without domains", { closePlatformHost: true }],
    ["a held host with manual DNS", { plan: "pro", domains, dns: "manual", hold: ["orders.example.com"] }],
    ["an invalid record identifier", { plan: "pro", domains, adopt: { "orders.example.com": "orders" } }],
    ["a number as record identifier", { plan: "pro", domains, adopt: { "orders.example.com": 1e31 } }],
    [
      "a certificate that is no ARN",
      { plan: "pro", domains, certificates: { "orders.example.com": "orders" } },
    ],
    [
      "a new certificate for a host that has its own",
      {
        ...{ plan: "pro", domains, reverify: { "orders.example.com": 1 } },
        certificates: { "orders.example.com": "arn:aws:acm:eu-central-1:123456789012:certificate/1" },
      },
    ],
    [
      "a certificate of an unknown host",
      { certificates: { "a.example.com": "arn:aws:acm:eu-central-1:123456789012:certificate/1" } },
    ],
    ["a tag of this project's own", { tags: { "store-orders:stack": "mine" } }],
    ["a tag with a character that AWS does not accept", { tags: { team: "shop; pets" } }],
    ["a list of tags", { tags: ["shop"] }],
    ["a number as tag", { tags: { year: 2026 } }],
    ["a number as table", { tables: { orders: 2026 } }],
    ["a name that every object has", { constructor: "x", toString: "1" }],
    ["a secret that must not be one", { plan: "pro" }, ["plan"]],
  ])("%s", (_case, values, secretKeys = []) => {
    const parsed = parse(values, secretKeys);
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
  const long = `${"a".repeat(60)}.example.com`;

  test("withDefaults normalises the hosts and adds the defaults", () => {
    const settings = withDefaults({ plan: "pro", domains: hosts, hold: ["ORDERS.example.com."] });
    expect(settings).toMatchObject({ domains: hosts, hold: ["orders.example.com"], dns: "cloudflare" });
  });

  test.each<[string, Parameters<typeof withDefaults>[0], string[]]>([
    ["domains on the Free plan", { domains: hosts }, ["domains"]],
    ["a host that is not configured", { plan: "pro", domains: hosts, hold: ["order.example.com"] }, ["hold"]],
    ["a host setting without domains", { reverify: { "orders.example.com": 1 } }, ["reverify"]],
    [
      "a host that is too long for a certificate",
      { plan: "pro", domains: defineDomains({ primary: long }, { plan: "pro" }) },
      ["domains"],
    ],
    [
      "values out of range, all at once",
      { memoryMiB: 1, banPolicy: { minutes: 0 } },
      ["memoryMiB", "banPolicy.minutes"],
    ],
  ])("withDefaults rejects %s", (_case, settings, paths) => {
    let thrown: unknown;
    try {
      withDefaults(settings);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(InvalidInputError);
    expect((thrown as InvalidInputError).issues.map(({ path }) => path)).toEqual(paths);
  });

  test("withDefaults takes only domains that have been validated", () => {
    // @ts-expect-error: a literal has not been validated
    expect(() => withDefaults({ plan: "pro", domains: { primary: "orders.local" } })).toThrow("orders.local");
  });
});
