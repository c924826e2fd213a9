import assert from "node:assert/strict";
import { isStoreUnavailable } from "../../core/errors.ts";
import { MAX_STORE_CALL_MS, type Store } from "../store.ts";
import { type ContractCase, defineCases, findOrder } from "./contract-case.ts";
import { AT, createAccountFixture, FIRST, KEY, outcomeName, replacing } from "./fixture.ts";
import { request } from "./operation-cases.ts";

const ORDER = { record: { id: 7n, petId: 1n }, status: "pending" } as const;
const OTHER = { record: { id: 8n }, status: "pending" } as const;
/** What a call may take beyond its limit, on a machine that is busy. */
const MAX_DELAY_MS = 2_000;
const MAX_RECOVERY_MS = 15_000;

async function inTime<T>(name: string, call: Promise<T>): Promise<T> {
  const since = performance.now();
  try {
    return await call;
  } finally {
    const elapsed = Math.round(performance.now() - since);
    const isInTime = elapsed < MAX_STORE_CALL_MS + MAX_DELAY_MS;
    assert.ok(isInTime, `${name} settles within 5 s: it took ${elapsed} ms`);
  }
}

async function assertUnavailable(name: string, call: Promise<unknown>): Promise<void> {
  const unavailable = (error: unknown) =>
    (isStoreUnavailable(error) && error.retryable) ||
    assert.fail(`${name} rejects with a StoreUnavailableError that can be retried, instead of: ${error}`);
  const rejected = assert.rejects(call, unavailable, `${name} rejects while the database cannot be reached`);
  await inTime(name, rejected);
}

/** The result of a call in time, `undefined` if it rejects with `StoreUnavailableError`. */
function resultOf<T>(name: string, call: Promise<T>): Promise<T | undefined> {
  return inTime(name, call).catch((error: unknown) => {
    if (!isStoreUnavailable(error)) throw error;
    return undefined;
  });
}

async function onceAvailable<T>(call: () => Promise<T>): Promise<T> {
  const since = performance.now();
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isStoreUnavailable(error)) throw error;
      const elapsed = Math.round(performance.now() - since);
      const message = `the store serves ${MAX_RECOVERY_MS} ms after the database is back: ${error}`;
      assert.ok(elapsed < MAX_RECOVERY_MS, message);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

const countOf = async ({ accounts }: Store) => (await accounts.find("acme"))?.usage.minute.count;

export const outageCases: readonly ContractCase[] = [
  ...defineCases({ of: "store", needs: "interrupt" }, (test) => {
    test("while the database cannot be reached, writes reject with StoreUnavailableError, and the store serves once it is back", async (store, options) => {
      const { accounts, orders, outbox } = store;
      const { admit } = await createAccountFixture(accounts);
      await orders.place([ORDER]);
      assert.equal(outcomeName(await admit(AT)), "admitted");
      const restore = await options.interrupt();
      try {
        await assertUnavailable("apply()", orders.apply(7n, "cancel", AT));
        await Promise.all([
          assertUnavailable("place()", orders.place([OTHER])),
          assertUnavailable("admit()", accounts.admit(KEY, AT)),
          assertUnavailable("recordRejections()", accounts.recordRejections(KEY, 1, AT)),
          assertUnavailable("create()", accounts.create({ id: "late", plan: "free", keys: [] })),
          assertUnavailable("unban()", accounts.unban("acme", FIRST.id)),
          assertUnavailable("check()", store.check()),
          ...(outbox === undefined ? [] : [assertUnavailable("backlog()", outbox.backlog())]),
        ]);
      } finally {
        await restore();
      }
      await onceAvailable(() => store.check());
      const order = await onceAvailable(() => findOrder(orders, 7n));
      assert.deepEqual(order, ORDER, "the rejected cancel changed nothing");
      assert.equal(await onceAvailable(() => countOf(store)), 1, "the rejected admission was not counted");
      assert.equal((await onceAvailable(() => orders.apply(7n, "cancel", AT))).ok, true);
      assert.equal(outcomeName(await onceAvailable(() => admit(AT))), "admitted");
    });
  }),
  ...defineCases({ of: "store", needs: "loseResponse" }, (test) => {
    test("an admission whose response is lost counts once, and its event takes place once", async (store, options) => {
      await createAccountFixture(store.accounts);
      await store.orders.place([ORDER, OTHER]);
      // The first request in a minute, and one that follows.
      for (const [index, placed] of [ORDER, OTHER].entries()) {
        await options.loseResponse();
        const lost = request(store, { type: "apply", id: placed.record.id, event: "cancel" });
        const result = await resultOf("admit()", lost);
        assert.equal(await onceAvailable(() => countOf(store)), index + 1, "each request counts once");
        const order = await onceAvailable(() => findOrder(store.orders, placed.record.id));
        const cancelled = { ...placed, status: "cancelled" } as const;
        if (result?.outcome !== undefined)
          assert.deepEqual(result.outcome, { type: "apply", result: { ok: true, order: cancelled } });
        if (result !== undefined) assert.deepEqual(order, cancelled, "the order is cancelled");
      }
    });

    test("an event whose response is lost takes place once, and is never reported as one that was not allowed", async (store, options) => {
      const { orders } = store;
      await orders.place([ORDER]);
      await options.loseResponse();
      const record = { ...ORDER.record, shipDate: new Date(AT).toISOString() };
      const shipped = { record, status: "shipped" };
      const result = await resultOf("apply()", orders.apply(7n, "ship", AT));
      if (result !== undefined) assert.deepEqual(result, { ok: true, order: shipped });
      assert.deepEqual(await onceAvailable(() => findOrder(orders, 7n)), shipped);
      await options.loseResponse();
      const placed = await resultOf("place()", orders.place([OTHER]));
      if (placed !== undefined) assert.deepEqual(placed, ["placed"]);
      assert.deepEqual(await onceAvailable(() => orders.place([OTHER])), ["unchanged"]);
    });

    test("an account that is created or changed, and whose response is lost, is not reported as another one", async (store, options) => {
      const { accounts } = store;
      const account = { id: "acme", plan: "free", keys: [FIRST] };
      await options.loseResponse();
      const created = await resultOf("create()", accounts.create(account));
      if (created !== undefined) assert.deepEqual(created, { ok: true, account });
      await onceAvailable(() => accounts.create(account));
      await options.loseResponse();
      const changed = await resultOf("update()", accounts.update("acme", replacing({ plan: "pro" })));
      if (changed !== undefined) assert.equal(changed.ok && changed.account.plan, "pro");
      assert.equal((await onceAvailable(() => accounts.find("acme")))?.plan, "pro");
    });

    test("rejections that are recorded, and whose response is lost, count once", async (store, options) => {
      const { accounts } = store;
      await createAccountFixture(accounts);
      await accounts.recordRejections(KEY, 3, AT);
      await options.loseResponse();
      await resultOf("recordRejections()", accounts.recordRejections(KEY, 5, AT));
      const { rejections } = (await onceAvailable(() => accounts.find("acme"))) ?? assert.fail();
      assert.equal(rejections[FIRST.id]?.count, 8, "3 and 5 rejections are counted once each");
    });
  }),
];
