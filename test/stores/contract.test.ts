import { AssertionError } from "node:assert/strict";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { OrderStore } from "../../lib/orders/order-store.ts";
import { storeContract } from "../../lib/stores/contract/index.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import type { Store } from "../../lib/stores/store.ts";

afterEach(() => void vi.useRealTimers());

/** The messages of the cases that a store with planted mistakes fails. */
async function failuresOf(change: (store: Store) => Partial<Store>): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const { name, check } of storeContract) {
    const store = createMemoryStore();
    await check({ ...store, ...change(store) }).catch((error: unknown) => {
      if (!(error instanceof AssertionError)) throw error;
      failures.push(`${name}: ${error.message}`);
    });
  }
  return failures;
}

const withOrders = (change: (orders: OrderStore) => Partial<OrderStore>) => (store: Store) => ({
  orders: { ...store.orders, ...change(store.orders) },
});

/** Lists without an end: after the last order, or instead of the last page. */
async function* endless(orders: OrderStore) {
  for await (const { json } of orders.list()) yield { json, last: false };
  for (;;) yield { json: "", last: false };
}

describe("a mistake of a store fails a case, which ends and says what was expected", () => {
  const mistakes: readonly (readonly [string, (store: Store) => Partial<Store>, RegExp])[] = [
    [
      "a list that never ends",
      withOrders((orders) => ({ list: () => endless(orders) })),
      /ends within 5000 items/,
    ],
    [
      "a list in the wrong order",
      withOrders((orders) => ({
        async *list() {
          for await (const { json, last } of orders.list())
            yield {
              json: json
                .split(/(?<=\}),/)
                .reverse()
                .join(","),
              last,
            };
        },
      })),
      /expected \{"id":0.*\} at place 1, found \{"id":1497/,
    ],
    [
      "a list whose last page is not marked",
      withOrders((orders) => ({
        async *list() {
          for await (const { json } of orders.list()) yield { json, last: false };
        },
      })),
      /marked as the last/,
    ],
    [
      "a page that leads back to itself",
      withOrders((orders) => ({
        async page(query) {
          const page = await orders.page(query);
          return page.next === undefined ? page : { ...page, next: query.after ?? page.next };
        },
      })),
      /'next' leads on/,
    ],
    [
      "pages without an end",
      withOrders(() => ({ page: async ({ after = 0n }) => ({ orders: [], next: after + 1n }) })),
      /ends within 5000 pages/,
    ],
    [
      "pages that ignore the direction",
      withOrders((orders) => ({ page: (query) => orders.page({ ...query, order: "asc" }) })),
      /./,
    ],
    [
      "pages that ignore the status",
      withOrders((orders) => ({ page: ({ status: _ignored, ...query }) => orders.page(query) })),
      /./,
    ],
    [
      "pages above the limit",
      withOrders((orders) => ({
        page: async (query) => orders.page({ ...query, limit: Math.min(1_000, query.limit + 1) }),
      })),
      /a page has at most/,
    ],
    [
      "counts that are not kept up",
      withOrders(() => ({ countByStatus: async () => ({ pending: 0, shipped: 0, cancelled: 0 }) })),
      /pending/,
    ],
    [
      "accounts that are listed again and again",
      ({ accounts }) => ({
        accounts: {
          ...accounts,
          async *list() {
            for (let left = 10_000; left > 0; left--) yield* accounts.list();
          },
        },
      }),
      /./,
    ],
    [
      "accounts that are listed from the start",
      ({ accounts }) => ({ accounts: { ...accounts, list: (_after, limit) => accounts.list("", limit) } }),
      /./,
    ],
    [
      "an operation that is performed for a rejected request",
      ({ accounts, orders }) => ({
        accounts: {
          ...accounts,
          async admit(key, at, policy, operation) {
            if (operation?.type === "apply") await orders.apply(operation.id, operation.event, at);
            return accounts.admit(key, at, policy);
          },
        },
      }),
      /pending/,
    ],
    [
      "a check that changes something",
      ({ orders }) => ({
        check: async () => void (await orders.place([{ record: { id: 7n }, status: "pending" }])),
      }),
      /pending/,
    ],
  ];

  test.each(mistakes)("%s", async (_name, change, message) => {
    const failures = await failuresOf(change);
    expect(failures.length).toBeGreaterThan(0);
    expect(failures.some((failure) => message.test(failure))).toBe(true);
    for (const failure of failures) expect(failure.length).toBeLessThan(2_200);
  });
});

test("a case ends over a store of which a call never settles", async () => {
  vi.useFakeTimers();
  const [first] = storeContract;
  const store = {
    ...createMemoryStore(),
    orders: { ...createMemoryStore().orders, place: () => new Promise<never>(() => {}) },
  };
  const failed = expect(first?.check(store)).rejects.toThrow("A call of the store has not settled");
  await vi.advanceTimersByTimeAsync(120_000);
  await failed;
  expect(vi.getTimerCount()).toBe(0);
});
