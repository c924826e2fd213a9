import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createAccounts } from "../../../lib/accounts/accounts.ts";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { clientFor, type Emulator, startEmulator } from "../../support/dynamodb/emulator.ts";
import { pointTo } from "../../support/dynamodb/point-to.ts";
import { type DynamodbProxy, startProxy } from "../../support/dynamodb/proxy.ts";

const AT = Date.UTC(2026, 10, 20, 12);

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
});
