import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { addKey } from "../../../lib/accounts/account.ts";
import { withRejectionCache } from "../../../lib/accounts/rejection-cache.ts";
import { StoreUnavailableError } from "../../../lib/errors.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { clientFor, EMULATED, type Emulator, startEmulator } from "../../support/dynamodb/emulator.ts";
import { type DynamodbProxy, startProxy } from "../../support/dynamodb/proxy.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const KEY = { accountId: "acme", hash: "1".repeat(64) };
const CALL_TIMEOUT_MS = 4_000;

/** Sets the environment from which the store creates its client. */
function pointTo(port: number): void {
  vi.stubEnv("AWS_ENDPOINT_URL", `http://127.0.0.1:${port}`);
  vi.stubEnv("AWS_REGION", EMULATED.region);
  vi.stubEnv("AWS_ACCESS_KEY_ID", EMULATED.credentials.accessKeyId);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", EMULATED.credentials.secretAccessKey);
}

afterEach(() => vi.unstubAllEnvs());

describe("an unavailable engine", () => {
  test("calls fail as unavailable while the engine is stopped, and succeed once it runs again", async () => {
    const directory = await mkdtemp(join(tmpdir(), "store-orders-"));
    let emulator = await startEmulator("all-old", { directory });
    pointTo(emulator.port);
    const store = createDynamodbStore({ prefix: "outage" });
    await createDynamodbTables({ prefix: "outage" });
    await store.accounts.create({
      id: "acme",
      plan: "business",
      keys: [{ id: "acme.first", hash: KEY.hash, createdAt: AT }],
    });

    const outcomes: string[] = [];
    let stopping = false;
    const traffic = Array.from({ length: 8 }, async () => {
      while (!stopping) {
        const outcome = await store.accounts.admit(KEY, AT).then(
          ({ ok }) => (ok ? "admitted" : "rejected"),
          (error) => (error instanceof StoreUnavailableError ? "unavailable" : String(error)),
        );
        if (outcomes.at(-1) !== outcome) outcomes.push(outcome);
      }
    });
    const waitFor = (outcome: string) => vi.waitUntil(() => outcomes.at(-1) === outcome, { timeout: 10_000 });
    await waitFor("admitted");
    await emulator.stop();
    await waitFor("unavailable");
    emulator = await startEmulator("all-old", { port: emulator.port, directory });
    await waitFor("admitted");
    stopping = true;
    await Promise.all(traffic);
    expect(new Set(outcomes)).toEqual(new Set(["admitted", "unavailable"]));

    await store.close();
    await emulator.stop();
    await rm(directory, { recursive: true });
  });

  test("calls fail as unavailable within 4 seconds if the engine accepts connections but never responds", async () => {
    const silentEngine = await startProxy();
    silentEngine.chooseFault = () => "hang";
    pointTo(silentEngine.port);
    const store = createDynamodbStore({ prefix: "silent" });
    // The limit also applies to a client without timeouts.
    const withoutTimeouts = new DynamoDBClient();
    const began = performance.now();
    const calls = [store, createDynamodbStore({ prefix: "silent", client: withoutTimeouts })].flatMap(
      (store) => [
        store.accounts.admit(KEY, AT),
        store.orders.apply(1n, "cancel", AT),
        store.orders.list()[Symbol.asyncIterator]().next(),
        store.orders.place([{ record: { id: 1n }, status: "pending" }]),
      ],
    );
    const results = await Promise.allSettled(calls);
    for (const result of results) {
      expect(result).toMatchObject({ reason: expect.any(StoreUnavailableError) });
    }
    expect(performance.now() - began).toBeLessThan(CALL_TIMEOUT_MS + 2_000);
    await store.close();
    withoutTimeouts.destroy();
    await silentEngine.close();
  });

  test("a call fails as unavailable and names the table if the tables do not exist", async () => {
    const emulator = await startEmulator("as-is");
    pointTo(emulator.port);
    const store = createDynamodbStore({ prefix: "nowhere" });
    await expect(store.accounts.admit(KEY, AT)).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(
        /^The DynamoDB table 'nowhere-accounts' does not exist\. Check the prefix/,
      ),
      cause: { name: "ResourceNotFoundException" },
    });
    await store.close();
    await emulator.stop();
  });
});

describe("when the response to a write is lost", () => {
  let emulator: Emulator;
  let lossy: DynamodbProxy;
  let store: Store;
  beforeAll(async () => {
    emulator = await startEmulator("all-old");
    lossy = await startProxy(emulator.endpoint);
    // The first response to every write is lost.
    lossy.chooseFault = ({ operation, attempt }) =>
      /UpdateItem|PutItem/.test(operation) && attempt === 1 ? "lose" : "pass";
    pointTo(emulator.port);
    await createDynamodbTables({ prefix: "lossy" });
  });
  afterAll(async () => {
    await lossy.close();
    await emulator.stop();
  });
  beforeEach(async () => {
    lossy.beforeLoss = undefined;
    // A new client for each test, because failures use up the retries of a client.
    pointTo(lossy.port);
    store = createDynamodbStore({ prefix: "lossy" });
    await store.orders.find(0n);
    lossy.faults.lose = 0;
  });
  afterEach(() => store.close());

  test("placing, cancelling and shipping an order succeed once", async () => {
    const { orders } = store;
    expect(await orders.place([{ record: { id: 1n }, status: "pending" }])).toEqual(["placed"]);
    expect(await orders.place([{ record: { id: 2n }, status: "pending" }])).toEqual(["placed"]);
    expect(await orders.apply(1n, "cancel", AT)).toMatchObject({
      ok: true,
      order: { status: "cancelled" },
    });
    expect(await orders.apply(2n, "ship", AT)).toMatchObject({ ok: true, order: { status: "shipped" } });
    expect(lossy.faults.lose).toBe(4);
    expect(await orders.apply(2n, "ship", AT)).toMatchObject({
      ok: false,
      code: "order_already_shipped",
      status: "shipped",
      event: "ship",
    });
  });

  test("shipping an order succeeds, even if another process has fulfilled it since", async () => {
    await store.orders.place([{ record: { id: 3n }, status: "pending" }]);
    const client = clientFor(emulator.endpoint);
    const other = createDynamodbStore({ prefix: "lossy", client });
    lossy.beforeLoss = () => other.orders.apply(3n, "fulfil", AT);
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

  test("creating and updating an account succeed once", async () => {
    const { accounts } = store;
    const settings = { id: "acme", plan: "free", keys: [] } as const;
    const apiKey = { id: "acme.first", hash: KEY.hash, createdAt: AT };
    expect((await accounts.create(settings)).ok).toBe(true);
    expect((await accounts.create(settings)).ok).toBe(false);
    const changed = await accounts.update("acme", (account) => ({
      ok: true,
      account: { ...account, plan: "pro" },
    }));
    expect(changed).toMatchObject({ account: { plan: "pro" } });
    expect(lossy.faults.lose).toBeGreaterThan(3);
    const added = await accounts.update("acme", (account) => addKey(account, apiKey, AT));
    expect(added).toMatchObject({ ok: true, account: { keys: [apiKey] } });
    expect(await accounts.find("acme")).toMatchObject({ plan: "pro", keys: [apiKey] });
  });

  test("each admitted request counts once, in an open window and in a new one", async () => {
    const { accounts } = store;
    const keys = [{ id: "busy.first", hash: KEY.hash, createdAt: AT }];
    await accounts.create({ id: "busy", plan: "free", keys });
    const remaining: unknown[] = [];
    for (const at of [AT, AT, AT + 60_000, AT + 60_000]) {
      const admission = await accounts.admit({ ...KEY, accountId: "busy" }, at);
      remaining.push(admission.ok && admission.quota.remaining);
    }
    expect(remaining).toEqual([59, 58, 59, 58]);
    expect((await accounts.find("busy"))?.usage.day.count).toBe(4);
    expect(lossy.faults.lose).toBeGreaterThan(4);
  });

  test("each rejected request counts once, so the ban starts at exactly the rejection that exceeds the limit", async () => {
    for (const accounts of [store.accounts, withRejectionCache(store.accounts)]) {
      const accountId = accounts === store.accounts ? "direct" : "cached";
      const keys = [{ id: `${accountId}.first`, hash: KEY.hash, createdAt: AT }];
      await accounts.create({
        id: accountId,
        plan: "enterprise",
        customLimits: { perMinute: 1, perDay: 9 },
        keys,
      });
      const admit = () => accounts.admit({ ...KEY, accountId }, AT, { maxRejections: 6, durationMs: 60_000 });
      const { chooseFault } = lossy;
      lossy.chooseFault = () => "pass";
      await admit();
      lossy.chooseFault = chooseFault;
      for (let rejection = 1; rejection <= 6; rejection++) {
        expect(await admit(), `rejection ${rejection}`).toMatchObject({ code: "rate_limit_exceeded" });
      }
      expect(await admit()).toMatchObject({ code: "api_key_banned", startsBan: true });
    }
  });

  test("rejections that are recorded again with the same token count once", async () => {
    // A client of its own, because repeated failures use up the retries of a client.
    pointTo(lossy.port);
    const failing = createDynamodbStore({ prefix: "lossy" });
    const { accounts } = failing;
    const keys = [{ id: "again.first", hash: KEY.hash, createdAt: AT }];
    await accounts.create({ id: "again", plan: "free", keys });
    const record = (count: number, token: string) =>
      accounts.recordRejections({ ...KEY, accountId: "again" }, count, AT, undefined, token);
    const countOf = async () => (await accounts.find("again"))?.rejections["again.first"]?.count;
    await record(3, "first");
    const { chooseFault } = lossy;
    lossy.chooseFault = ({ operation }) => (operation === "UpdateItem" ? "lose" : "pass");
    await expect(record(5, "second")).rejects.toThrow(StoreUnavailableError);
    lossy.chooseFault = () => "pass";
    await record(1, "third");
    await record(5, "second");
    lossy.chooseFault = chooseFault;
    expect(await countOf()).toBe(9);
    await failing.close();
  });
});
