import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildFunctions } from "../../../infra/functions/build.ts";
import { createAccounts, type IssuedKey } from "../../../lib/accounts/accounts.ts";
import { serializeDomains } from "../../../lib/domains/mapping.ts";
import { defineDomains } from "../../../lib/domains/parse.ts";
import { toWire } from "../../../lib/orders/wire.ts";
import type { PlanAssignment } from "../../../lib/plans/plan-limits.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { bucketOf } from "../../../lib/stores/dynamodb/layout.ts";
import { clientFor, EMULATED, type Emulator, startEmulator } from "../../support/dynamodb/emulator.ts";
import { fillOrders } from "../../support/dynamodb/fill.ts";
import { type DynamodbProxy, startProxy } from "../../support/dynamodb/proxy.ts";
import { type GatewayResponse, readBuffered, readStreamed } from "./gateway.ts";
import { type RunningFunction, runFunction } from "./runtime-api.ts";

const PREFIX = "functions";
const BUCKETS = 2;
const MANY = 3_000;
const PLATFORM = "a1b2c3.execute-api.eu-central-1.amazonaws.com";
const DOMAINS = defineDomains(
  { primary: "orders.example.com", redirects: [{ from: "www.example.com", to: "orders.example.com" }] },
  { plan: "pro" },
);

let folder: string;
let emulator: Emulator;
let proxy: DynamodbProxy;
/** The number of queries after which DynamoDB stops responding. */
let queriesLeft = Number.POSITIVE_INFINITY;
let isDown = false;
let list: RunningFunction;
let api: RunningFunction;
let keys: Readonly<Record<"busy" | "small", string>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "store-orders-"));
  const files = Object.entries(await buildFunctions());
  await Promise.all(files.map(([name, text]) => writeFile(join(folder, name), text)));
  emulator = await startEmulator("all-old");
  proxy = await startProxy(emulator.endpoint, ({ operation }) => {
    if (operation === "Query") queriesLeft--;
    return isDown || queriesLeft < 0 ? "cut" : "pass";
  });
  keys = await createFixture();
  const environment = {
    AWS_ENDPOINT_URL: proxy.endpoint,
    AWS_REGION: EMULATED.region,
    AWS_ACCESS_KEY_ID: EMULATED.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: EMULATED.credentials.secretAccessKey,
    STORE_ORDERS_DYNAMODB: PREFIX,
    STORE_ORDERS_BAN_POLICY: JSON.stringify({ maxRejections: 2, durationMs: 60_000 }),
    STORE_ORDERS_DOMAINS: serializeDomains(DOMAINS),
  };
  [list, api] = await Promise.all([
    runFunction(folder, "entry.list", environment),
    runFunction(folder, "entry.api", environment),
  ]);
});
afterAll(async () => {
  await Promise.all([list.stop(), api.stop()]);
  await proxy.close();
  await emulator.stop();
  await rm(folder, { recursive: true });
});

const recordAt = (id: number) => ({ id: BigInt(id), petId: 7n, shipDate: "2026-11-20T09:30:00Z" });

/** Creates orders for several pages, one invalid order, and two accounts with a key each. Returns the keys. */
async function createFixture() {
  const client = clientFor(emulator.endpoint);
  await createDynamodbTables({ prefix: PREFIX, client, buckets: BUCKETS });
  const store = createDynamodbStore({ prefix: PREFIX, client });
  await fillOrders(client, { prefix: PREFIX, buckets: BUCKETS }, MANY, (id) => ({
    record: recordAt(id),
    status: id === 2 ? "shipped" : "pending",
  }));
  const invalid = { bucket: { N: `${bucketOf(-1n, BUCKETS)}` }, id: { N: "-1" } };
  await client.send(
    new PutItemCommand({
      TableName: `${PREFIX}-orders`,
      Item: { ...invalid, status: { S: "pending" }, wire: { S: '{"id":-1,' } },
    }),
  );
  const accounts = createAccounts({ store: store.accounts, environment: "test" });
  const keyFor = async (id: string, assignment: PlanAssignment) => {
    await accounts.create(id, assignment);
    return ((await accounts.issueKey(id)) as IssuedKey).key;
  };
  const issued = {
    busy: await keyFor("busy", { plan: "business" }),
    small: await keyFor("small", { plan: "enterprise", customLimits: { perMinute: 100, perDay: 1 } }),
  };
  client.destroy();
  return issued;
}

interface RequestOptions {
  readonly key?: string;
  readonly host?: string;
  readonly headers?: Readonly<Record<string, readonly string[]>>;
  readonly query?: Readonly<Record<string, readonly string[]>>;
}

function eventOf(
  method: string,
  path: string,
  { key = keys.busy, host = PLATFORM, headers, query }: RequestOptions = {},
) {
  return {
    resource: "/{proxy+}",
    httpMethod: method,
    path,
    headers: null,
    multiValueHeaders: { ...(key === "" ? {} : { Authorization: [`Bearer ${key}`] }), ...headers },
    queryStringParameters: null,
    multiValueQueryStringParameters: query ?? null,
    pathParameters: null,
    body: null,
    isBase64Encoded: false,
    requestContext: {
      apiId: "a1b2c3",
      domainName: host,
      stage: "live",
      path: `/live${path}`,
      requestId: "gateway-request-1",
      identity: { sourceIp: "192.0.2.1" },
    },
  };
}

const send = async (method: string, path: string, options?: RequestOptions) =>
  readBuffered(await api.invoke(eventOf(method, path, options)));
const stream = async (options?: RequestOptions, path = "/v1/store/orders") =>
  readStreamed(await list.invoke(eventOf("GET", path, options)));
const both = {
  buffered: (path: string, options?: RequestOptions) => send("GET", path, options),
  streamed: (path: string, options?: RequestOptions) => stream(options, path),
};

function expectError({ status, headers, body }: GatewayResponse, code: string): void {
  expect(headers.get("content-type")).toBe("application/json");
  expect(JSON.parse(`${body}`)).toEqual({ code, message: expect.any(String), status });
  expect(headers.get("x-request-id")).toBe("gateway-request-1");
}

describe("the buffered function", () => {
  test.each([
    ["a missing key", "GET", "/v1/store/orders", { key: "" }, 401, "missing_api_key"],
    ["an invalid key", "GET", "/v1/store/orders", { key: "so_test_x" }, 401, "invalid_api_key"],
    ["an order that does not exist", "DELETE", "/v1/store/orders/99999", {}, 404, "order_not_found"],
    ["a path that does not exist", "GET", "/v1/store", {}, 404, "route_not_found"],
    ["a pet", "GET", "/v1/pets/1", {}, 404, "pet_not_found"],
    ["an unsupported method", "PUT", "/v1/store/orders", {}, 405, "method_not_allowed"],
    ["a shipped order", "DELETE", "/v1/store/orders/2", {}, 409, "order_already_shipped"],
    ["an order whose stored record is invalid", "DELETE", "/v1/store/orders/-1", {}, 500, "internal_error"],
    ["a method that is not implemented", "TRACE", "/v1/store/orders", {}, 501, "not_implemented"],
    ["a URL that is too long", "GET", `/v1/${"a".repeat(9_000)}`, {}, 414, "uri_too_long"],
  ] as const)(
    "responds to %s with its status, an Error body and the rate-limit headers",
    async (_case, method, path, options, status, code) => {
      const response = await send(method, path, options);
      expect(response.status).toBe(status);
      expectError(response, code);
      for (const name of ["limit", "remaining", "reset"]) {
        expect(response.headers.get(`x-ratelimit-${name}`)).toMatch(/^\d+$/);
      }
    },
  );

  test("responds to a cancel with 204 and no body, and to a second one with 409", async () => {
    const cancelled = await send("DELETE", "/v1/store/orders/1");
    expect([cancelled.status, `${cancelled.body}`]).toEqual([204, ""]);
    const second = await send("DELETE", "/v1/store/orders/1");
    expect(second.status).toBe(409);
    expectError(second, "order_already_cancelled");
  });

  test("responds to HEAD of the list with its headers and no body", async () => {
    const { status, body, headers } = await send("HEAD", "/v1/store/orders");
    expect([status, `${body}`, headers.get("content-type")]).toEqual([200, "", "application/json"]);
  });

  test("does not compress, because a buffered response is text", async () => {
    const options = { headers: { "Accept-Encoding": ["gzip"] } };
    expect(JSON.parse(`${(await send("GET", "/openapi.json", options)).body}`).openapi).toMatch(/^3\.1/);
    const { body, headers } = await send("GET", "/v1/store/orders", options);
    expect(headers.get("content-encoding")).toBeNull();
    expect(`${body}`).toMatch(/^\[.*\]$/);
  });

  test("rejects requests over the limit, and bans a key that continues", async () => {
    const codes: string[] = [];
    for (let call = 0; call < 10 && codes.at(-1) !== "api_key_banned"; call++) {
      const { status, body, headers } = await send("GET", "/v1/pets/1", { key: keys.small });
      codes.push(JSON.parse(`${body}`).code);
      if (status === 429) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(new Set(codes)).toEqual(new Set(["pet_not_found", "rate_limit_exceeded", "api_key_banned"]));
  });
});

describe("the streaming function", () => {
  const records = Array.from({ length: MANY }, (_, id) => toWire(recordAt(id)));

  test("streams the list in several chunks", async () => {
    const posted = await list.invoke(eventOf("GET", "/v1/store/orders"));
    const { status, headers, body, streamError } = readStreamed(posted);
    expect(posted.chunks.length).toBeGreaterThan(3);
    expect([status, headers.get("content-type"), streamError]).toEqual([200, "application/json", undefined]);
    expect(`${body}`).toBe(`[{"id":-1,,${records.join(",")}]`);
  });

  test("compresses the list if the client accepts gzip", async () => {
    const { headers, body } = await stream({ headers: { "Accept-Encoding": ["br, gzip"] } });
    expect(headers.get("content-encoding")).toBe("gzip");
    expect(`${gunzipSync(body)}`).toContain(records.join(","));
  });

  test("sends an error with a body", async () => {
    const response = await stream({ key: "" });
    expect(response.status).toBe(401);
    expectError(response, "missing_api_key");
  });

  test("sends one byte instead of an empty body, because an empty stream hangs", async () => {
    const { status, body } = readStreamed(await list.invoke(eventOf("HEAD", "/v1/store/orders")));
    expect([status, `${body}`]).toEqual([200, "\n"]);
  });

  test("ends the stream with an error and an unclosed array if the store fails after the first page", async () => {
    queriesLeft = BUCKETS * 2;
    const { status, body, streamError } = await stream();
    queriesLeft = Number.POSITIVE_INFINITY;
    expect(status).toBe(200);
    expect(`${body}`).toMatch(/^\[\{/);
    expect(`${body}`).not.toMatch(/\]$/);
    expect(streamError).toBe("StoreUnavailableError");
    expect((await stream()).streamError).toBeUndefined();
  });
});

describe.each(["buffered", "streamed"] as const)("the %s function", (mode) => {
  test("redirects a redirect host to the primary host with path and query, without a key", async () => {
    const { status, headers, body } = await both[mode]("/v1/store/orders", {
      host: "www.example.com",
      key: "",
      query: { a: ["1 2"] },
    });
    expect(status).toBe(301);
    expect(headers.get("location")).toBe("https://orders.example.com/v1/store/orders?a=1%202");
    expect(headers.has("x-ratelimit-limit")).toBe(false);
    expect(`${body}`).toContain("orders.example.com");
  });

  test("serves the primary and the API Gateway hostname, and responds to other hosts with 421", async () => {
    expect((await both[mode]("/v1/store/orders", { host: "orders.example.com" })).status).toBe(200);
    expect((await both[mode]("/v1/store/orders", { host: PLATFORM })).status).toBe(200);
    const misdirected = await both[mode]("/v1/store/orders", { host: "evil.example" });
    expect(misdirected.status).toBe(421);
    expectError(misdirected, "misdirected_request");
  });

  test("responds with 503 and Retry-After while the store is down, and recovers", async () => {
    isDown = true;
    const down = await both[mode]("/v1/store/orders");
    isDown = false;
    expect(down.status).toBe(503);
    expectError(down, "store_unavailable");
    expect(Number(down.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(down.headers.has("x-ratelimit-limit")).toBe(true);
    expect((await both[mode]("/v1/store/orders")).status).toBe(200);
  });
});

describe("the log", () => {
  const lines = (running: RunningFunction) =>
    running
      .log()
      .split("\n")
      .filter((line) => line.includes('"_aws"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  test("contains metrics in the embedded metric format, and never a key", async () => {
    const metrics = new Set<string>();
    for (const line of [...lines(list), ...lines(api)]) {
      const { Timestamp, CloudWatchMetrics } = line["_aws"] as {
        Timestamp: number;
        CloudWatchMetrics: { Namespace: string; Dimensions: string[][]; Metrics: { Name: string }[] }[];
      };
      expect(Math.abs(Timestamp - Date.now())).toBeLessThan(120_000);
      for (const { Namespace, Dimensions, Metrics } of CloudWatchMetrics) {
        expect(Namespace).toBe(PREFIX);
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
      "Requests by Operation and Status",
    ]);
    for (const key of Object.values(keys)) expect(list.log() + api.log()).not.toContain(key);
  });

  test("contains each request and the number of records of each list", () => {
    expect(lines(list)).toContainEqual(expect.objectContaining({ ListRows: MANY + 1 }));
    expect(lines(api)).toContainEqual(
      expect.objectContaining({
        requestId: "gateway-request-1",
        method: "DELETE",
        operation: "cancelOrder",
        status: 204,
        accountId: "busy",
        Operation: "cancelOrder",
        Status: "204",
        Requests: 1,
        Admitted: 1,
        Plan: "business",
      }),
    );
  });
});
