import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test, vi } from "vitest";
import { callHook, startHook } from "../../lib/core/hooks.ts";

/** The rejections that nothing handles while a task and everything that it starts runs. */
async function unhandledOf(task: () => unknown): Promise<readonly unknown[]> {
  const unhandled: unknown[] = [];
  const listener = (error: unknown) => unhandled.push(error);
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", listener);
  await task();
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  process.off("unhandledRejection", listener);
  for (const other of others) process.on("unhandledRejection", other);
  return unhandled;
}

const fail = () => {
  throw new Error("hook\u001b[2J\nline");
};

/** Fails when it is awaited. */
const thenable = {
  // biome-ignore lint/suspicious/noThenProperty: this is what the test is about
  get then() {
    return fail();
  },
};

test.each([
  ["throws", fail],
  ["rejects", async () => fail()],
  ["returns what cannot be awaited", () => thenable as never],
])("an error reporter that %s affects nothing, and the console gets its errors", async (_how, report) => {
  const log = vi.spyOn(console, "error").mockReturnValue();
  onTestFinished(() => log.mockRestore());
  const unhandled = await unhandledOf(async () => {
    startHook("onRequest", fail, report);
    startHook("onRequest", async () => fail(), report);
    await callHook("onTransition", fail, report);
    await callHook("onTransition", () => thenable as never, report);
  });
  expect(unhandled).toEqual([]);
  const failed = (hook: string) => [`store-orders: ${hook} failed: hook\\u001b[2J\\nline`];
  expect(log.mock.calls.toSorted()).toEqual([
    failed("onRequest"),
    failed("onRequest"),
    failed("onTransition"),
    failed("onTransition"),
  ]);
});

test("nobody waits for a hook for longer than 20 seconds, and one that takes longer is reported", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const reported: unknown[] = [];
  const called = callHook(
    "onTransition",
    () => new Promise(() => {}),
    (...args) => reported.push(args),
  );
  await vi.advanceTimersByTimeAsync(19_999);
  expect(reported).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  await called;
  expect(reported).toEqual([
    [expect.objectContaining({ message: expect.stringContaining("The hook did not") }), "onTransition"],
  ]);
});

test("the error of a promise from another realm is reported", async () => {
  const reported: unknown[] = [];
  const foreign = () => runInNewContext("Promise.reject('foreign')");
  const unhandled = await unhandledOf(() => startHook("onRequest", foreign, (error) => reported.push(error)));
  expect([reported, unhandled]).toEqual([["foreign"], []]);
});
