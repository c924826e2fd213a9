import assert from "node:assert/strict";
import { type DeliveredChange, deliverChanges } from "../../orders/delivery.ts";
import type { Store } from "../store.ts";
import { type ContractCase, defineCases } from "./contract-case.ts";
import { AT, createAccountFixture, idsUpTo, pending } from "./fixture.ts";
import { request } from "./operation-cases.ts";
import { readPages } from "./page-cases.ts";

const IDS = idsUpTo(40);
const place = ({ orders }: Store) => orders.place(IDS.map(pending), AT);
const sorted = (ids: readonly bigint[]) => ids.toSorted((a, b) => Number(a - b));
const without = (...ids: readonly bigint[]) => IDS.filter((id) => !ids.includes(id));

export const damageCases: readonly ContractCase[] = [
  ...defineCases({ of: "store", needs: "damage", part: "outbox" }, (test) => {
    test("orders with a damaged record or history stop no delivery of another: they are set aside, and shown", async (store, options) => {
      const { outbox = assert.fail() } = store;
      await outbox.switch(true);
      await place(store);
      await options.damage(5n, "record");
      await options.damage(9n, "history");
      const delivered: DeliveredChange[] = [];
      const errors: unknown[] = [];
      const delivery = deliverChanges({
        ...{ store, untilEmpty: true, clock: () => AT },
        deliver(change) {
          if (delivered.push(change) > 2 * IDS.length) void delivery.stop();
        },
        onError: (error) => errors.push(error),
      });
      await delivery.ended;
      const ids = sorted(delivered.map(({ order }) => order.record.id));
      assert.deepEqual(ids, without(5n, 9n), "every other order is delivered");
      assert.deepEqual(await outbox.backlog(), { waiting: 0, failed: 2 });
      assert.equal(errors.length, 2, "each is reported");
      const found = await outbox.list("failed", 10);
      for (const id of [5n, 9n]) {
        const waiting = found.find((each) => each.id === id);
        assert.match(waiting?.problem ?? "", new RegExp(`order ${id} `, "i"), "the problem names the order");
        assert.deepEqual([waiting?.order, waiting?.attempts], [undefined, 1]);
      }
      assert.deepEqual([await outbox.retry(5n), await outbox.retry()], [1, 1]);
      const waiting = await outbox.list("waiting", 10);
      assert.deepEqual(sorted(waiting.map(({ id }) => id)), [5n, 9n]);
      assert.ok(waiting.every(({ order }) => order === undefined));
    });
  }),
  ...defineCases({ of: "store", needs: "damage" }, (test) => {
    test("an order with a damaged record is named on its page, and a walk has every other order", async (store, options) => {
      const { orders } = store;
      await place(store);
      await options.damage(5n, "record");
      await options.damage(39n, "record");
      for (const query of [{}, { order: "desc" }, { status: "pending" }] as const) {
        const damaged: bigint[] = [];
        const found = await readPages(orders, { ...query, limit: 7 }, ({ id, problem }) => {
          damaged.push(id);
          assert.match(problem, new RegExp(`order ${id} `, "i"), "the problem names the order");
        });
        const ids = found.map(({ record }) => record.id);
        assert.deepEqual([sorted(ids), sorted(damaged)], [without(5n, 39n), [5n, 39n]]);
      }
    });

    test("an order that is placed where a damaged one is conflicts with it, and the others of the call do not", async (store, options) => {
      await place(store);
      await options.damage(5n, "record");
      const outcomes = await store.orders.place([4n, 5n, 6n, 99n].map(pending), AT);
      assert.deepEqual(outcomes, ["unchanged", "conflict", "unchanged", "placed"]);
    });

    test("an event of a damaged order is done and says so, or fails and changes nothing, also beside others", async (store, options) => {
      const { orders, accounts } = store;
      await createAccountFixture(accounts);
      await place(store);
      for (const id of [1n, 2n, 3n]) await options.damage(id, "record");
      await assert.rejects(orders.find(1n), "an order that cannot be read is not returned");
      await assert.rejects(orders.apply(1n, "ship", AT), "a record that cannot be read gets no ship date");
      assert.equal((await orders.countByStatus()).shipped, 0);
      // Requests of the same minute follow: some stores cancel in another way then.
      await request(store, { type: "list" });
      const cancel = (id: bigint) => request(store, { type: "apply", id, event: "cancel" });
      const results = [
        ...(await Promise.allSettled([3n, 4n, 5n, 2n].map(cancel))),
        ...(await Promise.allSettled([cancel(1n)])),
      ];
      const done = results.filter((result) => {
        const outcome = result.status === "fulfilled" ? result.value.outcome : undefined;
        return outcome?.type === "apply" && outcome.result.ok;
      });
      const { cancelled } = await orders.countByStatus();
      assert.equal(cancelled, done.length, "what is cancelled is acknowledged");
      for (const id of [4n, 5n]) assert.equal((await orders.find(id))?.status, "cancelled", `order ${id}`);
      assert.equal((await accounts.find("acme"))?.usage.minute.count, 6, "each request is counted once");
    });
  }),
];
