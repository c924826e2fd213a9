import { mock } from "node:test";
import { createTelemetry } from "../../../infra/functions/telemetry.ts";
import { createAccounts, type IssuedKey } from "../../../lib/accounts/accounts.ts";
import { generateKey } from "../../../lib/accounts/api-key.ts";
import { createHandler } from "../../../lib/http/handler.ts";
import { createOrders } from "../../../lib/orders/orders.ts";
import { MINUTE_MS } from "../../../lib/plans/windows.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { clientFor } from "../../support/dynamodb/emulator.ts";
import { fillOrders } from "../../support/dynamodb/fill.ts";
import { startProxy } from "../../support/dynamodb/proxy.ts";

export interface Consumption {
  readonly operation: string;
  readonly calls: number;
  readonly writeUnits: number;
  readonly readUnits: number;
  /** Of the response. */
  readonly bytes: number;
  /** Of the lines that the function writes, with the 26 bytes that CloudWatch adds to each. */
  readonly logBytes: number;
}

export interface Measured {
  readonly operations: readonly Consumption[];
  /** The number of different custom metrics that these operations have written. */
  readonly metrics: number;
}

/** What CloudWatch adds to each line. */
export const EVENT_BYTES = 26;
const READS = /Get|Query|Scan/;
const LONG_LIST = 10_000;

/** Measures each operation against an emulator, with orders that have all fields. */
export async function measure(endpoint: string): Promise<Measured> {
  const proxy = await startProxy(endpoint);
  const client = clientFor(proxy.endpoint);
  // Once a second, what changes an order also reads whether there is an outbox. No time passes here.
  const { mock: stopped } = mock.method(performance, "now", () => 0);
  const operations: Consumption[] = [];
  const metrics = new Set<string>();
  const stores: Store[] = [];
  let logBytes = 0;
  let now = Date.UTC(2026, 10, 20, 12, 0, 10);

  async function openTables(prefix: string, orders: number) {
    await createDynamodbTables({ prefix, client });
    const record = (index: number) => ({
      ...{ id: 4_611_686_018_427_387_904n + BigInt(index), petId: 9_007_199_254_740_993n, quantity: 2 },
      ...{ shipDate: "2026-11-20T09:30:00.000Z", complete: false },
    });
    await fillOrders(client, prefix, orders, (index) => ({ record: record(index), status: "pending" }));
    const store = createDynamodbStore({ prefix, client });
    const write = (line: string) => {
      logBytes += Buffer.byteLength(line.replace(/"durationMs":[\d.]+/, '"durationMs":12.3')) + EVENT_BYTES;
      for (const metric of metricsIn(line)) metrics.add(metric);
    };
    const telemetry = createTelemetry({ namespace: "store-orders-production", write, clock: () => now });
    const handler = createHandler({
      store: telemetry.instrument(store),
      onRequest: telemetry.onRequest,
      clock: () => now,
    });
    const accounts = createAccounts({ store: store.accounts, environment: "live", clock: () => now });
    await accounts.create("acme", { plan: "enterprise", customLimits: { perMinute: 60, perDay: 100_000 } });
    for (let key = 2; key < 20; key++) await accounts.issueKey("acme");
    const { key } = (await accounts.issueKey("acme")) as IssuedKey;
    const request = async (method: string, path: string, bearer = key) => {
      const headers = { authorization: `Bearer ${bearer}` };
      const response = await handler(
        new Request(`https://orders.example.com/v1${path}`, { method, headers }),
      );
      const { byteLength } = await response.arrayBuffer();
      if (method === "GET") telemetry.onFirstByte(response.status, 12.3);
      return byteLength;
    };
    await request("GET", "/store/orders");
    stores.push(store);
    return { store, accounts, request, id: (index: number) => record(index).id };
  }

  async function count(operation: string, work: () => Promise<unknown>): Promise<void> {
    // The first of a process reads whether there is an outbox.
    for (const { orders } of stores) await orders.apply(0n, "cancel", now);
    proxy.takeOperations();
    proxy.takeUnits();
    logBytes = 0;
    const bytes = await work();
    const calls = proxy.takeOperations();
    const units = proxy.takeUnits();
    const sum = (isRead: boolean) =>
      units.reduce(
        (total, each, index) => (READS.test(calls[index] ?? "") === isRead ? total + each : total),
        0,
      );
    operations.push({
      ...{ operation, calls: calls.length, writeUnits: sum(false), readUnits: sum(true) },
      ...{ bytes: typeof bytes === "number" ? bytes : 0, logBytes },
    });
  }

  const short = await openTables("cost-short", 20);
  const cancel = (bearer?: string) => short.request("DELETE", `/store/orders/${short.id(1)}`, bearer);
  await count("cancel an order", () => cancel());
  await count("list 20 orders", () => short.request("GET", "/store/orders"));
  const page = await openTables("cost-page", 500);
  await count("list 500 orders", () => page.request("GET", "/store/orders"));
  const long = await openTables("cost-long", LONG_LIST);
  await count("list 10,000 orders", () => long.request("GET", "/store/orders"));
  now += MINUTE_MS;
  await count("cancel, the first request of an account in a minute", () => cancel());
  for (let request = 1; request < 60; request++) await cancel();
  await count("a request over the limit", () => cancel());
  await count("another one within a second", () => cancel());
  // That is reported with the next request, or else by a timer, during any of the following.
  now += 1_000;
  await cancel();
  const forge = () => cancel(generateKey("live", "acme"));
  await count("a request with a forged key", forge);
  for (let request = 1; request < 20; request++) await forge();
  await count("the 21st in a second from an address", forge);
  await count("issue a key", () => page.accounts.issueKey("acme"));
  await count("place an order", () =>
    createOrders({ store: short.store.orders }).place({ id: 7n, quantity: 2 }),
  );
  stopped.restore();
  client.destroy();
  await proxy.close();
  return { operations, metrics: metrics.size };
}

function metricsIn(line: string): readonly string[] {
  const fields = JSON.parse(line) as Record<string, string> & { _aws?: EmbeddedMetrics };
  return (fields._aws?.CloudWatchMetrics ?? []).flatMap(({ Dimensions, Metrics }) =>
    Metrics.map(({ Name }) => [Name, ...Dimensions.flat().map((name) => fields[name])].join(" ")),
  );
}

interface EmbeddedMetrics {
  readonly CloudWatchMetrics: readonly {
    readonly Dimensions: readonly string[][];
    readonly Metrics: readonly { readonly Name: string }[];
  }[];
}
