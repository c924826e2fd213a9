import assert from "node:assert/strict";
import { isInvalidInput } from "../../core/errors.ts";
import { MAX_INT64 as MAX, MIN_INT64 as MIN } from "../../orders/int64.ts";
import { LIFECYCLE, type OrderStatus, type StoredOrder, sumByStatus } from "../../orders/lifecycle.ts";
import { type DamagedOrder, MAX_PAGE_ORDERS, type OrderQuery } from "../../orders/order-query.ts";
import type { OrderStore } from "../../orders/order-store.ts";
import { toLine } from "../../orders/wire.ts";
import { assertSameList, defineCases } from "./contract-case.ts";
import { AT } from "./fixture.ts";

const MAX_PAGES = 5_000;

const order = (id: bigint, status: OrderStatus = "pending"): StoredOrder => ({ record: { id }, status });

export async function readPages(
  orders: OrderStore,
  query: OrderQuery,
  onDamaged: (order: DamagedOrder) => void = ({ problem }) => assert.fail(problem),
): Promise<readonly StoredOrder[]> {
  const found: StoredOrder[] = [];
  let after = query.after;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await orders.page({ ...query, after });
    const { damaged = [] } = page;
    const count = page.orders.length + damaged.length;
    assert.ok(count <= query.limit, `a page has at most ${query.limit} orders`);
    const isEmpty = count === 0 && query.status === undefined && pages > 0;
    assert.ok(!isEmpty, "a page of all orders has 'next' only if an order follows");
    found.push(...page.orders);
    damaged.forEach(onDamaged);
    const { next } = page;
    if (next === undefined) return found;
    const isBeyond = after === undefined || (query.order === "desc" ? next < after : next > after);
    assert.ok(isBeyond, `'next' leads on: after ${after} comes ${next}`);
    after = next;
  }
  return assert.fail(`A walk over ${found.length} orders ends within ${MAX_PAGES} pages.`);
}

const linesOf = (orders: readonly StoredOrder[]) => orders.map(toLine);
const idsOf = (orders: readonly StoredOrder[]) => orders.map(({ record }) => record.id);

export const pageCases = defineCases({ of: "orders" }, (test) => {
  test("the only page of an empty store is empty, and every count is zero", async (orders) => {
    const { orders: found, next } = await orders.page({ limit: 10 });
    assert.deepEqual([found, next], [[], undefined]);
    assert.deepEqual(await orders.countByStatus(), sumByStatus([]));
  });

  test("a page begins beyond the given identifier, in either direction, over the whole int64 range", async (orders) => {
    const ids = [MIN, -(2n ** 53n) - 1n, -10n, -9n, 0n, 3n, 2n ** 53n + 1n, MAX];
    await orders.place(ids.toReversed().map((id) => order(id)));
    const given = [-(2n ** 70n), MIN, MIN + 1n, -10n, -5n, 0n, 2n, MAX - 1n, MAX, 2n ** 70n];
    for (const after of [undefined, ...given]) {
      const above = ids.filter((id) => after === undefined || id > after);
      assert.deepEqual(idsOf(await readPages(orders, { after, limit: 3 })), above, `above ${after}`);
      const below = ids.filter((id) => after === undefined || id < after).toReversed();
      const found = await readPages(orders, { after, order: "desc", limit: 3 });
      assert.deepEqual(idsOf(found), below, `below ${after}`);
    }
  });

  test("pages of any size contain every order once with its record and status, ascending and descending", async (orders) => {
    const placed = Array.from({ length: 1_203 }, (_, index): StoredOrder => {
      const id = BigInt(index) * 7n - 4_000n;
      return { record: { id, petId: -id, quantity: index }, status: statusOf(index) };
    });
    await orders.place(placed.toReversed());
    for (const limit of [1, 50, 400, MAX_PAGE_ORDERS]) {
      // Small pages are read near the end of the walk only.
      const count = Math.min(placed.length, 4 * limit + 3);
      const after = placed.at(-count - 1)?.record.id;
      const ascending = await readPages(orders, { limit, after });
      assertSameList(linesOf(ascending), linesOf(placed.slice(-count)), `the walk in pages of ${limit}`);
      const descending = await readPages(orders, { limit, order: "desc", after: placed[count]?.record.id });
      const reversed = linesOf(placed.slice(0, count).toReversed());
      assertSameList(linesOf(descending), reversed, `the descending walk in pages of ${limit}`);
    }
  });

  test("a query for a status finds the orders that have it now, in either direction, and no others", async (orders) => {
    const placed = Array.from({ length: 600 }, (_, index) => order(BigInt(index) - 300n));
    await orders.place(placed);
    for (const id of [-300n, -7n, 0n, 299n]) await orders.apply(id, "cancel", AT);
    await orders.apply(5n, "ship", AT);
    for (const limit of [1, 3, 100]) {
      const cancelled = await readPages(orders, { status: "cancelled", limit });
      const expected = [-300n, -7n, 0n, 299n].map((id) => order(id, "cancelled"));
      assertSameList(linesOf(cancelled), linesOf(expected), "the walk over cancelled orders");
      const fromTheEnd = await readPages(orders, { status: "cancelled", order: "desc", after: 299n, limit });
      assertSameList(linesOf(fromTheEnd), linesOf(expected.slice(0, -1).toReversed()), "the descending walk");
    }
    const pending = await readPages(orders, { status: "pending", limit: 100 });
    const changed = [-300n, -7n, 0n, 5n, 299n];
    const unchanged = placed.filter(({ record }) => !changed.includes(record.id));
    assertSameList(linesOf(pending), linesOf(unchanged), "the walk over pending orders");
    assert.deepEqual(idsOf(await readPages(orders, { status: "shipped", after: 4n, limit: 1 })), [5n]);
    assert.deepEqual(await readPages(orders, { status: "shipped", after: 5n, limit: 1 }), []);
  });

  test("an order present for the whole walk is on one page while others are added and changed", async (orders) => {
    const placed = Array.from({ length: 300 }, (_, index) => order(BigInt(index) * 3n));
    await orders.place(placed);
    const seen: bigint[] = [];
    let after: bigint | undefined;
    let more = -1n;
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const page = await orders.page({ after, limit: 40 });
      seen.push(...idsOf(page.orders));
      await orders.place([order(more--), order(10_000n - more)]);
      if (page.next === undefined || seen.length > 900) break;
      after = page.next;
    }
    assert.equal(new Set(seen).size, seen.length, "no order is on two pages");
    const missing = idsOf(placed).filter((id) => !seen.includes(id));
    assert.equal(missing.length, 0, `order ${missing[0]} is on a page`);
  });

  test("a query that is invalid is rejected with what to use instead", async (orders) => {
    await orders.place([order(1n)]);
    for (const query of [
      { limit: 0 },
      { limit: MAX_PAGE_ORDERS + 1 },
      { limit: 1.5 },
      { limit: Number.NaN },
      { limit: 1, status: "lost" as OrderStatus },
      { limit: 1, order: "down" as "desc" },
      { limit: 1, after: 7 as unknown as bigint },
    ]) {
      await assert.rejects(orders.page(query), isInvalidInput, `limit ${query.limit}`);
    }
  });

  test("orders are counted by status, each change included", async (orders) => {
    await orders.place(Array.from({ length: 30 }, (_, index) => order(BigInt(index) - 15n, statusOf(index))));
    const placed = Array.from({ length: 30 }, (_, index) => [statusOf(index), 1] as const);
    assert.deepEqual(await orders.countByStatus(), sumByStatus(placed));
    await orders.apply(-15n, "cancel", AT);
    await orders.apply(BigInt(LIFECYCLE.statuses.length) - 15n, "ship", AT);
    await orders.place([order(MAX), order(MIN, "shipped")]);
    const expected = sumByStatus([...placed, ["pending", -1], ["cancelled", 1], ["shipped", 2]]);
    assert.deepEqual(await orders.countByStatus(), expected);
  });
});

function statusOf(index: number): OrderStatus {
  return LIFECYCLE.statuses[index % LIFECYCLE.statuses.length] ?? "pending";
}
