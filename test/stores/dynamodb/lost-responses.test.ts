import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { addKey } from "../../../lib/accounts/account.ts";
import { createAccounts } from "../../../lib/accounts/accounts.ts";
import { withRejectionCache } from "../../../lib/accounts/rejection-cache.ts";
import { StoreUnavailableError } from "../../../lib/core/errors.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { clientFor, type Emulator, startEmulator } from "../../support/dynamodb/emulator.ts";
import { pointTo } from "../../support/dynamodb/point-to.ts";
import { type DynamodbProxy, startProxy } from "../../support/dynamodb/proxy.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const KEY = { accountId: "acme", hash: "1".repeat(64) };

afterEach(() => vi.unstubAllEnvs());

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
    pointTo(emulator.endpoint);
    await createDynamodbTables({ prefix: "lossy" });
  });
  afterAll(async () => {
    await lossy.close();
    await emulator.stop();
  });
  beforeEach(async () => {
    lossy.beforeLoss = undefined;
    // A new client for each test, because failures use up the retries of a client.
    pointTo(lossy.endpoint);
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
    expect(await other.orders.find(3n)).toMatchObject({
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

  test("issuing and rotating a key succeed once, even if another process has changed the account since", async () => {
    const client = clientFor(emulator.endpoint);
    const other = createDynamodbStore({ prefix: "lossy", client }).accounts;
    await other.create({ id: "keys", plan: "free", keys: [] });
    let known = 0;
    lossy.beforeLoss = async () => {
      const { keys = [] } = (await other.find("keys")) ?? {};
      if (keys.length === known) return;
      known = keys.length;
      await other.update("keys", (account) => ({ ok: true, account: { ...account, plan: "pro" } }));
    };
    const accounts = createAccounts({ store: store.accounts, environment: "test", clock: () => AT });
    const issued = await accounts.issueKey("keys");
    const rotated = await accounts.rotateKey(issued.ok ? issued.keyId : "", { overlapMs: 0 });
    expect([issued, rotated]).toMatchObject([{ ok: true }, { ok: true }]);
    expect(known).toBe(2);
    expect((await other.find("keys"))?.keys).toMatchObject([
      { id: issued.ok && issued.keyId, expiresAt: AT, successorId: rotated.ok && rotated.keyId },
      { id: rotated.ok && rotated.keyId },
    ]);
    client.destroy();
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
    pointTo(lossy.endpoint);
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
