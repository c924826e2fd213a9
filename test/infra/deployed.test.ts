import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createAccounts } from "../../lib/accounts/accounts.ts";
import { generateKey } from "../../lib/accounts/api-key.ts";
import { createDynamodbStore } from "../../lib/stores/dynamodb/index.ts";
import { DEFAULT_BUCKETS } from "../../lib/stores/dynamodb/schema.ts";
import { clientFor } from "../support/dynamodb/emulator.ts";
import { fillOrders } from "../support/dynamodb/fill.ts";
import { cloud } from "./harness/cloud.ts";
import { type Deployed, deploy } from "./harness/deployed.ts";
import { run, stackFile } from "./harness/program.ts";
import type { Value } from "./harness/wire.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const WWW = "https://www.orders.example.com";
const PLATFORM = "api123.execute-api.eu-central-1.amazonaws.com";
const UNISSUED_KEY = generateKey("live", "nobody");

let deployed: Deployed;
let baseUrl: Value | undefined;
let key = "";
let smallAccountKey = "";

beforeAll(async () => {
  const tables = { orders: "restored-orders", accounts: "restored-accounts" };
  const config = { ...stackFile("production"), "store-orders:tables": tables };
  const outcome = await run({ stack: "production", config, bundle: true, cloud: cloud() });
  baseUrl = outcome.stackOutputs["baseUrl"];
  deployed = await deploy(outcome);
  const client = clientFor(deployed.endpoint);
  const store = createDynamodbStore({ tables, client });
  await store.orders.place(
    [1n, 2n, 9223372036854775807n].map((id) => ({
      record: { id, quantity: 2 },
      status: id === 2n ? "shipped" : "pending",
    })),
  );
  const accounts = createAccounts({ store: store.accounts, environment: "live" });
  await accounts.create("acme", { plan: "pro" });
  await accounts.create("small", { plan: "enterprise", customLimits: { perMinute: 2, perDay: 2 } });
  [key = "", smallAccountKey = ""] = (
    await Promise.all(["acme", "small"].map((id) => accounts.issueKey(id)))
  ).map((issued) => (issued.ok ? issued.key : ""));
  client.destroy();
});
afterAll(() => deployed.stop());

const send = (method: string, path: string, bearer = key) =>
  deployed.fetch(method, `${String(baseUrl)}${path}`, { authorization: `Bearer ${bearer}` });

describe("the deployed production stack, on tables with other names", () => {
  test("the base URL uses the primary host", () => {
    expect(baseUrl).toBe("https://orders.example.com/v1");
  });

  test("both functions respond with 401 to a key that was never issued", async () => {
    // The first failed condition of each process, so it also detects whether the engine returns the old item.
    expect(await send("GET", "/store/orders", UNISSUED_KEY)).toMatchObject({ status: 401 });
    expect(await send("DELETE", "/store/orders/3", UNISSUED_KEY)).toMatchObject({ status: 401 });
  });

  test("the list is streamed with exact int64 identifiers", async () => {
    const { status, body, headers } = await send("GET", "/store/orders");
    expect(status).toBe(200);
    expect(body.toString()).toBe(
      '[{"id":1,"quantity":2},{"id":2,"quantity":2},{"id":9223372036854775807,"quantity":2}]',
    );
    expect(headers.get("x-ratelimit-limit")).toBe("300");
  });

  test("a pending order can be cancelled once; a shipped or unknown order cannot", async () => {
    expect(await send("DELETE", "/store/orders/1")).toMatchObject({ status: 204 });
    expect(await send("DELETE", "/store/orders/1")).toMatchObject({ status: 409 });
    expect(await send("DELETE", "/store/orders/2")).toMatchObject({ status: 409 });
    expect(await send("DELETE", "/store/orders/3")).toMatchObject({ status: 404 });
  });

  test("HEAD of the list has status 200 and no body", async () => {
    const { status, body } = await send("HEAD", "/store/orders");
    expect({ status, length: body.length }).toEqual({ status: 200, length: 0 });
  });

  test("both functions respond with 429 and Retry-After over the limit", async () => {
    await send("GET", "/store/orders", smallAccountKey);
    await send("DELETE", "/store/orders/3", smallAccountKey);
    for (const [method, path] of [
      ["GET", "/store/orders"],
      ["DELETE", "/store/orders/3"],
    ] as const) {
      const { status, headers } = await send(method, path, smallAccountKey);
      expect(status).toBe(429);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
  });

  test("the OpenAPI document describes this deployment on every host", async () => {
    const primary = { url: "https://orders.example.com/v1", description: "production" };
    const platform = { url: `https://${PLATFORM}/live/v1`, description: "This server" };
    for (const [root, expected] of [
      ["https://orders.example.com", [primary]],
      [`https://${PLATFORM}/live`, [platform, primary]],
    ] as const) {
      const { body } = await deployed.fetch("GET", `${root}/openapi.json`);
      expect(JSON.parse(body.toString()).servers).toEqual(expected);
    }
  });

  test("the Link of a deprecated operation exists on every host", async () => {
    for (const root of ["https://orders.example.com/", `https://${PLATFORM}/live/`]) {
      const url = `${root}v1/pets/1`;
      const { headers } = await deployed.fetch("GET", url, { authorization: `Bearer ${key}` });
      const [, target = ""] = /^<([^>]+)>/.exec(headers.get("link") ?? "") ?? [];
      expect(await deployed.fetch("GET", new URL(target, url).href)).toMatchObject({ status: 200 });
    }
  });

  test("the health checks are served without a key on every host", async () => {
    for (const root of ["https://orders.example.com/", `https://${PLATFORM}/live/`]) {
      for (const path of ["healthz", "readyz"]) {
        const { status, body } = await deployed.fetch("GET", `${root}${path}`);
        expect([status, body.toString()]).toEqual([200, '{"status":"ok"}']);
      }
    }
  });

  test("both functions redirect every path of a redirect host to the primary host", async () => {
    for (const path of ["/", "/v1/store/orders?a=1&a=2", "/v1/store/orders/7", "/anything/else"]) {
      const { status, headers } = await deployed.fetch("GET", `${WWW}${path}`);
      expect(status).toBe(301);
      expect(headers.get("location")).toBe(`https://orders.example.com${path}`);
    }
  });

  test("the API Gateway hostname serves below its stage", async () => {
    const url = `https://${PLATFORM}/live/v1/store/orders`;
    const headers = { authorization: `Bearer ${key}` };
    expect(await deployed.fetch("GET", url, headers)).toMatchObject({ status: 200 });
  });
});

test("a flood of forged keys is rejected by both functions, and the issued key is served", async () => {
  for (let forged = 0; forged < 5; forged++) {
    const bearer = generateKey("live", "acme");
    expect(await send("GET", "/store/orders", bearer)).toMatchObject({ status: 401 });
    expect(await send("DELETE", "/store/orders/3", bearer)).toMatchObject({ status: 401 });
  }
  expect(await send("GET", "/store/orders")).toMatchObject({ status: 200 });
  expect(await send("DELETE", "/store/orders/3")).toMatchObject({ status: 404 });
});

test("a list of more than one page is complete", async () => {
  const client = clientFor(deployed.endpoint);
  const table = { prefix: "restored", buckets: DEFAULT_BUCKETS };
  await fillOrders(client, table, 600, (index) => ({ record: { id: BigInt(index) }, status: "pending" }));
  client.destroy();
  const { body } = await send("GET", "/store/orders");
  expect(JSON.parse(body.toString())).toHaveLength(601);
  expect(await send("HEAD", "/store/orders")).toMatchObject({ status: 200 });
});

test("the functions make exactly the DynamoDB calls that their policies allow", () => {
  expect(deployed.calls.size).toBe(2);
  for (const { used, denied, allowed } of deployed.calls.values()) {
    expect([...denied]).toEqual([]);
    expect([...used].sort()).toEqual(allowed);
  }
});
