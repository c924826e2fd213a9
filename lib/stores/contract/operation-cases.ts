import assert from "node:assert/strict";
import { revokeKey } from "../../accounts/account.ts";
import { DEFAULT_BAN_POLICY } from "../../accounts/admission.ts";
import { performStoreOperation, type StoreOperation } from "../../orders/store-operation.ts";
import { orderToJson } from "../../orders/wire.ts";
import { MINUTE_MS } from "../../plans/windows.ts";
import type { Store } from "../store.ts";
import { assertSameList, collect, defineCases, findOrder, recordsOf } from "./contract-case.ts";
import {
  AT,
  createAccountFixture,
  FIRST,
  idsUpTo,
  KEY,
  limitedTo,
  outcomeName,
  pending,
  SECOND,
} from "./fixture.ts";

/** An order whose identifier no double can have. */
const ORDER = { record: { id: 2n ** 53n + 1n, petId: 1n, quantity: 2 }, status: "pending" } as const;
const CANCEL: StoreOperation = { type: "apply", id: ORDER.record.id, event: "cancel" };

/** Admits a request and performs its operation as the HTTP service does: in one transaction if the store has them. */
export async function request({ accounts, orders }: Store, operation: StoreOperation, key = KEY) {
  const performed = accounts.performsOn === orders ? operation : undefined;
  const admission = await accounts.admit(key, AT, DEFAULT_BAN_POLICY, performed);
  if (!admission.ok) {
    assert.equal("outcome" in admission, false, "a rejected request has no outcome");
    return { name: outcomeName(admission) };
  }
  const origin = { by: admission.caller.keyId, requestId: operation.requestId };
  const outcome = admission.outcome ?? (await performStoreOperation(orders, operation, AT, origin));
  return { name: "admitted", outcome };
}

export const operationCases = defineCases({ of: "store" }, (test) => {
  test("an admission performs operations on the orders of its store, which it names, or on none", async (store) => {
    const { accounts, orders } = store;
    await createAccountFixture(accounts);
    await orders.place([ORDER]);
    const { performsOn } = accounts;
    assert.ok(performsOn === undefined || performsOn === orders, "performsOn is the store's own orders");
    for (const operation of [CANCEL, { type: "list" }] as const) {
      const admission = await accounts.admit(KEY, AT, DEFAULT_BAN_POLICY, operation);
      assert.ok(admission.ok);
      const isPerformed = admission.outcome !== undefined;
      assert.ok(!isPerformed || performsOn === orders, "an outcome needs performsOn");
      const status = isPerformed ? "cancelled" : "pending";
      if (operation === CANCEL) assert.equal((await findOrder(orders, ORDER.record.id))?.status, status);
    }
  });

  test("the operation of a rejected request is not performed", async (store) => {
    await createAccountFixture(store.accounts, limitedTo(1, 9), [FIRST]);
    await store.orders.place([ORDER]);
    assert.equal((await request(store, CANCEL, { ...KEY, hash: SECOND.hash })).name, "unknown_key");
    assert.equal((await request(store, { type: "list" })).name, "admitted");
    assert.equal((await request(store, CANCEL)).name, "rate_limit_exceeded");
    assert.deepEqual(await findOrder(store.orders, ORDER.record.id), ORDER);
  });

  test("a cancel with its admission changes the status only, and the request is counted once", async (store) => {
    const { accounts, orders } = store;
    await createAccountFixture(accounts);
    await orders.place([ORDER]);
    const [list] = await collect(orders.list());
    const { outcome } = await request(store, CANCEL);
    const cancelled = { ...ORDER, status: "cancelled" };
    assert.deepEqual(outcome, { type: "apply", result: { ok: true, order: cancelled } });
    assert.deepEqual(await findOrder(orders, ORDER.record.id), cancelled);
    assert.deepEqual(await collect(orders.list()), [list]);
    assert.equal((await accounts.find("acme"))?.usage.minute.count, 1);
  });

  test("an event with its admission takes place at its instant; one that is not allowed, or has no order, is admitted, counted, and says so", async (store) => {
    await createAccountFixture(store.accounts);
    await store.orders.place([ORDER]);
    await request(store, { ...CANCEL, event: "ship" });
    assert.equal((await store.orders.find(ORDER.record.id))?.record.shipDate, new Date(AT).toISOString());
    const shipped = await request(store, CANCEL);
    assert.deepEqual(shipped.outcome, {
      type: "apply",
      result: { ok: false, code: "order_already_shipped", status: "shipped", event: "cancel" },
    });
    const missing = await request(store, { ...CANCEL, id: -8n });
    assert.deepEqual(missing.outcome, { type: "apply", result: { ok: false, code: "order_not_found" } });
    assert.equal((await store.accounts.find("acme"))?.usage.minute.count, 3);
  });

  test("a further cancel in a minute is rejected once its key has expired, is banned or revoked, or the day is used up", async (store) => {
    const { accounts, orders } = store;
    const expiring = { ...SECOND, expiresAt: AT + 2_000 };
    await createAccountFixture(accounts, limitedTo(9, 6), [FIRST, expiring]);
    const ids = idsUpTo(10);
    await orders.place(ids.map(pending));
    let next = 0n;
    const cancel = async ({ hash }: { readonly hash: string }, at = AT) => {
      const operation = { ...CANCEL, id: next++ };
      return outcomeName(await accounts.admit({ ...KEY, hash }, at, DEFAULT_BAN_POLICY, operation));
    };
    const names: string[] = [];
    for (const key of [FIRST, expiring, FIRST, expiring]) names.push(await cancel(key));
    names.push(await cancel(expiring, AT + 1_999), await cancel(expiring, AT + 2_000));
    await accounts.recordRejections(KEY, 21, AT);
    names.push(await cancel(FIRST));
    await accounts.unban("acme", FIRST.id);
    names.push(await cancel(FIRST), await cancel(FIRST));
    await accounts.update("acme", (account) => revokeKey({ ...account, ...limitedTo(9, 9) }, FIRST.id, AT));
    names.push(await cancel(FIRST));
    const admittedNames = Array.from({ length: 5 }, () => "admitted");
    const others = ["expired", "api_key_banned", "admitted", "rate_limit_exceeded", "unknown_key"];
    assert.deepEqual(names, [...admittedNames, ...others]);
    const { usage, lastUses } = (await accounts.find("acme")) ?? assert.fail();
    assert.deepEqual([usage.minute.count, usage.day.count], [6, 6]);
    const minute = AT - (AT % MINUTE_MS);
    if (lastUses !== undefined) assert.deepEqual(lastUses, { [FIRST.id]: minute, [SECOND.id]: minute });
  });

  test("requests at once by two keys of an account, among changes of an order and a ban, have results of some sequence", async (store) => {
    const { accounts, orders } = store;
    await createAccountFixture(accounts, limitedTo(9, 1_000));
    await orders.place([ORDER]);
    const operations = Array.from({ length: 12 }, (_, index): StoreOperation => {
      return index === 4 ? CANCEL : index === 6 ? { ...CANCEL, event: "ship" } : { type: "list" };
    });
    const [place, ...results] = await Promise.all([
      orders.place([pending(8n)]),
      ...operations.map((operation, index) =>
        request(store, operation, { ...KEY, hash: (index % 2 === 0 ? FIRST : SECOND).hash }),
      ),
      accounts.recordRejections(KEY, 21, AT),
    ]);
    assert.deepEqual(place, ["placed"]);
    const outcomes = results.flatMap((result) => (result && "outcome" in result ? [result.outcome] : []));
    const { usage, rejections } = (await accounts.find("acme")) ?? assert.fail();
    assert.deepEqual([usage.minute.count, usage.day.count], [outcomes.length, outcomes.length]);
    // Six requests are of the key that is not banned.
    assert.ok(outcomes.length >= 6 && outcomes.length <= 9, `${outcomes.length} were admitted`);
    assert.ok(rejections[FIRST.id]?.bannedUntil !== undefined, "the ban is kept");
    const changes = outcomes.flatMap((outcome) => (outcome?.type === "apply" ? [outcome.result] : []));
    const changed = changes.flatMap((result) => (result.ok ? [result.order] : []));
    assert.ok(changed.length <= 1 && (changes.length === 0 || changed.length === 1), "one change succeeds");
    const stored = await findOrder(orders, ORDER.record.id);
    assert.deepEqual(stored, changed[0] ?? ORDER);
    const known = [ORDER, ...changed].map(({ record }) => orderToJson(record));
    const lists = outcomes.flatMap((outcome) => (outcome?.type === "list" ? [outcome.first.json] : []));
    const hasOrder = (list: string) => known.some((json) => list.includes(json));
    assert.ok(lists.every(hasOrder), "a list has the order, before or after");
  });

  test("a list with its admission is complete, whether it has one page or more", async (store) => {
    await createAccountFixture(store.accounts);
    for (const count of [0, 3, 1_203]) {
      const ids = idsUpTo(count);
      await store.orders.place(ids.map(pending));
      const { outcome } = await request(store, { type: "list" });
      assert.ok(outcome?.type === "list");
      const { first, rest } = outcome;
      const pages = first.last ? [first] : [first, ...(await collect(rest))];
      const json = pages.flatMap((page) => (page.json === "" ? [] : [page.json])).join(",");
      const records = ids.map((id) => `{"id":${id}}`);
      assertSameList(recordsOf(json), records);
      assert.equal(pages.at(-1)?.last, true);
    }
  });
});
