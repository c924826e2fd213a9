import { describe, expect, test, vi } from "vitest";
import { isKnown } from "./harness/cloud.ts";
import type { Registration } from "./harness/engine.ts";
import { planText } from "./harness/plan.ts";
import { find, type Outcome, ofType } from "./harness/program.ts";
import { inputsWithValues, typeErrors, unknownValues } from "./harness/provider-types.ts";
import { agrees, outcome, outcomes, runs } from "./stack-runs.ts";

// Runs are queued, so the first test waits for all of them.
vi.setConfig({ testTimeout: 120_000 });

const names = ({ registrations }: Outcome) => registrations.map(({ urn }) => urn).sort();

describe("both stacks", () => {
  test.each(Object.keys(runs))("the %s succeeds and has all outputs", async (name) => {
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
    "the preview of %s lists everything that the update creates",
    async (stack) => {
      expect(names(await outcome(`${stack} preview`))).toEqual(names(await outcome(`${stack} update`)));
    },
  );

  test.each(["staging", "production"])(
    "the inputs that are known in the preview of %s are those of the update",
    async (stack) => {
      const update = await outcome(`${stack} update`);
      const updated = new Map(update.registrations.map(({ urn, inputs }) => [urn, inputs]));
      for (const { urn, inputs } of (await outcome(`${stack} preview`)).registrations) {
        const { code: _files, ...previewed } = inputs;
        expect(agrees(previewed, updated.get(urn) ?? null), urn).toBe(true);
      }
    },
  );

  test.each(["staging", "production"])("the plan of %s matches the reviewed one", async (stack) => {
    await expect(planText(await outcome(`${stack} update`))).toMatchFileSnapshot(`plans/${stack}.txt`);
  });

  test("an update leaves nothing unknown, and staging serves on the API Gateway hostname", async () => {
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
        "https://eu-central-1.console.aws.amazon.com/cloudwatch/home?region=eu-central-1#dashboards/dashboard/store-orders-staging-eu-central-1",
    });
  });
});

describe("every resource", () => {
  test("every resource has a component of this project as parent, and its name begins with that of its parent", async () => {
    for await (const [, { registrations }] of await outcomes()) {
      const byUrn = new Map(registrations.map((each) => [each.urn, each]));
      for (const { name, parent, custom } of registrations) {
        const parentResource = byUrn.get(parent);
        if (custom) expect(parentResource?.type, name).toMatch(/^store-orders:infra:/);
        if (parentResource?.type.startsWith("store-orders:") === true)
          expect(name.startsWith(parentResource.name), name).toBe(true);
      }
    }
  });

  test("every resource has inputs that match the provider's types and documented values", async () => {
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
  test("the tables have point-in-time recovery in both stacks and deletion protection in production only", async () => {
    for (const [stack, isProtected] of [
      ["staging", false],
      ["production", true],
    ] as const) {
      const tables = ofType(await outcome(`${stack} update`), "aws:dynamodb/table:Table");
      expect(tables).toHaveLength(2);
      for (const { protect, inputs } of tables) {
        expect(protect).toBe(isProtected);
        expect(inputs).toMatchObject({
          billingMode: "PAY_PER_REQUEST",
          deletionProtectionEnabled: isProtected,
          pointInTimeRecovery: { enabled: true },
        });
      }
    }
  });
});

describe("the functions", () => {
  test("share one bundle, and each has an alias on a published version, a log group and a role", async () => {
    const stack = await outcome("production update");
    const functions = ofType(stack, "aws:lambda/function:Function");
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
    for (const { inputs } of ofType(stack, "aws:lambda/alias:Alias")) {
      expect(inputs).toMatchObject({ name: "live", functionVersion: "1" });
    }
    for (const { inputs } of ofType(stack, "aws:cloudwatch/logGroup:LogGroup")) {
      expect(inputs["retentionInDays"]).toBe(365);
    }
  });

  test("the functions are created after their policies", async () => {
    const stack = await outcome("production update");
    for (const { name, dependencies } of ofType(stack, "aws:lambda/function:Function")) {
      expect(dependencies).toContain(find(stack, name.replace("-function", "-policy")).urn);
    }
  });
});

describe("the API", () => {
  test("streams the list from an alias with the timeout of its function, and buffers everything else", async () => {
    const stack = await outcome("production update");
    const integrations = ofType(stack, "aws:apigateway/integration:Integration");
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

  test("the API is deployed after its integrations and gateway responses, and only its stage may invoke the functions", async () => {
    const stack = await outcome("production update");
    const [deployment] = ofType(stack, "aws:apigateway/deployment:Deployment");
    for (const type of ["integration:Integration", "response:Response"]) {
      for (const { urn } of ofType(stack, `aws:apigateway/${type}`))
        expect(deployment?.dependencies).toContain(urn);
    }
    const permissions = ofType(stack, "aws:lambda/permission:Permission");
    expect(permissions).toHaveLength(2);
    for (const { inputs } of permissions) {
      expect(inputs).toMatchObject({
        qualifier: "live",
        sourceArn: expect.stringMatching(/:api123\/live\/\*\/\*$/),
      });
    }
  });

  test("the API requires TLS 1.2, and leaves account-wide settings unchanged by default", async () => {
    const stack = await outcome("production update");
    for (const type of ["restApi:RestApi", "domainName:DomainName"]) {
      for (const { inputs } of ofType(stack, `aws:apigateway/${type}`))
        expect(inputs["securityPolicy"]).toBe("TLS_1_2");
    }
    expect(ofType(stack, "aws:apigateway/account:Account")).toEqual([]);
    expect(find(stack, "store-orders-production-gateway-stage").inputs["accessLogSettings"]).toBeUndefined();
  });
});
