import assert from "node:assert/strict";
import type { StoredOrder } from "../../orders/lifecycle.ts";
import { type ContractCase, collect } from "./contract-case.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const MAX = 2n ** 63n - 1n;

const pending = (id: bigint): StoredOrder => ({ record: { id }, status: "pending" });

/** The guarantees of `OrderStore.scan` and `OrderStore.revision`. */
export const scanCases: readonly ContractCase[] = [
  {
    name: "a scan starts after the given identifier",
    async check({ orders }) {
      const placed = [-4n, 0n, 3n, MAX].map(pending);
      await orders.place(placed);
      assert.deepEqual((await collect(orders.scan(-4n))).flat(), placed.slice(1));
      assert.deepEqual((await collect(orders.scan(1n))).flat(), placed.slice(2));
      assert.deepEqual(await collect(orders.scan(MAX)), []);
    },
  },
  {
    name: "a scan with a limit begins with the same orders, and goes on to the last one",
    async check({ orders }) {
      const placed = Array.from({ length: 120 }, (_, index) => pending(BigInt(index * 7) - 60n));
      await orders.place(placed.toReversed());
      for (const limit of [1, 2, 51, 1_000]) {
        assert.deepEqual((await collect(orders.scan(undefined, limit))).flat(), placed, `limit ${limit}`);
        assert.deepEqual((await collect(orders.scan(-60n, limit))).flat(), placed.slice(1), `limit ${limit}`);
      }
    },
  },
  {
    name: "if the store has a revision, each change of an order changes it, and reading does not",
    async check({ orders }) {
      if (orders.revision === undefined) return;
      const seen = [await orders.revision()];
      await orders.place([pending(1n)]);
      seen.push(await orders.revision());
      await orders.apply(1n, "ship", AT);
      seen.push(await orders.revision());
      await orders.apply(1n, "fulfil", AT);
      seen.push(await orders.revision());
      assert.equal(new Set(seen).size, seen.length, "each change has another revision");
      await orders.find(1n);
      await collect(orders.scan());
      assert.equal(await orders.revision(), seen.at(-1));
    },
  },
];
