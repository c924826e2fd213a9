import { expect, test, vi } from "vitest";
import { cloud } from "./harness/cloud.ts";
import { find, ofType, run } from "./harness/program.ts";

vi.setConfig({ testTimeout: 120_000 });

test("a program of somebody's own takes the service, or a part of it", async () => {
  const program = "test/infra/programs/own.ts";
  const seen = await run({ program, stack: "production", config: {}, cloud: cloud() });
  expect(seen).toMatchObject({ code: 0, errors: "" });
  expect(seen.stackOutputs).toEqual({
    baseUrl: "https://api123.execute-api.eu-central-1.amazonaws.com/live/v1",
    state: "live",
  });
  const tables = ofType(seen, "aws:dynamodb/table:Table").map(({ inputs }) => inputs["name"]);
  expect(tables.toSorted()).toEqual(["shop-accounts", "shop-orders"]);
  expect(find(seen, "shop-list-function").inputs["memorySize"]).toBe(256);
  expect(find(seen, "shop-front-route").inputs["comment"]).toBe("the shop's");
});
