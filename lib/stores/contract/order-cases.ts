import assert from "node:assert/strict";
import {
  LIFECYCLE,
  type OrderStatus,
  type StoredOrder,
  sumByStatus,
  transition,
} from "../../orders/lifecycle.ts";
import type { OrderStore } from "../../orders/order-store.ts";
import { orderToJson } from "../../orders/wire.ts";
import { assertSameList, collect, defineCases, findOrder, recordsOf } from "./contract-case.ts";
import { AT, idsUpTo, pending } from "./fixture.ts";

const MAX = 2n ** 63n - 1n;
/** Identifiers that no order can have. Modulo 2^64, some are those of orders. */
const BEYOND_INT64 = [MAX + 1n, -MAX - 2n, 2n ** 64n, 2n ** 100n] as const;

const sequence = (count: number) => idsUpTo(count).map((id) => pending(3n * id));

async function listed(orders: OrderStore): Promise<string> {
  const pages = await collect(orders.list());
  assert.ok(pages.length > 0, "a list has at least one page");
  const last = pages.findIndex((page) => page.last);
  assert.equal(last, pages.length - 1, "the last page, and only it, is marked as the last");
  return pages.flatMap(({ json }) => (json === "" ? [] : [json])).join(",");
}

export const orderCases = defineCases({ of: "orders" }, (test) => {
  test("a placed order is found unchanged, over the whole int64 range and without its absent fields", async (orders) => {
    const shipDate = "2026-02-28T23:59:60.5+05:30";
    const placed: StoredOrder[] = [
      { record: { id: MAX }, status: "pending" },
      { record: { id: -MAX - 1n, petId: MAX, quantity: 0 }, status: "cancelled" },
      { record: { id: 0n, petId: -1n, quantity: 2 ** 31 - 1, shipDate, complete: true }, status: "shipped" },
      { record: { id: 2n ** 53n + 1n, complete: false }, status: "pending" },
    ];
    assert.deepEqual(await orders.place(placed), ["placed", "placed", "placed", "placed"]);
    for (const order of placed) assert.deepEqual(await findOrder(orders, order.record.id), order);
    for (const id of [1n, ...BEYOND_INT64])
      assert.equal(await orders.find(id), undefined, `there is no order ${id}`);
  });

  test("placing an existing order again changes nothing, and different content is a conflict", async (orders) => {
    const other: StoredOrder = { record: { id: 1n, quantity: 9 }, status: "pending" };
    const cancelled: StoredOrder = { ...pending(1n), status: "cancelled" };
    const shipped: StoredOrder = { ...pending(2n), status: "shipped" };
    assert.deepEqual(await orders.place([pending(1n)]), ["placed"]);
    const outcomes = await orders.place([pending(1n), other, cancelled, pending(2n), pending(2n), shipped]);
    assert.deepEqual(outcomes, ["unchanged", "conflict", "conflict", "placed", "unchanged", "conflict"]);
    assert.deepEqual(await findOrder(orders, 1n), pending(1n));
    assert.deepEqual(await findOrder(orders, 2n), pending(2n));
    assert.deepEqual(await orders.place([]), []);
  });

  for (const status of LIFECYCLE.statuses)
    for (const event of LIFECYCLE.events)
      test(`'${event}' on a ${status} order does exactly what the lifecycle table says`, async (orders) => {
        const record = { id: MAX, petId: 7n, shipDate: "2027-01-01T00:00:00Z" };
        const before: StoredOrder = { record, status };
        await orders.place([before, pending(MAX - 1n)]);
        const expected = transition(before, event, AT);
        assert.deepEqual(await orders.apply(MAX, event, AT), expected);
        const after = expected.ok ? expected.order : before;
        assert.deepEqual(await findOrder(orders, MAX), after);
        const records = [pending(MAX - 1n), after].map(({ record }) => orderToJson(record));
        assert.equal(await listed(orders), records.join());
      });

  test("an event on a missing order fails with order_not_found and changes nothing", async (orders) => {
    for (const event of LIFECYCLE.events) {
      for (const id of [5n, ...BEYOND_INT64])
        assert.deepEqual(await orders.apply(id, event, AT), { ok: false, code: "order_not_found" });
    }
    assert.equal(await listed(orders), "");
  });

  test("an order whose status somebody has changed by hand is returned as it is, not counted, and takes no event", async (orders) => {
    const edited: StoredOrder = { record: { id: 1n }, status: "constructor" as OrderStatus };
    await orders.place([edited, pending(2n)]);
    assert.deepEqual((await orders.page({ limit: 10 })).orders, [edited, pending(2n)]);
    assert.deepEqual(await orders.countByStatus(), sumByStatus([["pending", 1]]));
    for (const event of LIFECYCLE.events)
      await assert.rejects(orders.apply(1n, event, AT), new RegExp(LIFECYCLE.statuses.join(", ")));
    assert.deepEqual(await findOrder(orders, 1n), edited);
  });

  test("lists of 0, 1, 500, 501, 1,000, 1,001 and 2,003 orders contain every record once, ascending by identifier", async (orders) => {
    let placed = 0;
    for (const count of [0, 1, 500, 501, 1_000, 1_001, 2_003]) {
      const expected = sequence(count);
      const records = expected.map(({ record }) => orderToJson(record));
      await orders.place(expected.slice(placed).toReversed());
      placed = count;
      assertSameList(recordsOf(await listed(orders)), records, `the list of ${count} orders`);
    }
  });

  test("the list is in numeric order, across zero and beyond 2^53", async (orders) => {
    const beyond = 2n ** 53n;
    const ids = [-MAX - 1n, -beyond - 1n, -10n, -9n, 0n, 9n, 10n, beyond, beyond + 1n, MAX - 1n, MAX];
    await orders.place(ids.toReversed().map(pending));
    const records = ids.map((id) => orderToJson({ id }));
    assertSameList(recordsOf(await listed(orders)), records);
  });

  test("a list that is abandoned early leaves the store usable", async (orders) => {
    await orders.place(sequence(1_100));
    for await (const page of orders.list()) {
      assert.equal(page.last, false);
      break;
    }
    assert.deepEqual(await orders.place([pending(1n)]), ["placed"]);
    assert.equal((await orders.apply(1n, "cancel", AT)).ok, true);
  });
});
