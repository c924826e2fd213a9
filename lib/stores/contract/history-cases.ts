import assert from "node:assert/strict";
import { systemClock } from "../../core/time.ts";
import type { OrderStore } from "../../orders/order-store.ts";
import { defineCases } from "./contract-case.ts";
import { AT, createAccountFixture, FIRST, idsUpTo, pending } from "./fixture.ts";
import { request } from "./operation-cases.ts";

/** Without the tokens, which another case is about. */
const historyOf = async (orders: OrderStore, id: bigint) =>
  (await orders.find(id))?.history.map(({ token: _token, ...change }) => change);
const tokensOf = async (orders: OrderStore, ids: readonly bigint[]) => {
  const found = await Promise.all(ids.map((id) => orders.find(id)));
  return found.flatMap((order = assert.fail()) => order.history.map(({ token }) => token));
};
const place = { event: "place", at: AT } as const;

export const historyCases = defineCases({ of: "store" }, (test) => {
  test("the history of an order has each change with its instant, and who made it, in the order of the changes", async (store) => {
    const { orders } = store;
    const by = "tailor; 7,9 – \u{1f9f5}";
    const origin = { by, requestId: "a-b_c~1" };
    const outcomes = await orders.place([pending(1n), pending(2n)], AT, { by: "orders import" });
    assert.deepEqual(outcomes, ["placed", "placed"]);
    await orders.apply(1n, "ship", AT + 1, { by: "orders ship" });
    await orders.apply(1n, "fulfil", AT - 5, origin);
    await orders.apply(2n, "cancel", 0, { requestId: "r" });
    assert.deepEqual(await historyOf(orders, 1n), [
      { ...place, by: "orders import" },
      { event: "ship", at: AT + 1, by: "orders ship" },
      { event: "fulfil", at: AT - 5, by, requestId: "a-b_c~1" },
    ]);
    assert.deepEqual(await historyOf(orders, 2n), [
      { ...place, by: "orders import" },
      { event: "cancel", at: 0, requestId: "r" },
    ]);
  });

  test("what changes nothing adds nothing to a history: a refused event, an order that is placed or fulfilled again", async (store) => {
    const { orders } = store;
    const shipped = { record: { id: 1n, complete: true }, status: "shipped" } as const;
    await orders.place([shipped], AT);
    for (const event of ["cancel", "ship", "fulfil"] as const) await orders.apply(1n, event, AT + 1);
    await orders.place([shipped, pending(1n)], AT + 2);
    assert.deepEqual(await historyOf(orders, 1n), [place]);
    await orders.place(idsUpTo(62).slice(2).map(pending), AT);
    assert.deepEqual(await historyOf(orders, 61n), [place]);
    const before = systemClock();
    await orders.place([pending(99n)]);
    const [now] = (await historyOf(orders, 99n)) ?? [];
    assert.ok(now !== undefined && now.at >= before && now.at <= systemClock(), "the current time");
  });

  test("the change of a request has its key and its request identifier", async (store) => {
    await createAccountFixture(store.accounts);
    await store.orders.place([pending(7n)], AT);
    await request(store, { type: "apply", id: 7n, event: "cancel", requestId: "req-1" });
    await request(store, { type: "apply", id: 7n, event: "cancel", requestId: "req-2" });
    const cancel = { event: "cancel", at: AT, by: FIRST.id, requestId: "req-1" };
    assert.deepEqual(await historyOf(store.orders, 7n), [place, cancel]);
  });

  test("each change keeps a token of its own, so that no other change ever has its identifier", async (store) => {
    const { orders } = store;
    await createAccountFixture(store.accounts);
    // Orders that are placed together may share one: their identifiers differ.
    for (const id of [1n, 2n, 3n]) await orders.place([pending(id)], AT);
    for (const event of ["ship", "fulfil"] as const) await orders.apply(1n, event, AT);
    await orders.apply(2n, "cancel", AT);
    await request(store, { type: "apply", id: 3n, event: "cancel", requestId: "req-1" });
    const tokens = await tokensOf(orders, [1n, 2n, 3n]);
    assert.equal(tokens.length, 7);
    for (const token of tokens) assert.match(`${token}`, /^[0-9A-Za-z]{10}$/, "the token of newChange()");
    assert.equal(new Set(tokens).size, 7, "no two changes have the same token");
    assert.deepEqual(await tokensOf(orders, [1n, 2n, 3n]), tokens, "they stay the same");
  });
});
