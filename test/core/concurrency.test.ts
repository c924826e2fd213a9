import { EventEmitter } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createTurns, mapBounded, settleWithin, waitForDrain } from "../../lib/core/concurrency.ts";
import { isStoreUnavailable } from "../../lib/core/errors.ts";

afterEach(() => void vi.useRealTimers());

describe("mapBounded", () => {
  test("calls at most as many functions at the same time as it may, and returns results in order", async () => {
    let running = 0;
    let most = 0;
    const results = await mapBounded([5, 1, 4, 2, 3], 2, async (turns) => {
      most = Math.max(most, ++running);
      for (let turn = 0; turn < turns; turn++) await nextTurn();
      running--;
      return turns * 10;
    });
    expect([results, most]).toEqual([[50, 10, 40, 20, 30], 2]);
  });

  test("starts no further call after a failure", async () => {
    const started: number[] = [];
    const mapped = mapBounded([0, 1, 2, 3, 4, 5], 2, async (value) => {
      started.push(value);
      await nextTurn();
      if (value === 1) throw new Error("The call failed.");
    });
    await expect(mapped).rejects.toThrow("The call failed.");
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(started).toEqual([0, 1, 2]);
  });

  test("maps nothing for no values, and everything with a concurrency below 1", async () => {
    expect(await mapBounded([], 3, async () => 1)).toEqual([]);
    expect(await mapBounded([1, 2], 0, async (value) => value)).toEqual([1, 2]);
  });
});

test("tasks of a key run in turn, also after one that failed, and those of another key do not wait", async () => {
  const turns = createTurns<string>();
  const ran: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = turns.run("a", async () => {
    await gate.promise;
    throw new Error("The task failed.");
  });
  const second = turns.run("a", async () => ran.push("second"));
  await turns.run("b", async () => ran.push("other"));
  expect([ran, turns.has("a"), turns.has("b")]).toEqual([["other"], true, false]);
  gate.resolve();
  await expect(first).rejects.toThrow("The task failed.");
  await second;
  await nextTurn();
  expect([ran, turns.has("a")]).toEqual([["other", "second"], false]);
});

test("settleWithin rejects as an unavailable store if a call takes too long, and otherwise settles like it", async () => {
  expect(await settleWithin(1_000, Promise.resolve(7))).toBe(7);
  await expect(settleWithin(1_000, Promise.reject(new Error("mine")))).rejects.toThrow("mine");
  const late = settleWithin(1, new Promise(() => {}));
  await expect(late).rejects.toSatisfy(isStoreUnavailable);
  await expect(late).rejects.toThrow("did not respond within 1 ms");
});

test("settleWithin leaves no timer that would keep the process alive", async () => {
  vi.useFakeTimers();
  await settleWithin(60_000, Promise.resolve());
  expect(vi.getTimerCount()).toBe(0);
});

describe("waitForDrain", () => {
  const createStream = (destroyed = false) => Object.assign(new EventEmitter(), { destroyed });
  const listeners = (stream: EventEmitter) => stream.eventNames();

  test.each(["drain", "close"])("resolves at the event '%s', and leaves no listener", async (event) => {
    const stream = createStream();
    let isDone = false;
    const done = waitForDrain(stream).then(() => {
      isDone = true;
    });
    await nextTurn();
    expect(isDone).toBe(false);
    stream.emit(event);
    await done;
    expect(listeners(stream)).toEqual([]);
  });

  test("waits for the end of the stream if asked to", async () => {
    const stream = createStream();
    const done = waitForDrain(stream, "finish");
    expect(listeners(stream)).toEqual(["finish", "close"]);
    stream.emit("finish");
    await done;
  });

  test("does not wait for a stream that is closed already", async () => {
    const stream = createStream(true);
    await waitForDrain(stream);
    expect(listeners(stream)).toEqual([]);
  });
});
