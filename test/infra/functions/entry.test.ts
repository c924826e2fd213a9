import { gunzipSync } from "node:zlib";
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAccounts, type IssuedKey } from "../../../lib/accounts/accounts.ts";
import { generateKey } from "../../../lib/accounts/api-key.ts";
import { hashKey } from "../../../lib/accounts/hash-key.ts";
import { orderToJson } from "../../../lib/orders/wire.ts";
import type { PlanAssignment } from "../../../lib/plans/plan-limits.ts";
import { createDynamodbStore } from "../../../lib/stores/dynamodb/index.ts";
import { BUCKETS, bucketOf } from "../../../lib/stores/dynamodb/schema.ts";
import { clientFor } from "../../support/dynamodb/emulator.ts";
import { fillOrders } from "../../support/dynamodb/fill.ts";
import { cloud } from "../harness/cloud.ts";
import { type Deployed, deploy, eventOf, PLATFORM } from "../harness/deployed.ts";
import { run } from "../harness/program.ts";
import { production } from "../harness/scenario.ts";
import type { GatewayResponse } from "./gateway.ts";

const API = "https://orders.example.com";
const ON_PLATFORM = `https://${PLATFORM}/live`;
const LIST = "/v1/store/orders";
/** More than one page of each bucket. */
const MANY = 10_000;
const orderAt = (id: number) => ({
  id: BigInt(id),
  petId: 9007199254740993n,
  shipDate: "2026-11-20T09:30:00Z",
});
const MANY_RECORDS = Array.from({ length: MANY }, (_, id) => orderToJson(orderAt(id))).join(",");

let deployed: Deployed;
/** Two rejections more, as if the grace of ten seconds were over. */
let goOn: () => Promise<void>;
const keys = { none: "", forged: "so_test_x", unissued: generateKey("live", "nobody"), busy: "", small: "" };
beforeAll(async () => {
  // Tables with other names than those of the stack.
  const tables = { orders: "restored-orders", accounts: "restored-accounts" };
  const config = {
    ...production,
    "store-orders:tables": tables,
    "store-orders:banPolicy": { maxRejections: 2, minutes: 1 },
    "store-orders:preview": "v2",
  };
  const outcome = await run({ stack: "production", config, bundle: true, cloud: cloud() });
  expect(outcome.stackOutputs["baseUrl"]).toBe(`${API}/v1`);
  deployed = await deploy(outcome);
  const client = clientFor(deployed.endpoint);
  const store = createDynamodbStore({ tables, client });
  await fillOrders(client, "restored", MANY, (id) => ({
    record: orderAt(id),
    status: id === 2 ? "shipped" : "pending",
  }));
  const invalid = { bucket: { N: `${bucketOf(-1n)}` }, id: { N: "-1" } };
  const Item = { ...invalid, status: { S: "lost" }, wire: { S: '{"id":-1}' } };
  await client.send(new PutItemCommand({ TableName: tables.orders, Item }));
  const accounts = createAccounts({ store: store.accounts, environment: "live" });
  const keyFor = async (id: string, assignment: PlanAssignment) => {
    await accounts.create(id, assignment);
    return ((await accounts.issueKey(id)) as IssuedKey).key;
  };
  keys.busy = await keyFor("busy", { plan: "business" });
  keys.small = await keyFor("small", { plan: "enterprise", customLimits: { perMinute: 100, perDay: 1 } });
  goOn = () => {
    const key = { accountId: "small", hash: hashKey(keys.small) };
    return store.accounts.recordRejections(key, 2, Date.now(), { maxRejections: 2, durationMs: 60_000 });
  };
  afterAll(() => client.destroy());
});
afterAll(() => deployed.stop());

interface Options {
  readonly key?: keyof typeof keys;
  readonly at?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
function send(method: string, path: string, { key = "busy", at = API, headers = {} }: Options = {}) {
  const authorization = keys[key] === "" ? {} : { authorization: `Bearer ${keys[key]}` };
  return deployed.fetch(method, at + path, { ...authorization, ...headers });
}

function expectError({ status, headers, body }: GatewayResponse, expected: number, code: string): void {
  expect({ ...JSON.parse(`${body}`), sent: status }).toEqual({
    ...{ code, message: expect.any(String), status: expected, sent: expected },
  });
  expect(headers.get("content-type")).toBe("application/json");
  expect(headers.get("x-request-id")).toBe("request-1");
}

test.each([
  ["a missing key", "GET", LIST, "none", 401, "missing_api_key"],
  ["a missing key", "DELETE", `${LIST}/1`, "none", 401, "missing_api_key"],
  // The first failed condition of each process, so it also detects whether the engine returns the old item.
  ["a key that was never issued", "GET", LIST, "unissued", 401, "invalid_api_key"],
  ["a key that was never issued", "DELETE", `${LIST}/3`, "unissued", 401, "invalid_api_key"],
  ["an order that does not exist", "DELETE", `${LIST}/99999`, "busy", 404, "order_not_found"],
  ["a shipped order", "DELETE", `${LIST}/2`, "busy", 409, "order_already_shipped"],
  ["an order whose stored status is invalid", "DELETE", `${LIST}/-1`, "busy", 500, "internal_error"],
  ["a URL that is too long", "GET", `/v1/${"a".repeat(9_000)}`, "busy", 414, "uri_too_long"],
] as const)("%s (%s) has its status, an Error body and the rate-limit headers", async (...row) => {
  const [, method, path, key, status, code] = row;
  const response = await send(method, path, { key });
  expectError(response, status, code);
  for (const name of ["limit", "remaining", "reset"])
    expect(response.headers.get(`x-ratelimit-${name}`)).toMatch(/^\d+$/);
});

describe("the buffered function", () => {
  test("responds to a cancel with 204 and no body, and to a second one with 409", async () => {
    const cancelled = await send("DELETE", `${LIST}/1`);
    expect([cancelled.status, `${cancelled.body}`]).toEqual([204, ""]);
    expectError(await send("DELETE", `${LIST}/1`), 409, "order_already_cancelled");
  });

  test("responds to the preview of v2 with pages, which are within the 6 MB of a buffered response", async () => {
    const at = async (cursor: string) => {
      const { status, body, headers } = await send("GET", `/v2/store/orders?limit=1000&order=desc${cursor}`);
      expect(status).toBe(200);
      expect(`${body}`.length).toBeLessThan(500_000);
      return { ...JSON.parse(`${body}`), link: headers.get("link") };
    };
    const first = await at("");
    const second = await at(`&cursor=${first.next}`);
    const ids = [...first.orders, ...second.orders].map(({ id }: { id: number }) => id);
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, index) => MANY - 1 - index));
    expect(ids.length).toBeGreaterThan(1_000);
    expect(first.link).toBe(`<?limit=1000&order=desc&cursor=${first.next}>; rel="next"`);
  });

  test("does not compress, because a buffered response is text", async () => {
    const { body, headers } = await send("GET", "/openapi.json", { headers: { "Accept-Encoding": "gzip" } });
    expect(headers.get("content-encoding")).toBeNull();
    expect(JSON.parse(`${body}`).openapi).toMatch(/^3\.1/);
  });

  test("rejects requests over the limit, and bans a key that continues", async () => {
    const codes: string[] = [];
    const next = async () => {
      const { status, body, headers } = await send("GET", "/v1/pets/1", { key: "small" });
      if (status === 429) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
      codes.push(JSON.parse(`${body}`).code);
      return codes.at(-1);
    };
    await next();
    let minute = 0;
    // The function answers from memory for a second, and each minute has its own count.
    const goOnOnce = async () => {
      const code = await next();
      const now = Math.floor(Date.now() / 60_000);
      if (now !== minute) await goOn();
      minute = now;
      return code;
    };
    await expect.poll(goOnOnce, { interval: 100 }).toBe("api_key_banned");
    expect(new Set(codes)).toEqual(new Set(["pet_not_found", "rate_limit_exceeded", "api_key_banned"]));
    expect((await send("GET", LIST, { key: "small" })).status).toBe(429);
  });
});

describe("the streaming function", () => {
  test("streams the list in several chunks, with exact int64 identifiers", async () => {
    const { status, headers, body, chunks, streamError } = await send("GET", LIST);
    expect(chunks).toBeGreaterThan(3);
    expect([status, headers.get("content-type"), streamError]).toEqual([200, "application/json", undefined]);
    expect(`${body}`).toBe(`[{"id":-1},${MANY_RECORDS}]`);
  });

  test("compresses the list if the client accepts gzip", async () => {
    const accepted = { "Accept-Encoding": "br, gzip" };
    const { status, headers, body } = await send("GET", LIST, { headers: accepted });
    expect([status, headers.get("content-encoding")]).toEqual([200, "gzip"]);
    expect(`${gunzipSync(body)}`).toContain(MANY_RECORDS);
  });

  test("ends the stream with an error and an unclosed array if the store fails after the first page", async () => {
    deployed.faults.queriesLeft = BUCKETS + BUCKETS / 2;
    const { status, body, streamError } = await send("GET", LIST);
    deployed.faults.queriesLeft = Number.POSITIVE_INFINITY;
    expect(status).toBe(200);
    expect(`${body}`).toMatch(/^\[\{/);
    expect(`${body}`).not.toMatch(/\]$/);
    expect(streamError).toBe("StoreUnavailableError");
    expect((await send("GET", LIST)).streamError).toBeUndefined();
  });
});

describe.each([
  ["buffered", "HEAD"],
  ["streaming", "GET"],
])("the %s function", (_name, method) => {
  test("redirects every path of a redirect host to the primary host, without a key", async () => {
    for (const path of [`${LIST}?a=1%202&a=2`, `${LIST}/7`, "/", "/anything/else"]) {
      const { status, headers } = await send(method, path, {
        at: "https://www.orders.example.com",
        key: "none",
      });
      expect([status, headers.get("location")]).toEqual([301, `https://orders.example.com${path}`]);
      expect(headers.has("x-ratelimit-limit")).toBe(false);
    }
  });

  test("serves the primary and the API Gateway hostname, and responds to other hosts with 421", async () => {
    for (const at of [API, ON_PLATFORM]) expect((await send(method, LIST, { at })).status).toBe(200);
    const role = method === "GET" ? "list" : "api";
    const event = eventOf({ method, host: "evil.example", path: LIST, headers: {} });
    const posted = await deployed.invoke(`store-orders-production-${role}-function`, event);
    expect(`${Buffer.concat(posted.chunks)}`).toContain('"statusCode":421');
  });

  test("responds with 503 and Retry-After while the store is down, and recovers", async () => {
    deployed.faults.isDown = true;
    const { status, headers } = await send(method, LIST);
    deployed.faults.isDown = false;
    expect(status).toBe(503);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    expect(headers.has("x-ratelimit-limit")).toBe(true);
    expect((await send(method, LIST)).status).toBe(200);
  });

  test("rejects a flood of forged keys, and serves the issued key", async () => {
    for (let forged = 0; forged < 5; forged++) {
      keys.forged = generateKey("live", "busy");
      expect(await send(method, LIST, { key: "forged" })).toMatchObject({ status: 401 });
    }
    expect(await send(method, LIST)).toMatchObject({ status: 200 });
  });
});

test("the OpenAPI document describes this deployment on every host", async () => {
  const primary = { url: `${API}/v1`, description: "production" };
  for (const at of [API, ON_PLATFORM]) {
    const { body } = await send("GET", "/openapi.json", { at });
    const { servers } = JSON.parse(`${body}`);
    expect(servers).toEqual([{ url: "./v1", description: "This server" }, primary]);
  }
});

test("the functions make exactly the DynamoDB calls that their policies allow", () => {
  expect(deployed.calls.size).toBe(2);
  for (const { used, denied, allowed } of deployed.calls.values()) {
    expect([...denied]).toEqual([]);
    expect([...used].sort()).toEqual(allowed);
  }
});

describe("the log", () => {
  const log = () =>
    ["list", "api"].map((role) => deployed.log(`store-orders-production-${role}-function`)).join("\n");
  const metricLines = () =>
    log()
      .split("\n")
      .filter((line) => line.includes('"_aws"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  test("contains metrics in the embedded metric format, and never a key", () => {
    const metrics = new Set<string>();
    for (const line of metricLines()) {
      const { Timestamp, CloudWatchMetrics } = line["_aws"] as {
        Timestamp: number;
        CloudWatchMetrics: { Namespace: string; Dimensions: string[][]; Metrics: { Name: string }[] }[];
      };
      expect(Math.abs(Timestamp - Date.now())).toBeLessThan(120_000);
      for (const { Namespace, Dimensions, Metrics } of CloudWatchMetrics) {
        expect(Namespace).toBe("store-orders-production");
        for (const name of Dimensions.flat()) expect(typeof line[name]).toBe("string");
        for (const { Name } of Metrics) {
          expect(typeof line[Name]).toBe("number");
          metrics.add(`${Name} by ${Dimensions.flat().join(" and ")}`);
        }
      }
    }
    expect([...metrics].toSorted()).toEqual([
      "Admitted by Plan",
      "Bans by Plan",
      "ListFirstByte by ",
      "ListRows by ",
      "Rejected by Plan",
    ]);
    for (const key of [keys.busy, keys.small]) expect(log()).not.toContain(key);
  });

  test("contains each request and the number of records of each list", () => {
    expect(metricLines()).toContainEqual(expect.objectContaining({ ListRows: MANY + 1 }));
    expect(metricLines()).toContainEqual(
      expect.objectContaining({
        ...{ requestId: "request-1", method: "DELETE", operation: "cancelOrder", status: 204 },
        ...{ accountId: "busy", Admitted: 1, Plan: "business" },
      }),
    );
  });
});
