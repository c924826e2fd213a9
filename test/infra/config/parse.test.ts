import { describe, expect, test } from "vitest";
import { explainSettings, parseSettings } from "../../../infra/config/parse.ts";
import { cloud } from "../harness/cloud.ts";
import { run, stackFile } from "../harness/program.ts";

const domains = { primary: "orders.example.com" };
const long = `${"a".repeat(60)}.example.com`;

/** A configuration by its keys without their namespace, as Pulumi hands it over. */
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

describe("what is right", () => {
  test("an empty configuration has every default", () => {
    expect(parse({})).toMatchInlineSnapshot(`
      {
        "settings": {
          "accessLogs": "off",
          "adopt": {},
          "banPolicy": {
            "durationMs": 900000,
            "maxRejections": 20,
          },
          "dns": "cloudflare",
          "hold": [],
          "logRetentionDays": 30,
          "memoryMiB": 512,
          "plan": "free",
          "protect": false,
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

  test("keys of other namespaces are nobody's business here", () => {
    expect(
      parseSettings({ values: { "aws:region": "eu-central-1" }, secretKeys: ["aws:token"] }),
    ).toHaveProperty("settings");
  });

  test("hosts are named in any spelling", () => {
    const parsed = parse({
      plan: "pro",
      domains,
      hold: ["Orders.Example.com."],
      reverify: { "orders.example.com": 3 },
    });
    expect(parsed).toMatchObject({ settings: { hold: ["Orders.Example.com."] } });
  });

  test("a ban policy is told in minutes and kept in milliseconds", () => {
    expect(parse({ banPolicy: { minutes: 5 } })).toMatchObject({
      settings: { banPolicy: { maxRejections: 20, durationMs: 300_000 } },
    });
  });
});

describe("what is wrong is told with its key and its mend", () => {
  test.each<[string, Readonly<Record<string, unknown>>, string[]?]>([
    ["a plan that is none", { plan: "gold" }],
    ["domains on Free", { domains }],
    [
      "a redirect that leads elsewhere",
      { plan: "pro", domains: { ...domains, redirects: [{ from: "a.example.com", to: "b.example.com" }] } },
    ],
    ["a URL for a host", { plan: "pro", domains: { primary: "https://orders.example.com/" } }],
    ["a host that no certificate takes", { plan: "pro", domains: { primary: long } }],
    ["memory that Lambda does not have", { memoryMiB: 64 }],
    ["a number in words", { timeoutSeconds: "soon" }],
    ["a retention that CloudWatch does not know", { logRetentionDays: 10 }],
    ["an address that is none", { alarmEmail: "oncall" }],
    ["a ban policy with a flaw", { banPolicy: { maxRejections: 0, hours: 1 } }],
    ["a key that is misspelt", { protected: true }],
    ["a switch that is no switch", { protect: "yes" }],
    ["DNS that nobody runs", { dns: "route53" }],
    ["a host that is not configured", { reverify: { "order.example.com": 1 }, plan: "pro", domains }],
    [
      "a host both held and adopted",
      { plan: "pro", domains, hold: ["orders.example.com"], adopt: { "orders.example.com": "0".repeat(32) } },
    ],
    [
      "a held host whose record nobody makes",
      { plan: "pro", domains, dns: "manual", hold: ["orders.example.com"] },
    ],
    ["a record identifier that is none", { plan: "pro", domains, adopt: { "orders.example.com": "orders" } }],
    ["a secret that cannot be one", { plan: "pro" }, ["plan"]],
  ])("%s", (_what, values, secretKeys = []) => {
    const parsed = parse(values, secretKeys);
    expect("issues" in parsed && explainSettings("staging", parsed.issues)).toMatchSnapshot();
  });

  test("all of it at once, and a secret is not shown", () => {
    const parsed = parse({ plan: "gold", memoryMiB: 1, alarmEmail: "s3cret" }, ["alarmEmail"]);
    const text = "issues" in parsed ? explainSettings("production", parsed.issues) : "";
    expect(text.split("\n")).toHaveLength(4);
    expect(text).not.toContain("s3cret");
  });
});

test("the program stops with it before anything is made, and without a stack trace", async () => {
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
