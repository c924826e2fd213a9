import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createAccounts } from "../../lib/accounts/accounts.ts";
import { generateKey } from "../../lib/accounts/api-key.ts";
import { createDynamodbStore } from "../../lib/stores/dynamodb/index.ts";
import { clientFor } from "../support/dynamodb/emulator.ts";
import { cloud } from "./harness/cloud.ts";
import { type Deployed, deploy } from "./harness/deployed.ts";
import { run } from "./harness/program.ts";
import type { Value } from "./harness/wire.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const WWW = "https://www.orders.example.com";
const STRANGER = generateKey("live", "nobody");

let deployed: Deployed;
let base: Value | undefined;
let key = "";
let small = "";

beforeAll(async () => {
  const seen = await run({ stack: "production", cloud: cloud() });
  base = seen.stackOutputs["baseUrl"];
  deployed = await deploy(seen);
  const client = clientFor(deployed.endpoint);
  const store = createDynamodbStore({ prefix: "store-orders-production", client });
  await store.orders.place(
    [1n, 2n, 9223372036854775807n].map((id) => ({
      record: { id, quantity: 2 },
      status: id === 2n ? "shipped" : "pending",
    })),
  );
  const accounts = createAccounts({ store: store.accounts, environment: "live" });
  await accounts.create("acme", { plan: "pro" });
  await accounts.create("small", { plan: "enterprise", customLimits: { perMinute: 2, perDay: 2 } });
  [key = "", small = ""] = (await Promise.all(["acme", "small"].map((id) => accounts.issueKey(id)))).map(
    (issued) => ("key" in issued ? issued.key : ""),
  );
  client.destroy();
});
afterAll(() => deployed.stop());

const ask = (method: string, path: string, bearer = key) =>
  deployed.fetch(method, `${String(base)}${path}`, { authorization: `Bearer ${bearer}` });

describe("from the stack file to an answer", () => {
  test("the base address is the primary's", () => {
    expect(base).toBe("https://orders.example.com/v1");
  });

  test("a key of nobody's is a 401, from either function", async () => {
    // The first refusal that a process meets, so it has to look whether the engine tells the old item at all.
    expect(await ask("GET", "/store/orders", STRANGER)).toMatchObject({ status: 401 });
    expect(await ask("DELETE", "/store/orders/3", STRANGER)).toMatchObject({ status: 401 });
  });

  test("the list is streamed, int64 and all", async () => {
    const { status, body, headers } = await ask("GET", "/store/orders");
    expect(status).toBe(200);
    expect(body.toString()).toBe(
      '[{"id":1,"quantity":2},{"id":2,"quantity":2},{"id":9223372036854775807,"quantity":2}]',
    );
    expect(headers.get("x-ratelimit-limit")).toBe("300");
  });

  test("an order is cancelled once", async () => {
    expect(await ask("DELETE", "/store/orders/1")).toMatchObject({ status: 204 });
    expect(await ask("DELETE", "/store/orders/1")).toMatchObject({ status: 409 });
    expect(await ask("DELETE", "/store/orders/2")).toMatchObject({ status: 409 });
    expect(await ask("DELETE", "/store/orders/3")).toMatchObject({ status: 404 });
  });

  test("HEAD of the list has the status and no body", async () => {
    const { status, body } = await ask("HEAD", "/store/orders");
    expect({ status, length: body.length }).toEqual({ status: 200, length: 0 });
  });

  test("over the limit it is a 429, for the list and the rest alike", async () => {
    await ask("GET", "/store/orders", small);
    await ask("DELETE", "/store/orders/3", small);
    for (const [method, path] of [
      ["GET", "/store/orders"],
      ["DELETE", "/store/orders/3"],
    ] as const) {
      const { status, headers } = await ask(method, path, small);
      expect(status).toBe(429);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
  });

  test("the redirect host leads to the primary, on every path and from either function", async () => {
    for (const path of ["/", "/v1/store/orders?a=1&a=2", "/v1/store/orders/7", "/anything/else"]) {
      const { status, headers } = await deployed.fetch("GET", `${WWW}${path}`);
      expect(status).toBe(301);
      expect(headers.get("location")).toBe(`https://orders.example.com${path}`);
    }
  });

  test("the platform's own host still serves, below its stage", async () => {
    const url = "https://api123.execute-api.eu-central-1.amazonaws.com/live/v1/store/orders";
    const headers = { authorization: `Bearer ${key}` };
    expect(await deployed.fetch("GET", url, headers)).toMatchObject({ status: 200 });
  });
});

test("the functions made exactly the calls that their policies allow: nothing missing, nothing over", () => {
  expect(deployed.rights.size).toBe(2);
  for (const { used, refused, allowed } of deployed.rights.values()) {
    expect([...refused]).toEqual([]);
    expect([...used].sort()).toEqual(allowed);
  }
});
