import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
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
  throw new Error("hook");
};

test.each([
  ["throws", fail],
  ["rejects", async () => fail()],
])("an error reporter that %s affects nothing", async (_how, report) => {
  const unhandled = await unhandledOf(async () => {
    startHook("onRequest", fail, report);
    startHook("onRequest", async () => fail(), report);
    await callHook("onTransition", fail, report);
  });
  expect(unhandled).toEqual([]);
});

test("the error of a promise from another realm is reported", async () => {
  const reported: unknown[] = [];
  const foreign = () => runInNewContext("Promise.reject('foreign')");
  const unhandled = await unhandledOf(() => startHook("onRequest", foreign, (error) => reported.push(error)));
  expect([reported, unhandled]).toEqual([["foreign"], []]);
});
