import { renameSync, rmSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_INT64, MIN_INT64 } from "../../../lib/orders/int64.ts";
import type { StoredOrder } from "../../../lib/orders/lifecycle.ts";
import type { OrderRecord } from "../../../lib/orders/order.ts";
import { eachOrder } from "../../../lib/orders/order-query.ts";
import { countRecords } from "../../../lib/orders/wire.ts";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import { createMemoryStore } from "../../../lib/stores/memory.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { execute, temporaryDirectory } from "./fixture.ts";

const { newPath, open } = temporaryDirectory();

const PAGE_SIZE = 1_000;

const minimal = (id: bigint): OrderRecord => ({ id });
const full = (id: bigint): OrderRecord => ({
  id,
  petId: 7n,
  quantity: 2,
  shipDate: "2026-12-01T09:00:00Z",
  complete: false,
});

/** Stores orders, and returns the number of orders on each page of their list and their identifiers. */
async function list(records: readonly OrderRecord[]) {
  const store = createSqliteStore({ path: ":memory:" });
  await store.orders.place(records.map((record) => ({ record, status: "pending" })));
  const pages = (await collect(store.orders.list())).map(({ json }) => json);
  await store.close();
  const listed = [...pages.join(",").matchAll(/"id":(-?\d+)/g)].map(([, id]) => BigInt(id ?? ""));
  return { sizes: pages.map(countRecords), listed };
}

const range = (from: bigint, count: number, step = 1n) =>
  Array.from({ length: count }, (_, index) => from + BigInt(index) * step);

test.each([
  ["dense", range(1n, 5_300)],
  ["sparse", range(1n, 5_300, 1_000_003n)],
  [
    "dense at first, then one in each range of a page",
    [...range(1n, 2_500), ...range(3_001n, 3_000, 1_000n)],
  ],
  ["in dense groups", range(0n, 8, 100_000n).flatMap((from) => range(from, 700))],
  ["dense up to the greatest identifier", range(MAX_INT64 - 4_999n, 5_000)],
  ["dense from the least identifier", range(MIN_INT64, 5_000)],
])("a list of identifiers that are %s is complete, in few pages of at most 1,000", async (_, ids) => {
  const { sizes, listed } = await list(ids.map(full));
  expect(listed).toEqual(ids);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(PAGE_SIZE);
  expect(sizes.length).toBeLessThanOrEqual(2 + (2 * ids.length) / PAGE_SIZE);
});

test("short records at dense identifiers do not make the pages of longer, sparse ones small", async () => {
  const { sizes } = await list([...range(1n, 3_000).map(minimal), ...range(4_000n, 5_000, 13n).map(full)]);
  expect(sizes.length).toBeLessThanOrEqual(12);
});

test("a list of identifiers in any groups is complete", async () => {
  const group = fc.record({
    gap: fc.bigInt(1n, 5_000n),
    count: fc.integer({ min: 1, max: 1_500 }),
    step: fc.bigInt(1n, 4n),
    toRecord: fc.constantFrom(minimal, full),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(group, { minLength: 1, maxLength: 5 }), async (groups) => {
      let last = 0n;
      const records = groups.flatMap(({ gap, count, step, toRecord }) => {
        const added = range(last + gap, count, step);
        last = added.at(-1) ?? last;
        return added.map(toRecord);
      });
      expect((await list(records)).listed).toEqual(records.map(({ id }) => id));
    }),
    { numRuns: 15 },
  );
});

const order = fc
  .record({ id: fc.bigInt(0n, 400n), quantity: fc.nat(1) })
  .map(({ id, quantity }): StoredOrder => ({ record: { id, quantity }, status: "pending" }));
/** Some calls have only new orders, which are inserted many at a time. */
const call = fc.oneof(
  fc.uniqueArray(order, { selector: ({ record }) => record.id, maxLength: 250, size: "max" }),
  fc.array(order, { maxLength: 250, size: "max" }),
);

test("any orders, new and existing, have the same outcomes as in the store in memory", async () => {
  let rows = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(call, { maxLength: 4 }), async (calls) => {
      const [sqlite, memory] = [createSqliteStore({ path: ":memory:" }), createMemoryStore()];
      for (const orders of calls) {
        const outcomes = await sqlite.orders.place(orders);
        expect(outcomes).toEqual(await memory.orders.place(orders));
        if (orders.length > 100 && outcomes.every((outcome) => outcome === "placed")) rows += orders.length;
      }
      expect((await collect(eachOrder(sqlite.orders))).flat()).toEqual(
        (await collect(eachOrder(memory.orders))).flat(),
      );
      expect(await sqlite.orders.countByStatus()).toEqual(await memory.orders.countByStatus());
      await sqlite.close();
    }),
    { numRuns: 25 },
  );
  expect(rows).toBeGreaterThan(0);
});

test("a query for a status finds rare orders among many, in pages that read a bounded number of rows", async () => {
  const { store } = open();
  const ids = range(-20_000n, 35_000);
  await store.orders.place(ids.map((id) => ({ record: { id }, status: "shipped" })));
  const rare = [-19_999n, 14_998n, 14_999n];
  await store.orders.place([{ record: { id: 15_000n }, status: "pending" }]);
  await store.orders.place(rare.map((id) => ({ record: { id: id * 2n - 100_000n }, status: "cancelled" })));
  for (const order of ["asc", "desc"] as const) {
    const found: bigint[] = [];
    let [after, pages]: [bigint | undefined, number] = [undefined, 0];
    do {
      const page = await store.orders.page({ status: "cancelled", order, after, limit: 2 });
      found.push(...page.orders.map(({ record }) => record.id));
      after = page.next;
      pages++;
    } while (after !== undefined);
    const expected = rare.map((id) => id * 2n - 100_000n);
    expect(found).toEqual(order === "asc" ? expected : expected.toReversed());
    expect(pages).toBeGreaterThanOrEqual(4);
    expect(pages).toBeLessThanOrEqual(6);
  }
});

test("the counts of a database include changes by hand, and leave out a status that no rule knows", async () => {
  const { path, store } = open();
  await store.orders.place(range(1n, 6).map((id) => ({ record: { id }, status: "pending" })));
  execute(path, "UPDATE orders SET status = 'shipped' WHERE id = 1");
  execute(path, "UPDATE orders SET status = 'lost' WHERE id = 2");
  expect(await store.orders.countByStatus()).toMatchObject({ pending: 4, shipped: 1, cancelled: 0 });
  execute(path, "DELETE FROM orders WHERE id IN (2, 3)");
  execute(path, "UPDATE orders SET status = 'pending' WHERE id = 1");
  execute(path, "INSERT OR REPLACE INTO orders VALUES (4, 'cancelled', '{\"id\":4}', '')");
  expect(await store.orders.countByStatus()).toMatchObject({ pending: 3, shipped: 0, cancelled: 1 });
});

test("orders are counted in steps, up to the highest identifier", async () => {
  const { store } = open();
  await store.orders.place(range(1n, 20_000).map((id) => ({ record: { id }, status: "pending" })));
  await store.orders.place([
    { record: { id: MAX_INT64 }, status: "shipped" },
    { record: { id: MIN_INT64 }, status: "shipped" },
  ]);
  expect(await store.orders.countByStatus()).toEqual({ pending: 20_000, shipped: 2, cancelled: 0 });
});

test("a list ends where its orders are deleted by hand meanwhile", async () => {
  const { path, store } = open();
  await store.orders.place(range(1n, 2_500).map((id) => ({ record: full(id), status: "pending" })));
  const pages: string[] = [];
  for await (const { json } of store.orders.list()) {
    pages.push(json);
    execute(path, "DELETE FROM orders");
  }
  const [first = "", ...rest] = pages;
  expect([countRecords(first), rest]).toEqual([PAGE_SIZE, [""]]);
});

test("a list goes on although the record of another call is damaged meanwhile", async () => {
  const { path, store } = open();
  await store.orders.place(range(1n, 2_000).map((id) => ({ record: full(id), status: "pending" })));
  const pages = store.orders.list()[Symbol.asyncIterator]();
  expect((await pages.next()).value).toMatchObject({ last: false });
  execute(path, "UPDATE orders SET record = '{' WHERE id = 1");
  await expect(store.orders.find(1n)).rejects.toThrow("is damaged");
  expect((await pages.next()).value).toMatchObject({ last: true });
});

test("a list fails when its file is replaced by another database, whose orders it never adds", async () => {
  const [path, replacement] = [newPath(), newPath()];
  const orders = range(1n, 2_000).map((id) => ({ record: full(id), status: "pending" as const }));
  const [store, other] = [createSqliteStore({ path }), createSqliteStore({ path: replacement })];
  for (const { orders: target } of [store, other]) await target.place(orders);
  await other.close();
  const pages = store.orders.list()[Symbol.asyncIterator]();
  expect((await pages.next()).value).toMatchObject({ last: false });
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix);
  renameSync(replacement, path);
  await expect(store.orders.apply(1n, "cancel", 0)).rejects.toMatchObject({ code: "store_unavailable" });
  expect(await store.orders.apply(1n, "cancel", 0)).toMatchObject({ ok: true });
  await expect(pages.next()).rejects.toThrow("The database was replaced during a list.");
  await store.close();
});
