import { describe, expect, test, vi } from "vitest";
import { cloud, isKnown } from "./harness/cloud.ts";
import type { Registration } from "./harness/engine.ts";
import { planText } from "./harness/plan.ts";
import { find, type Outcome, ofType, run } from "./harness/program.ts";
import { inputsWithValues, typeErrors, unknownValues } from "./harness/provider-types.ts";
import { UNKNOWN, type Value } from "./harness/wire.ts";

// The first test to need a run waits for those before it.
vi.setConfig({ testTimeout: 120_000 });

const runs = Object.fromEntries(
  ["staging", "production"].flatMap((stack) =>
    [true, false].map((preview) => [
      `${stack} ${preview ? "preview" : "update"}`,
      run({ stack, preview, cloud: cloud() }),
    ]),
  ),
);
const outcomes = async () =>
  Object.entries(runs).map(async ([name, outcome]) => [name, await outcome] as const);
const outcome = async (name: string): Promise<Outcome> => {
  const found = await runs[name];
  if (found === undefined) throw new Error(`There is no run '${name}'.`);
  return found;
};
const names = ({ registrations }: Outcome) => registrations.map(({ urn }) => urn).sort();

describe("both programs run whole, in preview and in update", () => {
  test.each(Object.keys(runs))("%s", async (name) => {
    const { code, errors, stackOutputs } = await outcome(name);
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    expect(Object.keys(stackOutputs).sort()).toEqual([
      "accountsTable",
      "baseUrl",
      "dashboardUrl",
      "domains",
      "ordersTable",
    ]);
  });

  test.each(["staging", "production"])(
    "the first preview of %s shows everything that the update makes",
    async (stack) => {
      expect(names(await outcome(`${stack} preview`))).toEqual(names(await outcome(`${stack} update`)));
    },
  );

  test.each(["staging", "production"])("what the preview of %s says comes true", async (stack) => {
    const update = await outcome(`${stack} update`);
    const made = new Map(update.registrations.map(({ urn, inputs }) => [urn, inputs]));
    for (const { urn, inputs } of (await outcome(`${stack} preview`)).registrations) {
      const { code: _files, ...announced } = inputs;
      expect(comesTrue(announced, made.get(urn) ?? null), urn).toBe(true);
    }
  });

  test.each(["staging", "production"])("the plan of %s is the one under review", async (stack) => {
    await expect(planText(await outcome(`${stack} update`))).toMatchFileSnapshot(`plans/${stack}.txt`);
  });

  test("an update leaves nothing unknown, and staging serves on the platform's own host", async () => {
    for (const stack of ["staging", "production"]) {
      const { registrations, stackOutputs } = await outcome(`${stack} update`);
      expect(registrations.filter(({ inputs }) => !isKnown(inputs))).toEqual([]);
      expect(isKnown(stackOutputs)).toBe(true);
    }
    expect((await outcome("staging update")).stackOutputs).toEqual({
      baseUrl: "https://api123.execute-api.eu-central-1.amazonaws.com/live/v1",
      domains: {},
      ordersTable: "store-orders-staging-orders",
      accountsTable: "store-orders-staging-accounts",
      dashboardUrl:
        "https://eu-central-1.console.aws.amazon.com/cloudwatch/home?region=eu-central-1#dashboards/dashboard/store-orders-staging",
    });
  });
});

describe("every registration", () => {
  test("hangs in the tree: each resource has a component above it, up to the stack", async () => {
    for await (const [, { registrations }] of await outcomes()) {
      const byUrn = new Map(registrations.map((each) => [each.urn, each]));
      for (const { name, parent, custom } of registrations) {
        const above = byUrn.get(parent);
        if (custom) expect(above?.type, name).toMatch(/^store-orders:infra:/);
        if (above?.type.startsWith("store-orders:") === true)
          expect(name.startsWith(above.name), name).toBe(true);
      }
    }
  });

  test("fits the provider's own types, and the values that they name", async () => {
    const registrations: Registration[] = [];
    for (const stack of ["staging", "production"])
      registrations.push(...(await outcome(`${stack} update`)).registrations);
    expect(typeErrors(registrations)).toBe("");
    expect(unknownValues(registrations)).toEqual([]);
    const checked = new Set(inputsWithValues(registrations).map(({ input }) => input));
    expect([...checked].sort()).toEqual([
      "architectures",
      "billingMode",
      "responseTransferMode",
      "runtime",
      "type",
    ]);
  });
});

describe("the tables", () => {
  test("are backed up everywhere, and protected twice over in production alone", async () => {
    for (const [stack, kept] of [
      ["staging", false],
      ["production", true],
    ] as const) {
      const tables = ofType(await outcome(`${stack} update`), "aws:dynamodb/table:Table");
      expect(tables).toHaveLength(2);
      for (const { protect, inputs } of tables) {
        expect(protect).toBe(kept);
        expect(inputs).toMatchObject({
          billingMode: "PAY_PER_REQUEST",
          deletionProtectionEnabled: kept,
          pointInTimeRecovery: { enabled: true },
        });
      }
    }
  });
});

describe("the functions", () => {
  test("are one bundle behind two aliases on published versions, each with a log and a role of its own", async () => {
    const seen = await outcome("production update");
    const functions = ofType(seen, "aws:lambda/function:Function");
    const [one, other] = functions.map(({ inputs }) => inputs);
    expect(functions).toHaveLength(2);
    expect(one?.["code"]).toEqual(other?.["code"]);
    for (const key of ["role", "handler"]) expect(one?.[key]).not.toEqual(other?.[key]);
    expect(one?.["loggingConfig"]).not.toEqual(other?.["loggingConfig"]);
    for (const { inputs } of functions) {
      expect(inputs).toMatchObject({
        runtime: "nodejs24.x",
        architectures: ["arm64"],
        publish: true,
        memorySize: 1024,
      });
    }
    for (const { inputs } of ofType(seen, "aws:lambda/alias:Alias")) {
      expect(inputs).toMatchObject({ name: "live", functionVersion: "1" });
    }
    for (const { inputs } of ofType(seen, "aws:cloudwatch/logGroup:LogGroup")) {
      expect(inputs["retentionInDays"]).toBe(365);
    }
  });

  test("get their rights before they are made", async () => {
    const seen = await outcome("production update");
    for (const { name, dependencies } of ofType(seen, "aws:lambda/function:Function")) {
      expect(dependencies).toContain(find(seen, name.replace("-function", "-rights")).urn);
    }
  });
});

describe("the API", () => {
  test("streams the list to an alias, for as long as the function may run, and buffers the rest", async () => {
    const seen = await outcome("production update");
    const integrations = ofType(seen, "aws:apigateway/integration:Integration");
    const streamed = integrations.filter(({ inputs }) => inputs["responseTransferMode"] === "STREAM");
    expect(streamed.map(({ name }) => name)).toEqual([
      "store-orders-production-gateway-v1-store-orders-get-integration",
    ]);
    expect(streamed[0]?.inputs).toMatchObject({
      timeoutMilliseconds: 300_000,
      uri: expect.stringMatching(/2021-11-15\/functions\/arn:[^/]*:live\/response-streaming-invocations$/),
    });
    for (const { inputs } of integrations.filter((each) => !streamed.includes(each))) {
      expect(inputs).toMatchObject({
        responseTransferMode: "BUFFERED",
        timeoutMilliseconds: 29_000,
        uri: expect.stringMatching(/2015-03-31\/functions\/arn:[^/]*:live\/invocations$/),
      });
    }
  });

  test("is deployed after everything that shapes it, and the functions answer to it alone", async () => {
    const seen = await outcome("production update");
    const [deployment] = ofType(seen, "aws:apigateway/deployment:Deployment");
    for (const type of ["integration:Integration", "response:Response"]) {
      for (const { urn } of ofType(seen, `aws:apigateway/${type}`))
        expect(deployment?.dependencies).toContain(urn);
    }
    const permissions = ofType(seen, "aws:lambda/permission:Permission");
    expect(permissions).toHaveLength(2);
    for (const { inputs } of permissions) {
      expect(inputs).toMatchObject({
        qualifier: "live",
        sourceArn: expect.stringMatching(/:api123\/live\/\*\/\*$/),
      });
    }
  });

  test("takes TLS 1.2 at least, and never touches the account's own settings unless asked", async () => {
    const seen = await outcome("production update");
    for (const type of ["restApi:RestApi", "domainName:DomainName"]) {
      for (const { inputs } of ofType(seen, `aws:apigateway/${type}`))
        expect(inputs["securityPolicy"]).toBe("TLS_1_2");
    }
    expect(ofType(seen, "aws:apigateway/account:Account")).toEqual([]);
    expect(find(seen, "store-orders-production-gateway-stage").inputs["accessLogSettings"]).toBeUndefined();
  });
});

/** True where everything that was known of a value is so. */
function comesTrue(announced: Value, made: Value): boolean {
  if (announced === UNKNOWN) return true;
  if (typeof announced !== "object" || announced === null) return announced === made;
  if (typeof made !== "object" || made === null) return false;
  const now = new Map<string, Value>(Object.entries(made));
  return Object.entries(announced).every(([key, value]) => comesTrue(value, now.get(key) ?? null));
}
