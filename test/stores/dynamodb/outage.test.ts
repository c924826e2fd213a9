import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { StoreUnavailableError } from "../../../lib/errors.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { type FaultyProxy, startFaultyProxy } from "../../faults/dynamodb/faulty-proxy.ts";
import { clientFor, EMULATED, type Emulator, startEmulator } from "../../support/dynamodb/emulator.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const KEY = { accountId: "shop", hash: "1".repeat(64) };
const BUDGET = 4_000;

/** Points the environment, from which the store makes its client, to an endpoint. */
function pointTo(port: number): void {
  vi.stubEnv("AWS_ENDPOINT_URL", `http://127.0.0.1:${port}`);
  vi.stubEnv("AWS_REGION", EMULATED.region);
  vi.stubEnv("AWS_ACCESS_KEY_ID", EMULATED.credentials.accessKeyId);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", EMULATED.credentials.secretAccessKey);
}

afterEach(() => vi.unstubAllEnvs());

describe("an engine that does not do its part", () => {
  test("that is stopped in mid-traffic makes calls fail as unavailable, and work again when it is back", async () => {
    const directory = await mkdtemp(join(tmpdir(), "store-orders-"));
    let emulator = await startEmulator("all-old", { directory });
    pointTo(emulator.port);
    const store = createDynamodbStore({ prefix: "outage" });
    await createDynamodbTables({ prefix: "outage" });
    await store.accounts.create({
      id: "shop",
      plan: "business",
      keys: [{ id: "shop.first", hash: KEY.hash, createdAt: AT }],
    });

    const outcomes: string[] = [];
    let stopping = false;
    const traffic = Array.from({ length: 8 }, async () => {
      while (!stopping) {
        const told = await store.accounts.admit(KEY, AT).then(
          ({ ok }) => (ok ? "admitted" : "rejected"),
          (error) => (error instanceof StoreUnavailableError ? "unavailable" : String(error)),
        );
        if (outcomes.at(-1) !== told) outcomes.push(told);
      }
    });
    const seen = (outcome: string) => vi.waitUntil(() => outcomes.at(-1) === outcome, { timeout: 10_000 });
    await seen("admitted");
    await emulator.stop();
    await seen("unavailable");
    emulator = await startEmulator("all-old", { port: emulator.port, directory });
    await seen("admitted");
    stopping = true;
    await Promise.all(traffic);
    expect(new Set(outcomes)).toEqual(new Set(["admitted", "unavailable"]));

    await store.close();
    await emulator.stop();
    await rm(directory, { recursive: true });
  });

  test("that accepts and never answers is unavailable within the budget", async () => {
    const silent = await startFaultyProxy(0);
    silent.choose = () => "hang";
    pointTo(silent.port);
    const store = createDynamodbStore({ prefix: "silent" });
    // The budget holds with a client whose own patience is endless, too.
    const patient = new DynamoDBClient();
    const began = performance.now();
    const calls = [store, createDynamodbStore({ prefix: "silent", client: patient })].flatMap((silenced) => [
      silenced.accounts.admit(KEY, AT),
      silenced.orders.apply(1n, "cancel", AT),
      silenced.orders.list()[Symbol.asyncIterator]().next(),
      silenced.orders.place([{ record: { id: 1n }, status: "pending" }]),
    ]);
    const results = await Promise.allSettled(calls);
    for (const result of results) {
      expect(result).toMatchObject({ reason: expect.any(StoreUnavailableError) });
    }
    expect(performance.now() - began).toBeLessThan(BUDGET + 2_000);
    await store.close();
    patient.destroy();
    await silent.close();
  });

  test("that throttles is tried again, then unavailable with the reason as its cause", async () => {
    const throttling = await startFaultyProxy(0);
    throttling.choose = () => "throttle";
    pointTo(throttling.port);
    const store = createDynamodbStore({ prefix: "throttled" });
    const error = await store.accounts.admit(KEY, AT).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error).toMatchObject({
      retryable: true,
      cause: { name: "ProvisionedThroughputExceededException" },
    });
    expect(throttling.had.throttle).toBe(3);
    await store.close();
    await throttling.close();
  });

  test("that has no such tables is unavailable", async () => {
    const emulator = await startEmulator("as-is");
    pointTo(emulator.port);
    const store = createDynamodbStore({ prefix: "nowhere" });
    await expect(store.accounts.admit(KEY, AT)).rejects.toMatchObject({
      code: "store_unavailable",
      cause: { name: "ResourceNotFoundException" },
    });
    await store.close();
    await emulator.stop();
  });
});

describe("an answer that is lost", () => {
  let emulator: Emulator;
  let lossy: FaultyProxy;
  let store: Store;
  beforeAll(async () => {
    emulator = await startEmulator("all-old");
    lossy = await startFaultyProxy(emulator.port);
    // The first answer to every write is lost.
    lossy.choose = ({ operation, attempt }) =>
      /UpdateItem|PutItem/.test(operation) && attempt === 1 ? "lose" : "pass";
    pointTo(emulator.port);
    await createDynamodbTables({ prefix: "lossy" });
    pointTo(lossy.port);
    store = createDynamodbStore({ prefix: "lossy" });
    await store.orders.find(0n);
  });
  afterAll(async () => {
    await store.close();
    await lossy.close();
    await emulator.stop();
  });
  beforeEach(() => {
    lossy.had.lose = 0;
    lossy.meanwhile = undefined;
  });

  test("does not make an order or a move of it look like somebody else's", async () => {
    const { orders } = store;
    expect(await orders.place([{ record: { id: 1n }, status: "pending" }])).toEqual(["placed"]);
    expect(await orders.place([{ record: { id: 2n }, status: "pending" }])).toEqual(["placed"]);
    expect(await orders.apply(1n, "cancel", AT)).toMatchObject({
      ok: true,
      order: { status: "cancelled" },
    });
    expect(await orders.apply(2n, "ship", AT)).toMatchObject({ ok: true, order: { status: "shipped" } });
    expect(lossy.had.lose).toBe(4);
    expect(await orders.apply(2n, "ship", AT)).toMatchObject({
      ok: false,
      code: "order_already_shipped",
      status: "shipped",
      event: "ship",
    });
  });

  test("does not make a shipment look like somebody else's where it was fulfilled meanwhile", async () => {
    await store.orders.place([{ record: { id: 3n }, status: "pending" }]);
    const client = clientFor(emulator.endpoint);
    const other = createDynamodbStore({ prefix: "lossy", client });
    lossy.meanwhile = () => other.orders.apply(3n, "fulfil", AT);
    const shipDate = new Date(AT).toISOString();
    expect(await store.orders.apply(3n, "ship", AT)).toEqual({
      ok: true,
      order: { record: { id: 3n, shipDate }, status: "shipped" },
    });
    expect(await other.orders.find(3n)).toEqual({
      record: { id: 3n, shipDate, complete: true },
      status: "shipped",
    });
    client.destroy();
  });

  test("does not make an account look taken, nor a change of it lost", async () => {
    const { accounts } = store;
    const settings = { id: "shop", plan: "free", keys: [] } as const;
    expect((await accounts.create(settings)).ok).toBe(true);
    expect((await accounts.create(settings)).ok).toBe(false);
    const changed = await accounts.update("shop", (was) => ({ ok: true, account: { ...was, plan: "pro" } }));
    expect(changed).toMatchObject({ account: { plan: "pro" } });
    expect(lossy.had.lose).toBe(3);
  });

  test("counts an admitted request once more, and admits none for nothing", async () => {
    const { accounts } = store;
    const keys = [{ id: "busy.first", hash: KEY.hash, createdAt: AT }];
    await accounts.create({ id: "busy", plan: "free", keys });
    const admit = () => accounts.admit({ ...KEY, accountId: "busy" }, AT);
    expect((await admit()).ok).toBe(true);
    expect((await admit()).ok).toBe(true);
    // Three answers to writes that counted were lost: the one that opened the minute, and one for each request.
    expect((await accounts.find("busy"))?.usage.minute.count).toBe(2 + 3);
  });
});
