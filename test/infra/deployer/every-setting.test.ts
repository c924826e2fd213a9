import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { NAMESPACE, settingsSchema } from "../../../infra/config/schema.ts";
import { parseSettings } from "../../../infra/config/settings.ts";
import { CALLS } from "../../../infra/deployer/calls.ts";
import { deployerPolicies } from "../../../infra/deployer/policy-documents.ts";
import { ownerOf } from "../../../infra/names.ts";
import { cloud } from "../harness/cloud.ts";
import type { Registration } from "../harness/engine.ts";
import { ofType, run } from "../harness/program.ts";
import { physicalName } from "../harness/provider-rules.ts";
import { success } from "../harness/scenario.ts";
import { allows, type Context, type Policy } from "./iam.ts";

const REGION = "eu-central-1";
const ACCOUNT = "123456789012";
const BOUNDARY = `arn:aws:iam::${ACCOUNT}:policy/store-orders-production-boundary`;
const domains = { primary: "orders.example.com", aliases: ["www.example.com"] };
const host = "orders.example.com";
const onHosts = { plan: "pro", domains };

const tags = { team: "shop" };

/** What is turned on together. Those of the last row change no type of resource. */
const ROWS: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { ...onHosts, reverify: { [host]: 2 }, hold: ["www.example.com"], renamedFrom: "shop/live" },
  {
    ...{ ...onHosts, closePlatformHost: true, adopt: { [host]: "0123456789abcdef0123456789abcdef" } },
    certificates: { [host]: `arn:aws:acm:${REGION}:${ACCOUNT}:certificate/1a2b3c4d` },
  },
  { ...onHosts, dns: "manual" },
  { ...onHosts, dns: "route53" },
  { ...onHosts, dns: "route53", adopt: { [host]: `Z1_${host}_CNAME` } },
  { events: { bus: "default" }, tags },
  { events: { bus: "arn:aws:events:eu-west-1:999999999999:event-bus/shop" } },
  { waf: { requestsPerFiveMinutes: 3_000 }, tags, renamedFrom: "shop/live" },
  { alarmEmail: "ops@example.com" },
  {
    ...{ resolver: "127.0.0.1", servers: { other: "https://a.example/v1" }, docsUrl: "https://a.example/" },
    ...{ corsOrigins: ["https://a.example"], preview: "v2", memoryMiB: 256, timeoutSeconds: 60 },
    ...{ plans: { trial: "custom" }, keys: { headers: ["x-api-key"] }, basePath: "/shop", tags },
    ...{ logRetentionDays: 7, banPolicy: { maxRejections: 5 }, throttle: { perSecond: 5 }, protect: false },
    ...{ tables: { orders: "shop", accounts: "shop-accounts" }, accessLogs: "account" },
    ...{ reservedConcurrency: 20 },
  },
];

/** By type of resource, operation and IAM action: a resource of the call, as Pulumi's engine made it through providers. */
const { calls: observed }: { calls: Record<string, Record<string, Record<string, string>>> } = JSON.parse(
  readFileSync(new URL("observed-calls.json", import.meta.url), "utf8"),
);
/** With the one that was not recorded, from AWS's documentation. */
const lookups: typeof observed = {
  ...observed,
  "aws:apigateway/getDomainName:getDomainName": {
    invoke: { "apigateway:GET": `arn:aws:apigateway:${REGION}::/domainnames/${host}` },
  },
};

/** The types of resources whose own names are in their calls. */
const NAMED = /:(Table|Role|Function|LogGroup|Topic|Queue|MetricAlarm|Dashboard|EventRule|WebAcl)$/;

/** The calls that the engine makes to create, read, change and delete a resource of a stack. */
function callsOn({ type, name, inputs }: Registration, prefix: string) {
  const operations = observed[type];
  // The wait for a certificate only describes it.
  if (operations === undefined && type.endsWith(":CertificateValidation")) return [];
  if (operations === undefined) throw new Error(`No call on ${type} has been recorded.`);
  const own = NAMED.test(type) && String(inputs["dashboardName"] ?? physicalName({ type, name, inputs }));
  return Object.entries(operations).flatMap(([operation, actions]) =>
    Object.entries(actions).map(([action, recorded]) => {
      const resource = own
        ? recorded.replace(/store-orders-production[\w-]*/, own)
        : recorded.replace("store-orders-production", prefix);
      return { type, operation, action, resource };
    }),
  );
}

/** The condition keys of a call. */
function contextOf({ inputs }: Registration, prefix: string): Context {
  const eventsFunction = `arn:aws:lambda:${REGION}:${ACCOUNT}:function:${prefix}-events-function-1a2b3c4:live`;
  return {
    "iam:PermissionsBoundary": String(inputs["permissionsBoundary"] ?? BOUNDARY),
    "lambda:Principal": String(inputs["principal"]),
    "lambda:FunctionArn": eventsFunction,
    "events:TargetArn": eventsFunction,
    "route53:ChangeResourceRecordSetsNormalizedRecordNames": [String(inputs["name"])],
    "route53:ChangeResourceRecordSetsRecordTypes": [String(inputs["type"])],
  };
}

describe("the printed policies allow the calls that the engine makes for a stack with", () => {
  const namesOf = (row: object) => Object.keys(row).join(", ") || "no setting";
  test.each(ROWS.map((row) => [namesOf(row), row] as const))("%s", async (_, row) => {
    const config = Object.fromEntries(
      Object.entries({ permissionsBoundary: BOUNDARY, ...row }).map(([key, value]) => [
        `${NAMESPACE}:${key}`,
        value,
      ]),
    );
    const values = Object.fromEntries(
      Object.entries(config).map(([key, value]) => [
        key,
        typeof value === "string" ? value : JSON.stringify(value),
      ]),
    );
    const parsed = parseSettings({ values, secretKeys: [] });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
    const owner = ownerOf(parsed.settings, { project: "store-orders", stack: "production" });
    const prefix = `${owner.project}-${owner.stack}`;
    const printed = deployerPolicies(parsed.settings, { region: REGION, account: ACCOUNT, prefix });
    const { preview, deploy, functions, boundary } = printed;

    const [adopted] = Object.entries(parsed.settings.adopt);
    const record = { zone: "example.com", type: "CNAME", content: "old.example.net", comment: "old shop" };
    const records = adopted ? [{ ...record, name: adopted[0], id: adopted[1] }] : [];
    const recordSets = adopted
      ? [{ zoneId: "Z1", name: adopted[0], type: "CNAME", values: ["old.example.net"] }]
      : [];
    const hostedZones = [{ id: "Z1", name: "example.com" }];
    const world = cloud({ records, hostedZones, recordSets });
    // The primary host has to be live before the update that closes the other one.
    const { [`${NAMESPACE}:closePlatformHost`]: closes, ...open } = config;
    const live = await success(run({ stack: "production", config: open, cloud: world }));
    const closing = { stack: "production", config, cloud: world, state: live.state };
    const outcome = closes === undefined ? live : await success(run(closing));
    const resources = outcome.registrations.filter(({ custom, type }) => custom && type.startsWith("aws:"));
    // With DNS elsewhere, the domain name follows in a later run, once the certificate is issued.
    const types = new Set(resources.map(({ type }) => type));
    const needed = CALLS.filter(({ neededBy }) => neededBy?.(parsed.settings) ?? true);
    const unused = needed.flatMap((calls) => calls.types).filter((type) => !types.has(type));
    expect(unused).toEqual(
      row["dns"] === "manual" ? expect.arrayContaining(["aws:apigateway/domainName:DomainName"]) : [],
    );
    expect(resources.length).toBeGreaterThan(30);
    for (const each of resources)
      for (const { action, resource, operation, type } of callsOn(each, prefix)) {
        const call = { action, resource, context: contextOf(each, prefix) };
        const policies = operation === "read" ? [preview] : [preview, deploy, functions];
        expect(allows(policies, call), `${action} on ${resource} (${type}, ${operation})`).toBe(true);
      }
    const tokens = new Set(outcome.invokes.map(({ token }) => token));
    for (const token of [...tokens].filter((each) => each.startsWith("aws:")))
      for (const [action, resource] of Object.entries(lookups[token]?.["invoke"] ?? expect.fail(token)))
        expect(allows([preview], { action, resource }), `${action} (${token})`).toBe(true);
    for (const { inputs } of ofType(outcome, "aws:iam/rolePolicy:RolePolicy"))
      for (const { Action = [], Resource = [] } of (inputs["policy"] as unknown as Policy).Statement)
        for (const action of [Action].flat())
          for (const resource of [Resource].flat())
            expect(allows([boundary], { action, resource }), `${action} on ${resource}`).toBe(true);
    // A managed policy has at most 6,144 characters besides white space.
    for (const document of Object.values(printed))
      expect(JSON.stringify(document).replaceAll(/\s/g, "").length).toBeLessThanOrEqual(6_144);
  });

  test.each(["alarmEmail", "dns", "events", "waf"])(
    "another setting but not %s, whose calls could hide those that the other one needs",
    (adding) => {
      // What is adopted depends on 'dns'.
      const textOf = ([key, value]: [string, unknown]) =>
        key === "adopt" ? key : `${key} ${JSON.stringify(value)}`;
      const textsOf = (row: object) =>
        Object.entries(row).flatMap((entry) => (entry[0] === adding ? [] : textOf(entry)));
      const alone = new Set(ROWS.filter((row) => !(adding in row)).flatMap(textsOf));
      expect(ROWS.flatMap(textsOf).filter((text) => !alone.has(text))).toEqual([]);
    },
  );

  test("every setting, because each is in one of the rows", () => {
    // `entry` changes the content of the functions only.
    const covered = new Set(["permissionsBoundary", "entry", ...ROWS.flatMap((row) => Object.keys(row))]);
    expect(Object.keys(settingsSchema.shape).filter((key) => !covered.has(key))).toEqual([]);
  });
});
