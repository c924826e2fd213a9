import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { StoreUnavailableError } from "../../lib/core/errors.ts";
import { waitForTimer } from "../../lib/core/time.ts";
import {
  changeToJson,
  type DeliveredChange,
  type DeliverOptions,
  deliverChanges,
} from "../../lib/orders/delivery.ts";
import type { Outbox } from "../../lib/orders/order-store.ts";
import { createOrders } from "../../lib/orders/orders.ts";
import { createMemoryStore } from "../../lib/stores/memory.ts";
import { createVirtualTime } from "../support/virtual-time.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A memory store with its outbox on, and a receiver. */
async function openOutbox() {
  const store = createMemoryStore();
  const { outbox = expect.fail() } = store;
  await outbox.switch(true);
  /** The outbox as another process has it. */
  const storeWith = (change: Partial<Outbox> = {}) => ({ ...store, outbox: { ...outbox, ...change } });
  const received: string[] = [];
  const deliver = ({ id }: DeliveredChange) => received.push(changeNumber(id));
  return { store, outbox, storeWith, orders: createOrders({ store: store.orders }), received, deliver };
}

/** A memory store whose changes are delivered in virtual time, so that what is not stopped ends with its test. */
async function useDelivery(options: Partial<DeliverOptions> = {}) {
  const opened = await openOutbox();
  const { store } = opened;
  const time = createVirtualTime(Date.UTC(2026, 10, 20));
  const errors: [message: string, id: string | undefined][] = [];
  const delivered: DeliveredChange[] = [];
  const start = (more: Partial<DeliverOptions> = {}) =>
    deliverChanges({
      store,
      deliver: (change) => void delivered.push(change),
      onError: (error, change) => errors.push([(error as Error).message, change && changeNumber(change.id)]),
      ...{ clock: time.clock, wait: time.wait },
      ...options,
      ...more,
    });
  const orders = createOrders({ store: store.orders, clock: time.clock, by: "test" });
  return { ...opened, orders, ...time, errors, delivered, start };
}

/** An identifier without its token, `<order>:<number>`: no test can know a token before. */
const changeNumber = (id: string) => id.split(":", 2).join(":");
const idsOf = (changes: readonly DeliveredChange[]) => changes.map(({ id }) => changeNumber(id));

test("others have their turn while a long backlog is delivered from a store in memory", async () => {
  const { outbox, orders, delivered, start } = await useDelivery({ concurrency: 2 });
  for (let id = 1n; id <= 500n; id++) await orders.place({ id });
  const delivery = start({ untilEmpty: true, wait: waitForTimer });
  await turn();
  expect(delivered.length).toBeLessThan(500);
  await delivery.ended;
  expect([delivered.length, (await outbox.backlog()).waiting]).toEqual([500, 0]);
});

test("each change is delivered once its order has changed, with what it was before and after, and who made it", async () => {
  const { orders, advance, delivered, start, clock } = await useDelivery();
  const delivery = start();
  await orders.place({ id: 7n, quantity: 2 });
  await advance(1_000);
  expect(delivered).toEqual([
    {
      id: expect.stringMatching(/^7:1:[0-9A-Za-z]{10}$/),
      order: { record: { id: 7n, quantity: 2 }, status: "pending" },
      event: "place",
      to: "pending",
      at: clock() - 1_000,
      by: "test",
    },
  ]);
  await orders.ship(7n);
  await orders.fulfil(7n);
  await advance(1_000);
  const changes = delivered.map(({ id, event, from, to }) => [changeNumber(id), event, from, to]);
  expect(changes.slice(1)).toEqual([
    ["7:2", "ship", "pending", "shipped"],
    ["7:3", "fulfil", "shipped", "shipped"],
  ]);
  await delivery.stop();
  await orders.place({ id: 8n });
  await advance(DAY_MS);
  expect(delivered).toHaveLength(3);
});

/** Each retry at the end of its time, or at another part of it. */
function withJitter(random: number) {
  const spy = vi.spyOn(Math, "random").mockReturnValue(random);
  onTestFinished(() => spy.mockRestore());
}

test("a receiver that fails is called again after up to 1 s, 2 s, 4 s, up to two hours, and holds up no other order", async () => {
  withJitter(1 - Number.EPSILON);
  const attempts: [id: string, seconds: number][] = [];
  const { orders, advance, start, clock, outbox, errors } = await useDelivery({
    maxAttempts: 16,
    concurrency: 2,
    deliver({ id }) {
      attempts.push([changeNumber(id), (clock() - begun) / 1_000]);
      if (id.startsWith("1:")) throw new Error("The till is closed.");
    },
  });
  const begun = clock();
  for (const id of [1n, 2n, 3n]) await orders.place({ id });
  await orders.cancel(1n);
  start();
  await advance(9 * HOUR_MS);
  const times = attempts.flatMap(([id, seconds]) => (id === "1:1" ? [seconds] : []));
  expect(times.slice(0, 5)).toEqual([0, 1, 3, 7, 15]);
  expect(times).toHaveLength(16);
  expect((times[15] ?? 0) - (times[14] ?? 0)).toBe(7_200);
  for (const id of ["2:1", "3:1"]) expect(attempts.filter(([known]) => known === id)).toEqual([[id, 0]]);
  expect(errors).toEqual(Array(16).fill(["The till is closed.", "1:1"]));
  expect(await outbox.backlog()).toEqual({ waiting: 0, failed: 1 });
  await outbox.retry(1n);
  await advance(1_000);
  expect(attempts.filter(([id]) => id === "1:1")).toHaveLength(17);
});

test("receivers that fail together are not called again together: a retry can be at any part of its time", async () => {
  withJitter(0.25);
  const times: number[] = [];
  const { orders, advance, start, clock } = await useDelivery({
    pollMs: 1,
    deliver() {
      times.push(clock() - begun);
      throw new Error("The till is closed.");
    },
  });
  const begun = clock();
  await orders.place({ id: 1n });
  start();
  await advance(1_800);
  expect(times).toEqual([0, 250, 750, 1_750]);
});

test("a receiver that asks for a pause gets nothing meanwhile, then one change, and more with each that it accepts", async () => {
  const attempts: number[] = [];
  let [isOverloaded, active, most] = [true, 0, 0];
  const { orders, advance, start, clock, wait, outbox } = await useDelivery({
    async deliver() {
      attempts.push(clock() - begun);
      most = Math.max(most, ++active);
      await wait(100);
      active--;
      if (isOverloaded) throw Object.assign(new Error("Overloaded"), { retryAfterMs: 60_000 });
    },
  });
  const begun = clock();
  for (let id = 0n; id < 500n; id++) await orders.place({ id });
  start();
  await advance(60_000);
  expect(attempts).toHaveLength(64);
  expect(Math.max(...attempts), "all in the first second").toBeLessThan(1_000);
  most = 0;
  await advance(60_000);
  expect([attempts.length, most], "one, after the pause").toEqual([65, 1]);
  expect(attempts[64]).toBeGreaterThanOrEqual(60_000);
  isOverloaded = false;
  await advance(120_000);
  expect(await outbox.backlog()).toEqual({ waiting: 0, failed: 0 });
  expect(attempts).toHaveLength(565);
});

test("a pause lasts two hours at most, and ends a delivery that runs until nothing is due", async () => {
  let count = 0;
  const { orders, advance, start } = await useDelivery({
    untilEmpty: true,
    concurrency: 1,
    deliver() {
      count++;
      throw Object.assign(new Error("Overloaded"), { retryAfterMs: Infinity });
    },
  });
  for (const id of [1n, 2n]) await orders.place({ id });
  const delivery = start();
  await advance(1_000);
  await delivery.ended;
  expect(count).toBe(1);
  await advance(2 * HOUR_MS);
  const again = start();
  await advance(1_000);
  await again.ended;
  expect(count).toBe(2);
});

test("a receiver that hangs is called again after its time, with a signal that ends the first call", async () => {
  const signals: AbortSignal[] = [];
  const { orders, advance, start, errors } = await useDelivery({
    deliver: (_, signal) => new Promise((resolve) => void (signals.push(signal) === 2 && resolve(1))),
    timeoutMs: 5_000,
  });
  await orders.place({ id: 1n });
  start();
  await advance(4_999);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  await advance(2_000);
  expect(errors).toEqual([["It took more than 5000 ms.", "1:1"]]);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  await advance(3 * HOUR_MS);
  expect(signals).toHaveLength(2);
});

test("an error that cannot be retried sets the change aside at once, and the changes that follow wait behind it", async () => {
  const { orders, advance, start, outbox, delivered } = await useDelivery();
  const gone = Object.assign(new Error("Gone"), { retryable: false });
  const delivery = start({ deliver: () => Promise.reject(gone) });
  await orders.place({ id: 1n });
  await advance(1_000);
  await orders.cancel(1n);
  await advance(3 * HOUR_MS);
  expect(await outbox.backlog()).toEqual({ waiting: 0, failed: 1 });
  await delivery.stop();
  start();
  expect(await outbox.retry()).toBe(1);
  await advance(1_000);
  expect(idsOf(delivered)).toEqual(["1:1", "1:2"]);
});

test("while the store cannot be reached nothing is lost, and a delivery that could not be recorded is repeated", async () => {
  const { orders, advance, start, outbox, delivered, errors } = await useDelivery();
  const down = new StoreUnavailableError("down");
  const lease = vi.spyOn(outbox, "lease").mockRejectedValue(down);
  await orders.place({ id: 1n });
  start();
  await advance(3_000);
  expect([delivered.length, errors.length]).toEqual([0, 4]);
  const acknowledge = vi.spyOn(outbox, "acknowledge").mockRejectedValue(down);
  lease.mockRestore();
  await advance(1_000);
  expect([idsOf(delivered), errors.at(-1)]).toEqual([["1:1"], ["down", undefined]]);
  acknowledge.mockRestore();
  await advance(60_000);
  expect(idsOf(delivered)).toEqual(["1:1", "1:1"]);
  expect(await outbox.backlog()).toEqual({ waiting: 0, failed: 0 });
});

test("an order whose changes were all delivered meanwhile is acknowledged, and nothing is delivered", async () => {
  const { storeWith, outbox, orders, advance, delivered, errors, start } = await useDelivery();
  await orders.place({ id: 1n });
  const lease: Outbox["lease"] = async (...args) =>
    (await outbox.lease(...args)).map((waiting) => ({ ...waiting, delivered: 1 }));
  start({ store: storeWith({ lease }) });
  await advance(1_000);
  expect([delivered, errors]).toEqual([[], []]);
  expect(await outbox.backlog()).toEqual({ waiting: 0, failed: 0 });
});

test("a stop while orders are leased begins no delivery, and leaves them to others at once", async () => {
  const { storeWith, outbox, orders, advance, delivered, start } = await useDelivery();
  await orders.place({ id: 1n });
  const leased = Promise.withResolvers<void>();
  const lease: Outbox["lease"] = async (...args) => {
    const found = await outbox.lease(...args);
    await leased.promise;
    return found;
  };
  const delivery = start({ store: storeWith({ lease }) });
  await advance(1_000);
  const stopping = delivery.stop();
  leased.resolve();
  await stopping;
  expect(delivered).toEqual([]);
  expect(await outbox.lease(1, Date.UTC(2026, 10, 20), -1)).toHaveLength(1);
});

test("a stop waits for the deliveries under way, and begins no further one", async () => {
  const { orders, advance, start, received, deliver } = await useDelivery({ concurrency: 1 });
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const id of [1n, 2n]) await orders.place({ id });
  const delivery = start({
    deliver(change) {
      deliver(change);
      return promise;
    },
  });
  await advance(0);
  const stopped = vi.fn();
  const stopping = delivery.stop().then(stopped);
  await advance(1_000);
  expect([received, stopped.mock.calls]).toEqual([["1:1"], []]);
  resolve();
  await stopping;
  expect(received).toEqual(["1:1"]);
});

test("a change as JSON has the order as the API sends it, and leaves out what does not apply", () => {
  const change: DeliveredChange = {
    ...{ id: "7:2", event: "cancel", from: "pending", to: "cancelled", by: "shop.1" },
    order: { record: { id: 2n ** 63n - 1n, quantity: 2 }, status: "cancelled" },
    at: Date.UTC(2026, 10, 20),
  };
  expect(changeToJson(change)).toBe(
    '{"id":"7:2","event":"cancel","at":"2026-11-20T00:00:00.000Z","from":"pending","to":"cancelled","by":"shop.1",' +
      '"status":"cancelled","order":{"id":9223372036854775807,"quantity":2}}',
  );
});

test("a place that is delivered late has the status in which the order was placed, and the order as it is", async () => {
  const { orders, advance, delivered, start } = await useDelivery();
  await orders.place({ id: 1n, quantity: 2 });
  await orders.cancel(1n);
  start();
  await advance(2_000);
  expect(delivered.map(({ order, from, to }) => [order, from, to])).toEqual([
    [{ record: { id: 1n, quantity: 2 }, status: "cancelled" }, undefined, "pending"],
    [{ record: { id: 1n, quantity: 2 }, status: "cancelled" }, "pending", "cancelled"],
  ]);
});

test("without onError, a failure is written to the console with its change", async () => {
  const printed = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => printed.mockRestore());
  const { outbox, orders, store } = await openOutbox();
  vi.spyOn(outbox, "lease").mockRejectedValueOnce(new StoreUnavailableError("The store is down."));
  await orders.place({ id: 1n });
  const { promise, resolve } = Promise.withResolvers<void>();
  const delivery = deliverChanges({
    ...{ store, pollMs: 1 },
    deliver() {
      resolve();
      throw new Error("The receiver is down.");
    },
  });
  await promise;
  await delivery.stop();
  const lines = new Set(printed.mock.calls.map(([line]) => `${line}`.replace(/:\w{10} failed/, " failed")));
  expect(lines).toEqual(
    new Set([
      "store-orders: deliverChanges failed: The store is down.",
      "store-orders: delivery of 1:1 failed: The receiver is down.",
    ]),
  );
});

test("without a wait of the caller's, timers of the process decide, and a stop ends them", async () => {
  const { store, orders, received, deliver } = await openOutbox();
  const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
  const delivery = deliverChanges({
    ...{ store, pollMs: 20, timeoutMs: 100, onError: fail },
    deliver: (change) => new Promise(() => deliver(change)),
  });
  await new Promise((polled) => setTimeout(polled, 50));
  await orders.place({ id: 1n });
  expect(await failed).toMatchObject({ message: "It took more than 100 ms." });
  expect(received).toEqual(["1:1"]);
  await delivery.stop();
  const slow = deliverChanges({ store, deliver() {}, pollMs: HOUR_MS });
  await turn();
  await slow.stop();
});

test("a delivery that ends while the store looks for changes is followed by the next one of its order at once", async () => {
  const { storeWith, outbox, orders, received, deliver } = await openOutbox();
  const lease: Outbox["lease"] = async (...args) => {
    const found = await outbox.lease(...args);
    await new Promise((answered) => setTimeout(answered, 20));
    return found;
  };
  await orders.place({ id: 1n });
  await orders.cancel(1n);
  const { promise: both, resolve } = Promise.withResolvers<void>();
  const delivery = deliverChanges({
    ...{ store: storeWith({ lease }), pollMs: HOUR_MS },
    deliver: (change) => void (deliver(change) === 2 && resolve()),
  });
  await both;
  expect(received).toEqual(["1:1", "1:2"]);
  await delivery.stop();
});

test("a store without an outbox and options that make no sense are errors that say so", async () => {
  const { outbox: _, ...none } = createMemoryStore();
  const start = (options: object) =>
    deliverChanges({ store: createMemoryStore(), deliver: () => {}, ...options });
  expect(() => start({ store: none })).toThrow(/^store: It has no outbox/);
  for (const name of ["maxAttempts", "concurrency", "timeoutMs", "pollMs"])
    expect(() => start({ [name]: 0 })).toThrow(`${name}: Use a whole number`);
  expect(() => start({ maxAttempt: 1 })).toThrow("maxAttempt: There is no option of this name.");
  await start({ maxAttempts: Number.MAX_SAFE_INTEGER }).stop();
  // A timer with a longer time would fire at once.
  const tooLong = { timeoutMs: 2 ** 31, pollMs: 2 ** 31 };
  expect(() => start(tooLong)).toThrow(/^timeoutMs: Use a whole number from 1 to 2147483647\. pollMs: Use a/);
});

test("with untilEmpty, a change that ends while the next ones are leased is followed by those of its order", async () => {
  const { storeWith, orders, outbox, delivered, start } = await useDelivery({ untilEmpty: true });
  await orders.place({ id: 7n });
  await orders.ship(7n);
  const acknowledged = Promise.withResolvers<void>();
  let leases = 0;
  const store = storeWith({
    async acknowledge(deliveries) {
      await outbox.acknowledge(deliveries);
      acknowledged.resolve();
    },
    async lease(...args) {
      const found = await outbox.lease(...args);
      if (++leases === 2) {
        await acknowledged.promise;
        await turn();
      }
      return found;
    },
  });
  await start({ store }).ended;
  expect(idsOf(delivered)).toEqual(["7:1", "7:2"]);
});

test("a delivery says once that the outbox was switched off, delivers what waits, and goes on when it is on again", async () => {
  const { outbox, orders, advance, delivered, errors, start } = await useDelivery();
  start();
  await advance(1_000);
  await orders.place({ id: 7n });
  await outbox.switch(false);
  await orders.place({ id: 8n });
  await advance(60_000);
  const notice = [expect.stringMatching(/^The outbox was switched off\./), undefined];
  expect([idsOf(delivered), errors]).toEqual([["7:1"], [notice]]);
  await outbox.switch(true);
  await advance(10_000);
  await orders.ship(8n);
  await advance(10_000);
  expect([idsOf(delivered), errors]).toEqual([["7:1", "8:2"], [notice]]);
  await outbox.switch(false);
  await advance(20_000);
  expect(errors).toEqual([notice, notice]);
});

test("an error of the store that a retry cannot correct is reported once, and tried again every ten seconds", async () => {
  const { outbox, orders, advance, delivered, errors, start } = await useDelivery();
  const notOn = new StoreUnavailableError("Switch it on", { retryable: false });
  const on = vi.spyOn(outbox, "switch").mockRejectedValue(notOn);
  start();
  await advance(60_000);
  expect([on.mock.calls.length, errors]).toEqual([7, [["Switch it on", undefined]]]);
  on.mockRestore();
  await orders.place({ id: 7n });
  await advance(11_000);
  expect(idsOf(delivered)).toEqual(["7:1"]);
});

test("such an error is not tried again for each delivery that ends meanwhile", async () => {
  const ends: (() => void)[] = [];
  const { outbox, orders, advance, errors, start } = await useDelivery({
    deliver: () => new Promise<void>((resolve) => ends.push(resolve)),
  });
  for (let id = 1n; id <= 40n; id++) await orders.place({ id });
  start();
  await advance(1);
  const forbidden = new StoreUnavailableError("No permission", { retryable: false });
  const lease = vi.spyOn(outbox, "lease").mockRejectedValue(forbidden);
  for (const end of ends.splice(0)) {
    end();
    await advance(200);
  }
  expect([lease.mock.calls.length, errors]).toEqual([1, [["No permission", undefined]]]);
  lease.mockRestore();
});

test("stop cuts off what does not end in time, which waits for its next attempt at once", async () => {
  const signals: AbortSignal[] = [];
  const { outbox, orders, advance, errors, start } = await useDelivery({
    deliver: (_change, signal) => new Promise(() => signals.push(signal)),
  });
  await orders.place({ id: 7n });
  const delivery = start();
  await advance(10);
  await delivery.stop({ graceMs: 20 });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect(errors).toEqual([["It was cut off, because the process stops.", "7:1"]]);
  const [waiting] = await outbox.list("waiting", 1);
  expect(waiting).toMatchObject({ id: 7n, attempts: 1, due: expect.any(Number) });
  await expect(delivery.stop({ graceMs: Number.NaN })).rejects.toMatchObject({ code: "invalid_input" });
});

test("the outbox is switched on once, and orders are leased and acknowledged together: half of those at once, or what has ended within 50 ms", async () => {
  const ends: (() => void)[] = [];
  const calls: unknown[] = [];
  const { storeWith, outbox, orders, advance, start, clock } = await useDelivery({
    concurrency: 4,
    deliver: () => new Promise<void>((resolve) => void ends.push(resolve)),
  });
  for (let id = 1n; id <= 8n; id++) await orders.place({ id });
  const begun = clock();
  const store = storeWith({
    switch(isOn) {
      calls.push(["switch", isOn]);
      return outbox.switch(isOn);
    },
    lease(limit, at, lease) {
      calls.push(["lease", limit, at - begun]);
      return outbox.lease(limit, at, lease);
    },
    acknowledge(deliveries) {
      calls.push(["acknowledge", deliveries.length]);
      return outbox.acknowledge(deliveries);
    },
  });
  start({ store });
  const end = async (count: number) => {
    calls.length = 0;
    for (const resolve of ends.splice(0, count)) resolve();
    await advance(0);
    return calls;
  };
  await advance(10);
  expect(calls).toEqual([
    ["switch", true],
    ["lease", 4, 0],
  ]);
  expect(await end(1)).toEqual([["acknowledge", 1]]);
  await advance(49);
  expect(calls).toEqual([["acknowledge", 1]]);
  await advance(1);
  expect(calls).toEqual([
    ["acknowledge", 1],
    ["lease", 1, 60],
  ]);
  expect(await end(2)).toEqual([
    ["acknowledge", 2],
    ["lease", 2, 60],
  ]);
  calls.length = 0;
  await advance(2_000);
  expect(calls).toEqual([]);
  await end(4);
  await advance(1_000);
  await end(4);
});

test("with a clock that returns no instant, nothing is delivered, each round reports why, and a right one goes on", async () => {
  const { orders, outbox, advance, delivered, errors, start, clock } = await useDelivery();
  await orders.place({ id: 1n });
  let isWrong = true;
  start({ clock: () => (isWrong ? Number.NaN : clock()) });
  await advance(3_000);
  const problem = [expect.stringMatching(/^clock: It is NaN/), undefined];
  expect([delivered, errors]).toEqual([[], Array(4).fill(problem)]);
  expect(await outbox.backlog()).toMatchObject({ waiting: 1 });
  isWrong = false;
  await advance(1_000);
  expect(idsOf(delivered)).toEqual(["1:1"]);
});

test("a clock that fails after a delivery has failed is reported, and the change is delivered once its lease has ended", async () => {
  const { orders, advance, start, clock, delivered, errors } = await useDelivery();
  await orders.place({ id: 1n });
  let isWrong = false;
  const first = start({
    clock: () => (isWrong ? Number.NaN : clock()),
    async deliver() {
      isWrong = true;
      throw new Error("down");
    },
  });
  await advance(0);
  void first.stop();
  await advance(0);
  expect(errors).toContainEqual(["down", "1:1"]);
  expect(errors).toContainEqual([expect.stringMatching(/^clock: It is NaN/), undefined]);
  start();
  await advance(60_000);
  expect(idsOf(delivered)).toEqual(["1:1"]);
});

test("a clock of a program's own that is set back an hour delays what a dead process left by no more than its lease", async () => {
  const { orders, advance, start, clock, delivered } = await useDelivery({ timeoutMs: 10_000 });
  await orders.place({ id: 1n });
  void start({ wait: () => new Promise(() => {}), deliver: () => new Promise(() => {}) });
  await advance(0);
  let backMs = 0;
  start({ clock: () => clock() - backMs });
  await advance(11_000);
  backMs = HOUR_MS;
  await advance(50_000);
  expect(idsOf(delivered)).toEqual(["1:1"]);
});

test.each([
  ["a minute ahead", 60_000],
  ["a minute behind", -60_000],
  ["nine years ahead", 9 * 365 * DAY_MS],
  ["at the beginning of 1970", -Date.UTC(2026, 10, 20)],
])(
  "a second host whose clock is %s takes no change from one that takes four minutes for each",
  async (_name, skewMs) => {
    const { orders, advance, start, clock, wait, received, deliver } = await useDelivery();
    const slow = async (change: DeliveredChange) => {
      deliver(change);
      await wait(240_000);
    };
    for (let id = 1n; id <= 3n; id++) {
      await orders.place({ id });
      await orders.cancel(id);
    }
    start({ deliver: slow, timeoutMs: 300_000, concurrency: 4 });
    await advance(1_000);
    start({ deliver: slow, timeoutMs: 250_000, concurrency: 4, clock: () => clock() + skewMs });
    await advance(600_000);
    expect(received.toSorted()).toEqual(["1:1", "1:2", "2:1", "2:2", "3:1", "3:2"]);
    for (let id = 1; id <= 3; id++)
      expect(received.indexOf(`${id}:1`)).toBeLessThan(received.indexOf(`${id}:2`));
  },
);

describe("by the clock of the system", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("a clock that is set an hour forward or back ends no lease", async () => {
    const { orders, outbox, storeWith, received, deliver } = await openOutbox();
    await orders.place({ id: 1n });
    const slow = async (change: DeliveredChange) => {
      deliver(change);
      await new Promise((resolve) => setTimeout(resolve, 29_000));
    };
    const hosts = [1, 2].map(() => deliverChanges({ store: storeWith(), deliver: slow }));
    await vi.advanceTimersByTimeAsync(12_000);
    vi.setSystemTime(Date.now() + HOUR_MS);
    await vi.advanceTimersByTimeAsync(12_000);
    vi.setSystemTime(Date.now() - 2 * HOUR_MS);
    await vi.advanceTimersByTimeAsync(12_000);
    expect(received).toEqual(["1:1"]);
    expect(await outbox.backlog()).toEqual({ waiting: 0, failed: 0 });
    await Promise.all(hosts.map((host) => host.stop()));
  });

  test("a lease that a store could not release, because its order was being changed, is released at the next look", async () => {
    const { orders, outbox, store, received, deliver } = await openOutbox();
    await orders.place({ id: 1n });
    await outbox.lease(1, Date.now(), -(15_000 * 2 ** 20));
    const release = vi.spyOn(outbox, "release").mockResolvedValueOnce();
    const { ended } = deliverChanges({ store, deliver, untilEmpty: true });
    await vi.advanceTimersByTimeAsync(20_000);
    await ended;
    expect([received, release.mock.calls.length]).toEqual([["1:1"], 2]);
  });

  test("a program that ends when nothing is due waits for the lease of one that has died, and no longer", async () => {
    const { orders, outbox, storeWith, received, deliver } = await openOutbox();
    await orders.place({ id: 1n });
    const hanging = { deliver: () => new Promise(() => {}), timeoutMs: 5_000 };
    deliverChanges({ store: storeWith(), ...hanging });
    await vi.advanceTimersByTimeAsync(0);
    vi.clearAllTimers();
    let isDown = false;
    const start = () => {
      const held: Outbox["held"] = async (...args) => {
        if (isDown) throw new Error("The store is down.");
        return outbox.held(...args);
      };
      let hasEnded = false;
      const { ended } = deliverChanges({
        ...{ store: storeWith({ held }), deliver, untilEmpty: true },
        onError() {},
      });
      void ended.then(() => {
        hasEnded = true;
      });
      return () => hasEnded;
    };
    const [first, second] = [start(), start()];
    await vi.advanceTimersByTimeAsync(14_000);
    isDown = true;
    await vi.advanceTimersByTimeAsync(1_000);
    expect([first(), second(), received], "a store that has failed").toEqual([true, true, []]);
    isDown = false;
    const third = start();
    await vi.advanceTimersByTimeAsync(14_000);
    expect([third(), received]).toEqual([false, []]);
    await vi.advanceTimersByTimeAsync(3_000);
    expect([third(), received]).toEqual([true, ["1:1"]]);
  });
});
