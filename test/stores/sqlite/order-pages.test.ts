import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_INT64, MIN_INT64 } from "../../../lib/orders/int64.ts";
import type { OrderRecord } from "../../../lib/orders/order.ts";
import { countRecords } from "../../../lib/orders/wire.ts";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";

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
    { numRuns: 30 },
  );
});
