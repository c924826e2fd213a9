import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect } from "vitest";
import { buildFunctions } from "../../../infra/functions/build.ts";
import { createAccounts, type IssuedKey } from "../../../lib/accounts/accounts.ts";
import { serializeDomains } from "../../../lib/domains/mapping.ts";
import { defineDomains } from "../../../lib/domains/parse.ts";
import { orderToJson } from "../../../lib/orders/wire.ts";
import type { PlanAssignment } from "../../../lib/plans/plan-limits.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { bucketOf } from "../../../lib/stores/dynamodb/schema.ts";
import { clientFor, EMULATED, type Emulator, startEmulator } from "../../support/dynamodb/emulator.ts";
import { fillOrders } from "../../support/dynamodb/fill.ts";
import { type DynamodbProxy, startProxy } from "../../support/dynamodb/proxy.ts";
import { type GatewayResponse, readBuffered, readStreamed } from "./gateway.ts";
import { type RunningFunction, runFunction } from "./runtime-api.ts";

export const PREFIX = "functions";
export const BUCKETS = 2;
export const MANY = 3_000;
export const PLATFORM = "a1b2c3.execute-api.eu-central-1.amazonaws.com";
const DOMAINS = defineDomains(
  { primary: "orders.example.com", redirects: [{ from: "www.example.com", to: "orders.example.com" }] },
  { plan: "pro" },
);

let folder: string;
let emulator: Emulator;
let proxy: DynamodbProxy;
/** The queries that DynamoDB still answers, and whether it is down altogether. */
export const faults = { queriesLeft: Number.POSITIVE_INFINITY, isDown: false };
export let list: RunningFunction;
export let api: RunningFunction;
export let keys: Readonly<Record<"busy" | "small", string>>;

/** Runs both functions on an emulator, behind a proxy, for the tests of a file. */
export function useFunctions(): void {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "store-orders-"));
    const files = Object.entries(await buildFunctions());
    await Promise.all(files.map(([name, text]) => writeFile(join(folder, name), text)));
    emulator = await startEmulator("all-old");
    proxy = await startProxy(emulator.endpoint, ({ operation }) => {
      if (operation === "Query") faults.queriesLeft--;
      return faults.isDown || faults.queriesLeft < 0 ? "cut" : "pass";
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
      STORE_ORDERS_PREVIEW: "v2",
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
}

const recordAt = (id: number) => ({ id: BigInt(id), petId: 7n, shipDate: "2026-11-20T09:30:00Z" });
/** The valid orders as the list sends them. */
export const MANY_RECORDS: string = Array.from({ length: MANY }, (_, id) => orderToJson(recordAt(id))).join(
  ",",
);

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
      Item: { ...invalid, status: { S: "lost" }, wire: { S: '{"id":-1}' } },
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

export function eventOf(
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

export const send = async (method: string, path: string, options?: RequestOptions) =>
  readBuffered(await api.invoke(eventOf(method, path, options)));
export const stream = async (options?: RequestOptions, path = "/v1/store/orders") =>
  readStreamed(await list.invoke(eventOf("GET", path, options)));
export const both = {
  buffered: (path: string, options?: RequestOptions) => send("GET", path, options),
  streamed: (path: string, options?: RequestOptions) => stream(options, path),
};

export function expectError({ status, headers, body }: GatewayResponse, code: string): void {
  expect(headers.get("content-type")).toBe("application/json");
  expect(JSON.parse(`${body}`)).toEqual({ code, message: expect.any(String), status });
  expect(headers.get("x-request-id")).toBe("gateway-request-1");
}
