import { expect, test } from "vitest";
import { LIFECYCLE, type StoredOrder } from "../../lib/orders/lifecycle.ts";
import {
  eachOrder,
  MAX_PAGE_ORDERS,
  type OrderQuery,
  type OrderQueryPage,
  validateOrderQuery,
} from "../../lib/orders/order-query.ts";

const order = (id: bigint): StoredOrder => ({ record: { id }, status: "shipped" });

test("eachOrder yields the pages of a query in order, without those that have no orders", async () => {
  const pages: readonly OrderQueryPage[] = [
    { orders: [order(1n), order(2n)], next: 2n },
    { orders: [], next: 7n },
    { orders: [order(9n)] },
  ];
  const queries: OrderQuery[] = [];
  const page = async (query: OrderQuery) => pages[queries.push(query) - 1] ?? { orders: [] };
  const found: (readonly StoredOrder[])[] = [];
  for await (const orders of eachOrder({ page }, { status: "shipped", after: 0n, limit: 2 }))
    found.push(orders);
  expect(found).toEqual([[order(1n), order(2n)], [order(9n)]]);
  const rest = { status: "shipped", limit: 2 };
  expect(queries).toEqual([
    { ...rest, after: 0n },
    { ...rest, after: 2n },
    { ...rest, after: 7n },
  ]);
});

test("eachOrder reads large pages from the first order on unless told otherwise", async () => {
  const queries: OrderQuery[] = [];
  const page = async (query: OrderQuery) => {
    queries.push(query);
    return { orders: [] };
  };
  for await (const _orders of eachOrder({ page })) expect.unreachable();
  expect(queries).toEqual([{ limit: MAX_PAGE_ORDERS }]);
});

test("an invalid query is rejected with every issue", () => {
  const issuesOf = (query: unknown) => {
    try {
      validateOrderQuery(query as OrderQuery);
    } catch (error) {
      return (error as Error).message;
    }
    return undefined;
  };
  for (const query of [
    { limit: 1 },
    { limit: 1_000, after: -1n, status: "cancelled", order: "desc" },
    { limit: 1, order: "asc" },
  ])
    expect(issuesOf(query)).toBeUndefined();
  const limit = "limit: Use a whole number from 1 to 1000.";
  for (const wrong of [0, 1_001, 1.5, undefined]) expect(issuesOf({ limit: wrong })).toBe(limit);
  const after = "after: Use the identifier of an order, as a bigint.";
  const status = `status: Use one of: ${LIFECYCLE.statuses.join(", ")}.`;
  const order = "order: Use one of: asc, desc.";
  expect(issuesOf({ limit: 0, after: 7, status: "lost", order: "up" })).toBe(
    [after, status, order, limit].join(" "),
  );
});
