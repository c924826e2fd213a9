import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { functionCode } from "../../../infra/functions/function.ts";
import { createAccounts } from "../../../lib/accounts/accounts.ts";
import { hashKey } from "../../../lib/accounts/hash-key.ts";
import { createDynamodbStore } from "../../../lib/stores/dynamodb/index.ts";
import { clientFor } from "../../support/dynamodb/emulator.ts";
import { cloud } from "../harness/cloud.ts";
import { deploy, PLATFORM } from "../harness/deployed.ts";
import { run } from "../harness/program.ts";

const KEY = "sk_live_11c9";
// The limit of a day, because a minute can end between two requests.
const PLANS = { trial: { perMinute: 100, perDay: 2 } };

/** Deploys the stack of a shop, with an account on its plan and its key. */
async function deployShop(settings: Readonly<Record<string, unknown>>) {
  const config = Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [`store-orders:${key}`, value]),
  );
  const outcome = await run({ stack: "staging", config, bundle: true, cloud: cloud() });
  const deployed = await deploy(outcome);
  const client = clientFor(deployed.endpoint);
  const { accounts: store } = createDynamodbStore({ prefix: "store-orders-staging", client });
  const accounts = createAccounts({ store, environment: "live", plans: PLANS });
  await accounts.create("c11", { plan: "trial" });
  await accounts.importKey("c11", { hash: hashKey(KEY) });
  client.destroy();
  const call = async (path: string, headers: Record<string, string>) => {
    const reply = await deployed.fetch("GET", `https://${PLATFORM}/live${path}`, headers);
    return [reply.status, reply.headers.get("x-ratelimit-remaining"), `${reply.body}`.slice(0, 40)];
  };
  return { outcome, call, stop: deployed.stop };
}

test("a stack serves keys, plans and the path of a shop", async () => {
  const settings = { plans: PLANS, keys: { headers: ["x-api-key"] }, basePath: "/shop" };
  const { outcome, call, stop } = await deployShop(settings);
  expect(outcome.stackOutputs["baseUrl"]).toMatch(/\/live\/shop\/v1$/);
  const path = "/shop/v1/store/orders";
  expect(await call(path, { "x-api-key": KEY })).toEqual([200, "1", "[]"]);
  const outside = expect.stringContaining("route_not_found");
  expect(await call("/v1/store/orders", { authorization: `Bearer ${KEY}` })).toEqual([404, "0", outside]);
  const over = expect.stringContaining("rate_limit_exceeded");
  expect(await call(path, { "x-api-key": KEY })).toEqual([429, "0", over]);
  expect((await call(path, { "x-api-key": "sk_live_other" }))[0]).toBe(401);
  const [status, , document] = await call("/shop/openapi.json", {});
  expect([status, document]).toEqual([200, expect.stringContaining('"openapi"')]);
  await stop();
});

async function newModule(text: string | undefined): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "store-orders-entry-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const module = join(folder, "functions.ts");
  if (text !== undefined) await writeFile(module, text);
  return module;
}

describe("functions of one's own", () => {
  const entry = `
    import { createHandler } from "store-orders/http";
    import { createDynamodbStore } from "store-orders/dynamodb";
    import { createBufferedFunction, createStreamingFunction } from "store-orders/lambda";
    const store = createDynamodbStore({ prefix: process.env["STORE_ORDERS_DYNAMODB"] ?? "" });
    const { plans } = JSON.parse(process.env["STORE_ORDERS_OPTIONS"] ?? "{}");
    const handler = createHandler({ store, plans, keys: { headers: ["x-shop-key"] } });
    export const api = createBufferedFunction({ handler });
    export const list = createStreamingFunction({ handler });`;

  test("are deployed with the permissions and variables of ours", async () => {
    // Relative to Pulumi.yaml, although the program runs in the folder of its `main`.
    const module = relative(process.cwd(), await newModule(entry));
    const { call, stop } = await deployShop({ plans: PLANS, entry: module });
    expect(await call("/v1/store/orders", { "x-shop-key": KEY })).toEqual([200, "1", "[]"]);
    const missing = expect.stringContaining("pet_not_found");
    expect(await call("/v1/pets/1", { "x-shop-key": KEY })).toEqual([404, "0", missing]);
    await stop();
  });

  test.each([
    ["a module that does not exist", undefined, "There is no module"],
    ["a module without one of them", "export const api = () => {};", "does not export list"],
    [
      "a function with a callback",
      "export const list = async () => {}; export const api = (event, { a = [1, 2] }, done) => done(event, a);",
      "api in",
    ],
    ["a module with an error", "export const api = ;", /functions\.ts:1:19: ERROR: Unexpected ";"/],
    ["an import of a file that is missing", 'import "./orders.ts";', 'Could not resolve "./orders.ts"'],
    ["an import of a package that is missing", 'import "@a/b/c";', 'Could not resolve "@a/b/c"'],
  ])("%s stops the deployment", async (_name, text, message) => {
    const module = await newModule(text);
    await expect(functionCode({ entry: module })).rejects.toThrow(message);
  });

  test("that do not exist are reported like any invalid setting", async () => {
    const config = { "store-orders:entry": "./none.ts" };
    const { code, errors } = await run({ stack: "staging", config, cloud: cloud() });
    expect(code).not.toBe(0);
    expect(errors).toContain(
      `Pulumi.staging.yaml  store-orders:entry: There is no module ${resolve("none.ts")}.`,
    );
    expect(errors).not.toContain("InvalidInputError");
  });
});
