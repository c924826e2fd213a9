import { expect, test, vi } from "vitest";
import { cloud } from "./harness/cloud.ts";
import { find, ofType, run } from "./harness/program.ts";

vi.setConfig({ testTimeout: 120_000 });

test("another Pulumi program deploys the service and a custom domain with the components", async () => {
  const program = "test/infra/programs/own.ts";
  const outcome = await run({ program, stack: "production", config: {}, cloud: cloud() });
  expect(outcome).toMatchObject({ code: 0, errors: "" });
  expect(outcome.stackOutputs).toEqual({
    baseUrl: "https://api123.execute-api.eu-central-1.amazonaws.com/live/v1",
    state: "live",
  });
  const tables = ofType(outcome, "aws:dynamodb/table:Table").map(({ inputs }) => inputs["name"]);
  expect(tables.toSorted()).toEqual(["shop-accounts", "shop-orders"]);
  expect(find(outcome, "shop-list-function").inputs["memorySize"]).toBe(256);
  expect(find(outcome, "shop-front-route").inputs["comment"]).toBe("managed by shop");
});
