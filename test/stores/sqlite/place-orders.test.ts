import fc from "fast-check";
import { expect, test } from "vitest";
import type { StoredOrder } from "../../../lib/orders/lifecycle.ts";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import { createMemoryStore } from "../../../lib/stores/memory.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";

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
      expect((await collect(sqlite.orders.scan())).flat()).toEqual(
        (await collect(memory.orders.scan())).flat(),
      );
      await sqlite.close();
    }),
    { numRuns: 50 },
  );
  expect(rows).toBeGreaterThan(0);
});
