import { Registry } from "prom-client";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { BAN_GRACE_MS } from "../../lib/accounts/admission.ts";
import { MAX_STORE_CALL_MS } from "../../lib/core/time.ts";
import { createMetrics, type MetricsServer, startMetricsServer } from "../../lib/metrics/index.ts";
import { performStoreOperation } from "../../lib/orders/store-operation.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createHandlerFixture } from "../http/fixture.ts";

/** The samples of the service, without those of the process: `name{labels} value`. */
async function samplesOf(registry: Registry, prefix: string): Promise<readonly string[]> {
  return (await registry.metrics()).split("\n").filter((line) => line.startsWith(prefix));
}

async function createFixture() {
  const metrics = createMetrics({ registry: new Registry() });
  const store = metrics.instrument(createMemoryStore());
  const shop = await createHandlerFixture({
    store: { ...store, close: async () => {} },
    onRequest: metrics.onRequest,
  });
  return { ...shop, ...metrics };
}

test("requests are counted by operation and status, with their latency and the orders that they listed", async () => {
  const { send, registry } = await createFixture();
  await send("GET", "/v1/store/orders");
  await send("DELETE", "/v1/store/orders/1");
  await send("DELETE", "/v1/store/orders/1");
  await send("GET", "/nowhere");
  const requests = await samplesOf(registry, "store_orders_requests_total");
  expect(requests.filter((sample) => !sample.endsWith(" 0"))).toEqual([
    'store_orders_requests_total{operation="listOrders",status="200"} 1',
    'store_orders_requests_total{operation="cancelOrder",status="204"} 1',
    'store_orders_requests_total{operation="cancelOrder",status="409"} 1',
    'store_orders_requests_total{operation="none",status="404"} 1',
  ]);
  expect(await samplesOf(registry, "store_orders_listed_orders_total")).toEqual([
    "store_orders_listed_orders_total 4",
  ]);
  expect(await samplesOf(registry, "store_orders_request_duration_seconds_count")).toEqual([
    'store_orders_request_duration_seconds_count{operation="listOrders"} 1',
    'store_orders_request_duration_seconds_count{operation="cancelOrder"} 2',
    'store_orders_request_duration_seconds_count{operation="none"} 1',
  ]);
});

test("the connections of a store that has a pool are shown as they are when they are read", async () => {
  const metrics = createMetrics({ registry: new Registry() });
  const counts = { busy: 1, idle: 2, waiting: 3 };
  metrics.instrument({ ...createMemoryStore(), connections: () => counts });
  const samples = () => samplesOf(metrics.registry, "store_orders_database_connections");
  expect(await samples()).toHaveLength(3);
  counts.waiting = 4;
  expect(await samples()).toContain('store_orders_database_connections{state="waiting"} 4');
});

test("the counters of failures and of refused connections exist from the start, so that an alert sees the first one", async () => {
  const operations = [{ id: "listOrders" }, { id: "readStatus" }];
  const metrics = createMetrics({ registry: new Registry(), operations });
  const before = await samplesOf(metrics.registry, "store_orders_requests_total");
  expect(before).toEqual(
    ["listOrders", "readStatus", "none"].flatMap((operation) =>
      [500, 503].map(
        (status) => `store_orders_requests_total{operation="${operation}",status="${status}"} 0`,
      ),
    ),
  );
  metrics.onRequest({
    requestId: "r",
    method: "GET",
    operation: "listOrders",
    status: 500,
    durationMs: 1,
    bodyEnd: "complete",
  });
  expect((await samplesOf(metrics.registry, "store_orders_requests_total"))[0]).toBe(
    'store_orders_requests_total{operation="listOrders",status="500"} 1',
  );
  const refused = () => samplesOf(metrics.registry, "store_orders_connections_refused_total");
  expect(await refused()).toEqual(["store_orders_connections_refused_total 0"]);
  const server = { refusedConnections: 3 };
  metrics.watch(server);
  expect(await refused()).toEqual(["store_orders_connections_refused_total 3"]);
  server.refusedConnections = 4;
  expect(await refused()).toEqual(["store_orders_connections_refused_total 4"]);
});

test("the counters of bans, and of what would be rejected, exist from the start for each plan", async () => {
  const plans = { free: { perMinute: 1, perDay: 1 }, gold: { perMinute: 2, perDay: 2 } };
  const { registry } = createMetrics({ registry: new Registry(), plans });
  expect(await samplesOf(registry, "store_orders_bans_total")).toEqual(
    ["free", "gold"].map((plan) => `store_orders_bans_total{plan="${plan}"} 0`),
  );
  expect(await samplesOf(registry, "store_orders_would_reject_total")).toHaveLength(4);
});

test("a store whose backlog never settles hides no other metric", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { registry, instrument } = createMetrics({ registry: new Registry() });
  const store = createMemoryStore();
  Object.assign(store.outbox ?? {}, { backlog: () => new Promise<never>(() => {}) });
  instrument(store);
  const read = samplesOf(registry, "store_orders_build_info");
  await vi.advanceTimersByTimeAsync(MAX_STORE_CALL_MS);
  expect(await read).toHaveLength(1);
});

test("the build is a metric that is always 1, with what describes it as labels", async () => {
  const buildInfo = { version: "1.2.3", store: "sqlite" };
  const { registry } = createMetrics({ registry: new Registry(), buildInfo });
  expect(await samplesOf(registry, "store_orders_build_info")).toEqual([
    `store_orders_build_info{version="1.2.3",store="sqlite",node="${process.version}"} 1`,
  ]);
});

test("orders are counted that the store lists in the transaction of the admission", async () => {
  const metrics = createMetrics({ registry: new Registry() });
  const memory = createMemoryStore();
  const store = {
    ...memory,
    accounts: {
      ...memory.accounts,
      performsOn: memory.orders,
      async admit(...[key, at, policy, operation]: Parameters<typeof memory.accounts.admit>) {
        const admission = await memory.accounts.admit(key, at, policy);
        if (!admission.ok || operation === undefined) return admission;
        return { ...admission, outcome: await performStoreOperation(memory.orders, operation, at) };
      },
    },
  };
  const { send } = await createHandlerFixture({
    store: { ...metrics.instrument(store), close: async () => {} },
  });
  expect(JSON.parse((await send("GET", "/v1/store/orders")).text)).toHaveLength(4);
  expect((await send("DELETE", "/v1/store/orders/1")).status).toBe(204);
  expect(await samplesOf(metrics.registry, "store_orders_listed_orders_total")).toEqual([
    "store_orders_listed_orders_total 4",
  ]);
});

test("admitted, rejected and banned requests are counted by plan, and each ban once", async () => {
  const { send, registry, time } = await createFixture();
  for (let request = 0; request < 61; request++) await send("GET", "/v1/store/orders");
  time.now += BAN_GRACE_MS;
  for (let request = 0; request < 20 + 5; request++) await send("GET", "/v1/store/orders");
  await send("GET", "/v1/store/orders", { authorization: "" });
  await send("GET", "/openapi.json");
  expect(await samplesOf(registry, "store_orders_admissions_total")).toEqual([
    'store_orders_admissions_total{plan="free",outcome="admitted"} 60',
    'store_orders_admissions_total{plan="free",outcome="rejected"} 21',
    'store_orders_admissions_total{plan="free",outcome="banned"} 5',
    'store_orders_admissions_total{plan="none",outcome="rejected"} 1',
  ]);
  const started = await samplesOf(registry, "store_orders_bans_total");
  expect(started.filter((sample) => !sample.endsWith(" 0"))).toEqual([
    'store_orders_bans_total{plan="free"} 1',
  ]);
});

test("a request that the store fails is counted as a store error", async () => {
  const metrics = createMetrics({ registry: new Registry() });
  metrics.onRequest({
    requestId: "r-1",
    method: "GET",
    status: 503,
    durationMs: 1,
    errorCode: "store_unavailable",
    bodyEnd: "complete",
  });
  expect(await samplesOf(metrics.registry, "store_orders_store_errors_total")).toEqual([
    "store_orders_store_errors_total 1",
  ]);
  expect(await samplesOf(metrics.registry, "store_orders_admissions_total")).toEqual([]);
});

test("callers cannot create series: no path, method, key or address becomes a label", async () => {
  const { send, registry, accounts } = await createFixture();
  await accounts.setPlan("shop", { plan: "business" });
  const methods = ["GET", "DELETE", "PUT", "BREW"];
  for (let request = 0; request < 400; request++) {
    const path = request % 2 === 0 ? `/v1/store/orders/${request}` : `/${request}`;
    await send(methods[request % 4] ?? "", path, {}, { address: `192.0.2.${request % 256}` });
  }
  const series = await samplesOf(registry, "store_orders_");
  expect(series.length).toBeLessThan(80);
  expect(series.join("\n")).not.toMatch(/192\.0\.2|shop|BREW|\/v1/);
});

let server: MetricsServer | undefined;
afterEach(() => server?.close());

test("the metrics are served at /metrics only, with those of the process", async () => {
  server = await startMetricsServer({ metrics: createMetrics(), port: 0 });
  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
  const response = await fetch(server.url);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const text = await response.text();
  expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds \d/m);
  expect(text).toMatch(/^process_resident_memory_bytes \d/m);
  expect((await fetch(server.url.replace("/metrics", "/"))).status).toBe(404);
  expect((await fetch(server.url, { method: "POST" })).status).toBe(404);
});

test("a server in front waits for the answer of a database about a host, which may fail", async () => {
  const isCustomHost = async (host: string) => {
    if (host === "down.example.com") throw new Error("connection refused");
    return host === "shop.example.com";
  };
  server = await startMetricsServer({ metrics: createMetrics(), port: 0, isCustomHost });
  const ask = server.url.replace("/metrics", "/domains/ask?domain=");
  const status = async (host: string) => (await fetch(`${ask}${host}`)).status;
  expect(await status("shop.example.com")).toBe(200);
  expect(await status("other.example.com")).toBe(404);
  expect(await status("down.example.com")).toBe(503);
});

test("a lookup that throws and a registry without text fail one request each, and do not end the process", async () => {
  const registry = Object.assign(new Registry(), { metrics: async () => ({}) as string });
  const isCustomHost = () => {
    throw new Error("no table");
  };
  server = await startMetricsServer({ metrics: { registry }, port: 0, isCustomHost });
  const response = await fetch(server.url.replace("/metrics", "/domains/ask?domain=shop.example.com"));
  expect(response.status).toBe(503);
  await expect(fetch(server.url)).rejects.toThrow("fetch failed");
});

test("the age of changes that a clock nine years ahead wrote grows from the time at which they are first measured", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { registry, instrument } = createMetrics({ registry: new Registry() });
  const store = createMemoryStore();
  instrument(store);
  await store.outbox?.switch(true);
  const oldest = async () =>
    Number(
      /oldest_timestamp_seconds\{state="waiting"\} (\S+)/.exec(
        (await samplesOf(registry, "store_orders_outbox")).join("\n"),
      )?.[1],
    );
  const began = Date.now();
  await store.orders.place([{ record: { id: 1n }, status: "pending" }], began + 9 * 365 * 86_400_000);
  expect(await oldest()).toBe(began / 1_000);
  vi.setSystemTime(began + 900_000);
  expect(await oldest()).toBe(began / 1_000);
  await store.orders.place([{ record: { id: 2n }, status: "pending" }], began - 5_000);
  expect(await oldest()).toBe(began / 1_000 - 5);
});

test("the outbox is measured while it has changes, and a store that fails hides no other metric", async () => {
  const { registry, instrument } = createMetrics({ registry: new Registry() });
  const store = createMemoryStore();
  const { outbox = expect.fail() } = store;
  instrument(store);
  const samples = () => samplesOf(registry, "store_orders_outbox");
  const counts = (waiting: number, failed: number) => [
    `store_orders_outbox_orders{state="waiting"} ${waiting}`,
    `store_orders_outbox_orders{state="failed"} ${failed}`,
  ];
  expect(await samples()).toEqual(counts(0, 0));
  await outbox.switch(true);
  await store.orders.place([{ record: { id: 1n }, status: "pending" }], 5_000);
  const oldest = 'store_orders_outbox_oldest_timestamp_seconds{state="waiting"} 5';
  expect(await samples()).toEqual([...counts(1, 0), oldest]);
  await outbox.lease(1, 6_000, -7);
  await outbox.postpone(1n, -7, undefined);
  expect(await samples()).toEqual(counts(0, 1));
  instrument({ ...store, outbox: { ...outbox, backlog: () => Promise.reject(new Error("down")) } });
  expect(await samples()).toEqual([]);
  expect(await samplesOf(registry, "store_orders_build_info")).toHaveLength(1);
});
