import assert from "node:assert/strict";
import { changeOf } from "../../orders/delivery.ts";
import {
  LIFECYCLE,
  type OrderEvent,
  type OrderStatus,
  statusAfter,
  statusBefore,
} from "../../orders/lifecycle.ts";
import type { HeldOrder, Outbox, WaitingOrder } from "../../orders/order-store.ts";
import { DAY_MS, MINUTE_MS } from "../../plans/windows.ts";
import type { Store } from "../store.ts";
import { type ContractCase, defineCases } from "./contract-case.ts";
import { AT, idsUpTo, pending } from "./fixture.ts";

const YEAR_MS = 365 * DAY_MS;
/** Any number below zero is a lease. */
const LEASE = -7_000_000_000_001;

/** Every way of an order with a status: the events that follow each other, none of them twice. */
function waysFrom(status: OrderStatus, before: readonly OrderEvent[] = []): readonly OrderEvent[][] {
  const next = LIFECYCLE.events.filter(
    (event) => LIFECYCLE.acceptsEvent(status, event) && !before.includes(event),
  );
  return next.flatMap((event) => {
    const way = [...before, event];
    return [way, ...waysFrom(statusAfter(event), way)];
  });
}

async function switchOn({ outbox = assert.fail() }: Store): Promise<Outbox> {
  await outbox.switch(true);
  return outbox;
}

const changeAfter = ({ order = assert.fail(), delivered }: WaitingOrder) => changeOf(order, delivered);
/** The identifier of the next change without its token, which another case is about: `<order>:<number>`. */
const numberOf = (waiting: WaitingOrder) => changeAfter(waiting).id.split(":", 2).join(":");
const nextOf = (waiting: readonly WaitingOrder[]) => waiting.map(numberOf).sort();
const lease = async (outbox: Outbox, at = AT, limit = 100) => outbox.lease(limit, at, LEASE);

/** The holds that an instance sees, by identifier. An index can lack the most recent ones. */
async function heldBy(outbox: Outbox, after: number, count: number): Promise<readonly HeldOrder[]> {
  for (let attempt = 0; ; attempt++) {
    const held = await outbox.held(after, 1_000);
    if (held.length === count || attempt === 100) return held.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export const outboxCases: readonly ContractCase[] = [
  ...defineCases({ of: "store", part: "outbox" }, (test) => {
    test("every event adds one change to the history, and is next although the ones before it were never in the outbox", async (store) => {
      const { orders } = store;
      const ways = waysFrom("pending").map((events, index) => ({ id: BigInt(index), events }));
      await orders.place(idsUpTo(ways.length).map(pending), AT);
      for (const { id, events } of ways)
        for (const event of events.slice(0, -1)) await orders.apply(id, event, AT);
      const outbox = await switchOn(store);
      for (const { id, events } of ways) await orders.apply(id, events.at(-1) ?? assert.fail(), AT);
      const found = await lease(outbox);
      for (const { id, events } of ways) {
        const waiting = found.find((each) => each.id === id) ?? assert.fail(`Nothing waits after ${events}.`);
        const { event, from, to } = changeAfter(waiting);
        const history = waiting.order?.history.map((change) => change.event);
        assert.deepEqual(history, ["place", ...events]);
        const last = events.at(-1) ?? assert.fail();
        const expected = [`${id}:${events.length + 1}`, last, statusBefore(last), waiting.order?.status];
        assert.deepEqual([numberOf(waiting), event, from, to], expected);
      }
    });

    test("an outbox that is off has nothing, one that is on has every later change, and switching it off leaves these", async (store) => {
      const { orders, outbox = assert.fail() } = store;
      assert.equal(await outbox.isOn(), false, "off unless it was switched on");
      await orders.place([pending(1n), pending(2n)], AT);
      assert.deepEqual(await outbox.backlog(), { waiting: 0, failed: 0 });
      for (const _ of [1, 2]) await outbox.switch(true);
      assert.equal(await outbox.isOn(), true);
      await orders.apply(1n, "cancel", AT + 1);
      await orders.apply(1n, "cancel", AT + 2);
      await orders.place([pending(1n), pending(2n), pending(3n)], AT + 3, { by: "orders place" });
      assert.deepEqual(await outbox.backlog(), { waiting: 2, failed: 0, oldest: AT + 1 });
      const found = await outbox.list("waiting", 10);
      assert.deepEqual(nextOf(found), ["1:2", "3:1"]);
      const change = changeAfter(found.find(({ id }) => id === 3n) ?? assert.fail());
      const { at, by, event, to } = change;
      assert.deepEqual([at, by, event, to], [AT + 3, "orders place", "place", "pending"]);
      await outbox.switch(false);
      assert.equal(await outbox.isOn(), false);
      await orders.apply(2n, "ship", AT + 4);
      assert.deepEqual(nextOf(await lease(outbox, AT + 5)), ["1:2", "3:1"]);
    });

    test("an outbox that is switched off while orders wait keeps these until each of their changes is delivered, and no other", async (store) => {
      const { orders } = store;
      const outbox = await switchOn(store);
      await orders.place([pending(1n), pending(2n), pending(3n)], AT);
      await lease(outbox);
      await outbox.acknowledge([{ id: 3n, delivered: 1, lease: LEASE }]);
      await outbox.switch(false);
      await orders.apply(1n, "ship", AT + 1);
      await orders.apply(3n, "ship", AT + 1);
      await orders.place([pending(4n)], AT + 1);
      await outbox.acknowledge([1n, 2n].map((id) => ({ id, delivered: 1, lease: LEASE })));
      assert.deepEqual(nextOf(await outbox.list("waiting", 10)), ["1:2"]);
      await orders.apply(1n, "fulfil", AT + 2);
      for (const number of [2, 3]) {
        assert.deepEqual(nextOf(await lease(outbox, AT + 3)), [`1:${number}`]);
        await outbox.acknowledge([{ id: 1n, delivered: number, lease: LEASE }]);
      }
      assert.deepEqual(await outbox.backlog(), { waiting: 0, failed: 0 });
    });

    test("the changes of an order are next one after another, and a lease keeps others from it until it is released", async (store) => {
      const outbox = await switchOn(store);
      const { orders } = store;
      await orders.place([pending(1n)], AT);
      await orders.apply(1n, "ship", AT);
      await orders.apply(1n, "fulfil", AT);
      for (const number of [1, 2, 3]) {
        const [waiting, ...others] = await lease(outbox);
        assert.deepEqual([waiting && numberOf(waiting), others], [`1:${number}`, []]);
        assert.deepEqual([waiting?.lease, waiting?.due], [LEASE, undefined], "the lease of the caller");
        assert.deepEqual(await lease(outbox, AT + YEAR_MS), [], "no clock ends a lease");
        assert.deepEqual(await heldBy(outbox, AT, 1), [{ id: 1n, hold: LEASE }]);
        await outbox.release([{ id: 1n, hold: LEASE - 1 }]);
        assert.deepEqual(await lease(outbox), [], "another lease is not released");
        await outbox.release([404n, 1n].map((id) => ({ id, hold: LEASE })));
        assert.deepEqual(nextOf(await lease(outbox)), [`1:${number}`], "a lease that was released");
        await outbox.acknowledge([{ id: 1n, delivered: number, lease: LEASE }]);
      }
      assert.deepEqual(await lease(outbox, AT + YEAR_MS), []);
      assert.deepEqual(await heldBy(outbox, AT, 0), []);
      assert.deepEqual(await outbox.backlog(), { waiting: 0, failed: 0 });
    });

    test("no order, one or many are listed, leased and acknowledged in one call", async (store) => {
      const outbox = await switchOn(store);
      for (const count of [0, 1, 120]) {
        const ids = idsUpTo(count).map((id) => 2n ** 53n + BigInt(count) + id);
        const idsOf = (found: readonly WaitingOrder[]) => found.map(({ id }) => id).sort();
        await store.orders.place(ids.map(pending), AT);
        assert.deepEqual(idsOf(await outbox.list("waiting", 200)), ids, `${count} orders listed`);
        assert.deepEqual(idsOf(await lease(outbox, AT, 200)), ids, `${count} orders leased`);
        await outbox.acknowledge(ids.map((id) => ({ id, delivered: 1, lease: LEASE })));
        assert.deepEqual(await outbox.backlog(), { waiting: 0, failed: 0 });
      }
    });

    test("a change that follows while one is delivered is next, and a late or repeated acknowledgement changes nothing", async (store) => {
      const outbox = await switchOn(store);
      const { orders } = store;
      await orders.place([pending(1n), pending(2n)], AT);
      await lease(outbox);
      await orders.apply(1n, "ship", AT);
      await outbox.acknowledge([1n, 2n, 404n].map((id) => ({ id, delivered: 1, lease: LEASE })));
      assert.deepEqual(nextOf(await lease(outbox)), ["1:2"]);
      await orders.apply(1n, "fulfil", AT);
      await outbox.acknowledge([{ id: 1n, delivered: 2, lease: LEASE }]);
      await outbox.acknowledge([1n, 2n].map((id) => ({ id, delivered: 1, lease: LEASE })));
      assert.deepEqual(nextOf(await lease(outbox)), ["1:3"]);
      await outbox.acknowledge([{ id: 1n, delivered: 3, lease: LEASE }]);
      await outbox.acknowledge([{ id: 1n, delivered: 1, lease: LEASE }]);
      assert.deepEqual(await outbox.backlog(), { waiting: 0, failed: 0 });
    });

    test("a delivery that is recorded after its lease has passed on counts, and leaves the order to whoever has it now", async (store) => {
      const outbox = await switchOn(store);
      await store.orders.place([pending(1n), pending(2n)], AT);
      await store.orders.apply(1n, "ship", AT);
      await lease(outbox);
      for (const id of [1n, 2n]) await outbox.postpone(id, LEASE, AT);
      await lease(outbox);
      await outbox.release([1n, 2n].map((id) => ({ id, hold: LEASE })));
      const next = LEASE - 1;
      assert.equal((await outbox.lease(10, AT, next)).length, 2);
      await outbox.acknowledge([1n, 2n].map((id) => ({ id, delivered: 1, lease: LEASE })));
      const listed = (await outbox.list("waiting", 10)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
      const states = listed.map(({ id, delivered, attempts, lease }) => [id, delivered, attempts, lease]);
      const expected = [1n, 2n].map((id) => [id, 1, 1, next]);
      assert.deepEqual(states, expected, "only the number of delivered changes is another one");
      assert.deepEqual(await lease(outbox), [], "nobody else gets the orders");
      await outbox.acknowledge([1n, 2n].map((id) => ({ id, delivered: 1, lease: next })));
      const [waiting, ...others] = await lease(outbox);
      assert.deepEqual([waiting && numberOf(waiting), waiting?.attempts, others], ["1:2", 0, []]);
      await outbox.release([{ id: 1n, hold: LEASE }]);
      await outbox.acknowledge([{ id: 1n, delivered: 2, lease: LEASE }]);
      assert.deepEqual(await outbox.backlog(), { waiting: 0, failed: 0 }, "nobody has leased it since");
    });

    test("a failure sets the next attempt or sets the change aside, unless the lease has passed on; retry makes it due", async (store) => {
      const outbox = await switchOn(store);
      const { orders } = store;
      await orders.place([pending(1n), pending(2n), pending(3n)], AT);
      await lease(outbox);
      await outbox.postpone(1n, LEASE, AT + 5_000);
      await outbox.postpone(2n, LEASE, undefined);
      await outbox.postpone(3n, LEASE - 1, undefined);
      assert.deepEqual(await lease(outbox, AT + 4_999), []);
      const [waiting] = await lease(outbox, AT + 5_000);
      assert.deepEqual(waiting && [numberOf(waiting), waiting.attempts], ["1:1", 1]);
      await outbox.postpone(1n, LEASE, AT + 9_000);
      const [again] = await lease(outbox, AT + 9_000);
      assert.deepEqual(again && [numberOf(again), again.attempts], ["1:1", 2]);
      await outbox.acknowledge([{ id: 1n, delivered: 1, lease: LEASE }]);
      await orders.apply(2n, "cancel", AT);
      assert.deepEqual(await outbox.backlog(), { waiting: 1, failed: 1, oldest: AT });
      const [aside, ...others] = await outbox.list("failed", 10);
      assert.deepEqual(aside && [numberOf(aside), aside.attempts, aside.due], ["2:1", 1, undefined]);
      assert.deepEqual(others, []);
      assert.deepEqual(await lease(outbox, AT + YEAR_MS), [], "what was set aside stays");
      assert.deepEqual([await outbox.retry(3n), await outbox.retry(2n), await outbox.retry()], [0, 1, 0]);
      const [retried] = await lease(outbox, AT);
      assert.deepEqual(retried && [numberOf(retried), retried.attempts], ["2:1", 0]);
      await outbox.postpone(2n, LEASE, undefined);
      await outbox.postpone(3n, LEASE, AT + YEAR_MS);
      assert.equal(await outbox.retry(), 2, "retry without an order: also what waits for its next attempt");
      assert.deepEqual(nextOf(await lease(outbox)), ["2:1", "3:1"]);
    });

    test("the oldest changes are leased and listed first, with the time at which they are due", async (store) => {
      const outbox = await switchOn(store);
      const ids = [7n, 2n, 9n, 4n, -1n, 8n, 3n, 6n, 1n, 5n];
      for (const [age, id] of ids.entries()) await store.orders.place([pending(id)], AT + age);
      const listed = async (kind: "waiting" | "failed", limit = 100) =>
        (await outbox.list(kind, limit)).map(({ id }) => id);
      assert.deepEqual(await listed("waiting"), ids);
      assert.deepEqual(await listed("waiting", 3), ids.slice(0, 3));
      assert.deepEqual(nextOf(await lease(outbox, AT, 4)), ["2:1", "4:1", "7:1", "9:1"]);
      assert.deepEqual(nextOf(await lease(outbox, AT, 2)), ["-1:1", "8:1"]);
      await outbox.postpone(9n, LEASE, AT + 5_000);
      for (const id of [4n, 2n]) await outbox.postpone(id, LEASE, undefined);
      const waiting = (await outbox.list("waiting", 2)).map(({ id, lease, due }) => [id, lease, due]);
      const [leased, postponed, ...others] = waiting;
      assert.deepEqual([leased, others], [[7n, LEASE, undefined], []]);
      assert.deepEqual(postponed, [9n, undefined, AT + 5_000]);
      assert.deepEqual(await listed("failed"), [2n, 4n]);
      assert.deepEqual(await listed("failed", 1), [2n]);
      await outbox.acknowledge([{ id: 7n, delivered: 1, lease: LEASE }]);
      assert.deepEqual(await outbox.backlog(), { waiting: 7, failed: 2, oldest: AT + 2 });
    });

    test("a change of a host nine years ahead is not newer than its lease, so that it is late in time", async (store) => {
      const outbox = await switchOn(store);
      await store.orders.place([pending(1n)], AT + 9 * YEAR_MS);
      await lease(outbox);
      assert.deepEqual(await outbox.backlog(), { waiting: 1, failed: 0, oldest: AT });
      await outbox.release([{ id: 1n, hold: LEASE }]);
      await lease(outbox, AT + MINUTE_MS);
      assert.deepEqual(await outbox.backlog(), { waiting: 1, failed: 0, oldest: AT });
      const [listed] = await outbox.list("waiting", 1);
      const { at } = changeAfter(listed ?? assert.fail());
      assert.equal(at, AT + 9 * YEAR_MS, "the history stays as it was written");
    });

    test("an instance sees what others hold: leases, and attempts that are due after an instant, but nothing set aside", async (store, options) => {
      const outbox = await switchOn(store);
      const { outbox: other = assert.fail() } = await options.openAnother();
      await store.orders.place([1n, 2n, 3n, 4n, 5n].map(pending), AT);
      await lease(outbox, AT, 5);
      await store.orders.place([pending(6n)], AT);
      await outbox.postpone(1n, LEASE, AT + MINUTE_MS);
      await outbox.postpone(2n, LEASE, AT + MINUTE_MS + 1);
      await outbox.postpone(3n, LEASE, AT + 9 * YEAR_MS);
      await outbox.postpone(4n, LEASE, undefined);
      const held = [
        { id: 2n, hold: AT + MINUTE_MS + 1 },
        { id: 3n, hold: AT + 9 * YEAR_MS },
        { id: 5n, hold: LEASE },
      ];
      assert.deepEqual(await heldBy(other, AT + MINUTE_MS, 3), held);
      assert.equal((await other.held(AT + MINUTE_MS, 2)).length, 2, "at most the limit");
      await other.release(held);
      assert.deepEqual(nextOf(await other.lease(10, AT, LEASE - 1)), ["2:1", "3:1", "5:1", "6:1"]);
      assert.deepEqual(await outbox.backlog(), { waiting: 5, failed: 1, oldest: AT });
      await outbox.release(held);
      assert.deepEqual(await lease(outbox), [], "a lease that has changed hands is not released");
    });

    test("an instance that was opened before the outbox was switched on has its changes in it too", async (store, options) => {
      const another = await options.openAnother();
      await another.orders.place([pending(1n)], AT);
      const outbox = await switchOn(store);
      await another.orders.apply(1n, "cancel", AT);
      await another.orders.place([pending(2n)], AT);
      assert.deepEqual(nextOf(await lease(outbox)), ["1:2", "2:1"]);
    });

    test("instances that lease at the same time share the orders, and none is leased twice", async (store, options) => {
      const outbox = await switchOn(store);
      const ids = idsUpTo(60);
      await store.orders.place(ids.map(pending), AT);
      const others = await Promise.all([1, 2, 3].map(async () => (await options.openAnother()).outbox));
      const leased: WaitingOrder[] = [];
      for (let round = 0; leased.length < ids.length && round < 100; round++) {
        const found = await Promise.all([outbox, ...others].map((each) => each && lease(each, AT, 7)));
        for (const some of found) assert.ok((some?.length ?? 0) <= 7, "at most the limit");
        leased.push(...found.flatMap((some) => some ?? []));
      }
      assert.deepEqual(nextOf(leased), ids.map((id) => `${id}:1`).sort());
      const delivered = ids.map((id) => ({ id, delivered: 1, lease: LEASE }));
      await Promise.all(others.map((each) => each?.acknowledge(delivered)));
      assert.deepEqual(await outbox.backlog(), { waiting: 0, failed: 0 });
    });

    test("changes that are made while the ones before them are acknowledged are next, and none is lost", async (store, options) => {
      const outbox = await switchOn(store);
      const { orders } = await options.openAnother();
      const ids = idsUpTo(40);
      await orders.place(ids.map(pending), AT);
      await lease(outbox);
      await Promise.all([
        outbox.acknowledge(ids.map((id) => ({ id, delivered: 1, lease: LEASE }))),
        ...ids.map((id) => orders.apply(id, "cancel", AT)),
      ]);
      assert.deepEqual(nextOf(await lease(outbox)), ids.map((id) => `${id}:2`).sort());
    });
  }),
  ...defineCases({ of: "store", needs: "loseResponse", part: "outbox" }, (test) => {
    test("a change and an acknowledgement whose responses are lost, and which are repeated, count once", async (store, options) => {
      const outbox = await switchOn(store);
      const { orders } = store;
      await orders.place([pending(1n)], AT);
      for (const _ of [1, 2]) {
        await options.loseResponse();
        await outbox.acknowledge([{ id: 1n, delivered: 1, lease: LEASE }]).catch(() => {});
      }
      assert.deepEqual(await lease(outbox), []);
      await options.loseResponse();
      await orders.apply(1n, "ship", AT).catch(() => {});
      await outbox.acknowledge([{ id: 1n, delivered: 1, lease: LEASE }]);
      assert.deepEqual(nextOf(await lease(outbox)), ["1:2"]);
      await outbox.acknowledge([{ id: 1n, delivered: 2, lease: LEASE }]);
      assert.deepEqual(await outbox.backlog(), { waiting: 0, failed: 0 });
    });
  }),
];
