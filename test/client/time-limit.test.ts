import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { startTimeLimit } from "../../lib/client/time-limit.ts";
import { abortable } from "../../lib/core/concurrency.ts";
import { waitForTimer } from "../../lib/core/time.ts";
import { errorResponse, openClient, readAll, rejection } from "./fixture.ts";
import { createVirtualTime } from "./virtual-time.ts";

const listeners = (signal: AbortSignal) => getEventListeners(signal, "abort").length;

describe("a sleep", () => {
  test("ends after its time and leaves nothing behind", async () => {
    const { clock, run, pendingTimers } = createVirtualTime();
    const { signal } = new AbortController();
    const startedAt = clock();
    const sleep = waitForTimer(1_000.5, signal);
    expect([listeners(signal), pendingTimers()]).toEqual([1, 1]);
    await run(sleep);
    expect(clock() - startedAt).toBe(1_001);
    expect([listeners(signal), pendingTimers()]).toEqual([0, 0]);
  });

  test("ends as soon as its signal aborts, even before it, and leaves nothing behind", async () => {
    const { pendingTimers } = createVirtualTime();
    const controller = new AbortController();
    const sleep = waitForTimer(1_000, controller.signal);
    controller.abort();
    await sleep;
    await waitForTimer(1_000, controller.signal);
    expect([listeners(controller.signal), pendingTimers()]).toEqual([0, 0]);
  });
});

describe("a time limit", () => {
  test("of Infinity needs no timer", () => {
    const { pendingTimers } = createVirtualTime();
    const { signal } = startTimeLimit("total", Infinity);
    expect([signal.aborted, pendingTimers()]).toEqual([false, 0]);
  });

  test("aborts with the reason of the outer signal, even if that was aborted before", () => {
    createVirtualTime();
    const outer = new AbortController();
    const { signal } = startTimeLimit("total", Infinity, outer.signal);
    expect(signal.aborted).toBe(false);
    outer.abort("stopped");
    expect(signal.reason).toBe("stopped");
    expect(startTimeLimit("total", Infinity, outer.signal).signal.reason).toBe("stopped");
  });

  test("that is released leaves nothing behind", () => {
    const { pendingTimers } = createVirtualTime();
    const outer = new AbortController();
    const limit = startTimeLimit("total", 1_000, outer.signal);
    expect([listeners(outer.signal), pendingTimers()]).toEqual([1, 1]);
    limit.release();
    expect([listeners(outer.signal), pendingTimers()]).toEqual([0, 0]);
  });
});

describe("an abortable promise", () => {
  const pending = new Promise<never>(() => {});

  test("rejects with the reason as soon as the signal aborts, or at once if it was aborted", async () => {
    const controller = new AbortController();
    const waiting = abortable(pending, controller.signal);
    controller.abort("stopped");
    await expect(waiting).rejects.toBe("stopped");
    await expect(abortable(pending, controller.signal)).rejects.toBe("stopped");
    expect(listeners(controller.signal)).toBe(0);
  });

  test("settles like the promise and leaves no listener behind", async () => {
    const { signal } = new AbortController();
    await expect(abortable(Promise.resolve(1), signal)).resolves.toBe(1);
    await expect(abortable(Promise.reject(new Error("No.")), signal)).rejects.toThrow("No.");
    expect(listeners(signal)).toBe(0);
  });
});

test("a call of any kind, with a retry or not, leaves no timer and no listener behind", async () => {
  const { client, run, pendingTimers } = await openClient({
    totalTimeoutMs: 60_000,
    network: async (forward, attempt) =>
      attempt === 1 ? errorResponse(503, "store_unavailable") : forward(),
  });
  const { signal } = new AbortController();
  for (const call of [
    () => client.cancel(1n, { signal }),
    () => client.cancel(1n, { signal }),
    () => rejection(client.page({}, { signal })),
    () => readAll(client.list({ signal })),
  ]) {
    await run(call());
    expect([listeners(signal), pendingTimers()]).toEqual([0, 0]);
  }
});
