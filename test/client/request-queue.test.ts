import { expect, test } from "vitest";
import { createRequestQueue } from "../../lib/client/request-queue.ts";
import { NOON } from "../http/fixture.ts";
import { createVirtualTime } from "./virtual-time.ts";

/** A queue, with a log of which request got its turn, and when. */
function openQueue() {
  const virtual = createVirtualTime();
  const queue = createRequestQueue(virtual.clock, virtual.sleep, virtual.clock);
  const turns: [string, number][] = [];
  const acquire = async (name: string, signal = new AbortController().signal) => {
    await queue.acquire({ signal, deadline: Infinity, maxWaitMs: Infinity });
    turns.push([name, virtual.time.now - NOON]);
  };
  /** Releases a turn with a response that reports a window which ends the given number of seconds after noon. */
  const release = (remainingRequests: number, seconds = 60) => {
    const resetSeconds = NOON / 1000 + seconds;
    const resetsInMs = resetSeconds * 1000 - virtual.time.now;
    queue.release({ window: { remainingRequests, resetSeconds, resetsInMs } });
  };
  const settle = async () => {
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const names = () => turns.map(([name]) => name).join("");
  return { ...virtual, queue, acquire, release, settle, turns, names };
}

test.each([
  [59, 5],
  [9, 1],
  [1, 1],
  [900, 8],
])(
  "one request is sent while the limits are unknown; with %i remaining, %i are in flight",
  async (remaining, inFlight) => {
    const { acquire, release, settle, turns } = openQueue();
    for (const name of "abcdefghijklmnopqrst") void acquire(name);
    await settle();
    expect(turns).toHaveLength(1);
    release(remaining);
    await settle();
    expect(turns).toHaveLength(1 + inFlight);
  },
);

test("a late response with a higher quota does not raise the quota again", async () => {
  const { acquire, release, settle, names } = openQueue();
  void acquire("a");
  await settle();
  release(20);
  for (const name of "bc") void acquire(name);
  await settle();
  release(0);
  release(1);
  void acquire("d");
  await settle();
  expect(names()).toBe("abc");
});

test("a request whose response is lost is counted", async () => {
  const { acquire, release, queue, run, turns } = openQueue();
  await run(acquire("a"));
  release(1);
  await run(acquire("b"));
  queue.release({});
  await run(acquire("c"));
  expect(turns).toEqual([
    ["a", 0],
    ["b", 0],
    ["c", 60_000],
  ]);
});

test("a lost response uses up one request of the quota, and never more than all of it", async () => {
  const { acquire, release, queue, run, settle, turns } = openQueue();
  await run(acquire("a"));
  release(3);
  for (const name of ["b", "c"]) {
    await run(acquire(name));
    queue.release({});
  }
  expect(turns.map(([, at]) => at)).toEqual([0, 0, 0]);
  release(20, 61);
  void acquire("d");
  await settle();
  release(0);
  queue.release({});
  await run(acquire("e"));
  expect(turns.at(-1)).toEqual(["e", 60_000]);
});

test("a request waits as long as it may, and not a millisecond longer; whole ones are told", async () => {
  const { acquire, clock, queue, run } = openQueue();
  await run(acquire("a"));
  queue.release({ pauseMs: 4_999.5 });
  const { signal } = new AbortController();
  const tooLong = { retryAt: NOON + 5_000 };
  expect(await queue.acquire({ signal, deadline: Infinity, maxWaitMs: 4_999 })).toEqual(tooLong);
  expect(await queue.acquire({ signal, deadline: NOON + 4_999, maxWaitMs: Infinity })).toEqual(tooLong);
  const turn = queue.acquire({ signal, deadline: NOON + 5_000, maxWaitMs: 5_000 });
  expect(await run(turn)).toBeUndefined();
  expect(clock()).toBe(NOON + 5_000);
});

test("a later response does not shorten a pause", async () => {
  const { acquire, queue, release, run, settle, turns } = openQueue();
  await run(acquire("a"));
  release(50);
  for (const name of "bcd") void acquire(name);
  await settle();
  queue.release({ pauseMs: 7_000 });
  queue.release({ pauseMs: 3_000 });
  queue.release({});
  await run(acquire("e"));
  expect(turns.at(-1)).toEqual(["e", 7_000]);
});

test.each([
  [86_390, 86_400_001, 86_400],
  [86_390, 86_400_000, 86_400],
  [86_430, 86_400_001, 86_430],
])(
  "a window of %i s and a pause of %i ms, of which a day counts, end after %i s",
  async (resetsInSeconds, pauseMs, opensInSeconds) => {
    const { acquire, queue, run } = openQueue();
    await run(acquire("a"));
    const resetSeconds = NOON / 1000 + resetsInSeconds;
    const window = { remainingRequests: 0, resetSeconds, resetsInMs: resetsInSeconds * 1000 };
    queue.release({ window, pauseMs });
    const { signal } = new AbortController();
    expect(await queue.acquire({ signal, deadline: Infinity, maxWaitMs: 0 })).toEqual({
      retryAt: NOON + opensInSeconds * 1000,
    });
  },
);

test("after a window has ended, one request is sent at a time again", async () => {
  const { acquire, release, settle, run, names } = openQueue();
  await run(acquire("a"));
  release(0);
  await run(Promise.race("bcd".split("").map((name) => acquire(name))));
  await settle();
  expect(names()).toBe("ab");
});

test("a pause delays every request, whatever quota remains", async () => {
  const { acquire, queue, run, turns } = openQueue();
  await run(acquire("a"));
  const window = { remainingRequests: 50, resetSeconds: NOON / 1000 + 60, resetsInMs: 60_000 };
  queue.release({ window, pauseMs: 7_000 });
  await run(acquire("b"));
  expect(turns.at(-1)).toEqual(["b", 7_000]);
});

test("a request that is aborted in the queue does not let the next one overtake those before it", async () => {
  const { acquire, release, settle, names } = openQueue();
  const controller = new AbortController();
  void acquire("a");
  void acquire("b");
  void acquire("c");
  const aborted = acquire("x", controller.signal);
  void acquire("d");
  await settle();
  controller.abort(new Error("stopped by the test"));
  await expect(aborted).rejects.toThrow("stopped by the test");
  for (let turn = 0; turn < 3; turn++) {
    release(9);
    await settle();
  }
  expect(names()).toBe("abcd");
});

test("if the first request in the queue is aborted, the next one takes its turn", async () => {
  const { acquire, release, run, settle, turns } = openQueue();
  await run(acquire("a"));
  release(0);
  const controller = new AbortController();
  const first = acquire("b", controller.signal);
  const second = acquire("c");
  await settle();
  controller.abort(new Error("stopped by the test"));
  await expect(first).rejects.toThrow("stopped by the test");
  await run(second);
  expect(turns.at(-1)).toEqual(["c", 60_000]);
});

test("at most four windows are kept, so that a service which reports thousands cannot fill the memory", async () => {
  const { acquire, release, run, turns } = openQueue();
  await run(acquire("a"));
  release(0, 3_600);
  for (let seconds = 60; seconds < 64; seconds++) release(50, seconds);
  await run(acquire("b"));
  expect(turns.at(-1)).toEqual(["b", 0]);
});

test("a clock that fails once fails one request, and the next one gets its turn", async () => {
  const virtual = createVirtualTime();
  let isBroken = false;
  const clock = () => {
    if (isBroken) throw new Error("The clock is broken.");
    return virtual.clock();
  };
  const queue = createRequestQueue(clock, virtual.sleep, clock);
  const options = { signal: new AbortController().signal, deadline: Infinity, maxWaitMs: Infinity };
  expect(await queue.acquire(options)).toBeUndefined();
  const second = queue.acquire(options);
  await new Promise((resolve) => setImmediate(resolve));
  isBroken = true;
  expect(() => queue.release({})).toThrow("The clock is broken.");
  isBroken = false;
  expect(await second).toBeUndefined();
});
