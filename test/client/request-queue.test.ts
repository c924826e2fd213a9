import { expect, test } from "vitest";
import { createRequestQueue } from "../../lib/client/request-queue.ts";
import { NOON } from "../http/fixture.ts";
import { createVirtualTime } from "./virtual-time.ts";

/** A line, with a way to enter it that tells who was let out, and when. */
function openLine() {
  const virtual = createVirtualTime();
  const line = createRequestQueue(virtual.clock, virtual.sleep);
  const out: [string, number][] = [];
  const enter = async (name: string, signal = new AbortController().signal) => {
    await line.acquire({ signal, deadline: Infinity, maxWaitMs: Infinity });
    out.push([name, virtual.time.now - NOON]);
  };
  /** What an answer says: so many left in a window that ends so many seconds after noon. */
  const answer = (remaining: number, seconds = 60) => {
    const reset = NOON / 1000 + seconds;
    line.release({ window: { remaining, reset, resetsIn: reset * 1000 - virtual.time.now } });
  };
  const settle = async () => {
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const names = () => out.map(([name]) => name).join("");
  return { ...virtual, line, enter, answer, settle, out, names };
}

test.each([
  [59, 5],
  [9, 1],
  [1, 1],
  [900, 8],
])("while nothing is known one goes alone; with %i left %i go together", async (left, together) => {
  const { enter, answer, settle, out } = openLine();
  for (const name of "abcdefghijklmnopqrst") void enter(name);
  await settle();
  expect(out).toHaveLength(1);
  answer(left);
  await settle();
  expect(out).toHaveLength(1 + together);
});

test("an answer that comes late does not give back what others have used", async () => {
  const { enter, answer, settle, names } = openLine();
  void enter("a");
  await settle();
  answer(20);
  for (const name of "bc") void enter(name);
  await settle();
  answer(0);
  answer(1);
  void enter("d");
  await settle();
  expect(names()).toBe("abc");
});

test("a request whose answer is lost counts as one that was made", async () => {
  const { enter, answer, line, run, out } = openLine();
  await run(enter("a"));
  answer(1);
  await run(enter("b"));
  line.release({});
  await run(enter("c"));
  expect(out).toEqual([
    ["a", 0],
    ["b", 0],
    ["c", 60_000],
  ]);
});

test("after a window has ended one goes alone again", async () => {
  const { enter, answer, settle, run, names } = openLine();
  await run(enter("a"));
  answer(0);
  await run(Promise.race("bcd".split("").map((name) => enter(name))));
  await settle();
  expect(names()).toBe("ab");
});

test("a pause holds everybody, however much is left", async () => {
  const { enter, line, run, out } = openLine();
  await run(enter("a"));
  line.release({ window: { remaining: 50, reset: NOON / 1000 + 60, resetsIn: 60_000 }, pause: 7_000 });
  await run(enter("b"));
  expect(out.at(-1)).toEqual(["b", 7_000]);
});

test("one that leaves the line early does not let the next one past those before it", async () => {
  const { enter, answer, settle, names } = openLine();
  const controller = new AbortController();
  void enter("a");
  void enter("b");
  void enter("c");
  const left = enter("x", controller.signal);
  void enter("d");
  await settle();
  controller.abort(new Error("enough"));
  await expect(left).rejects.toThrow("enough");
  for (let turn = 0; turn < 3; turn++) {
    answer(9);
    await settle();
  }
  expect(names()).toBe("abcd");
});

test("the first in line can leave as well, and the next one takes its place", async () => {
  const { enter, answer, run, settle, out } = openLine();
  await run(enter("a"));
  answer(0);
  const controller = new AbortController();
  const first = enter("b", controller.signal);
  const second = enter("c");
  await settle();
  controller.abort(new Error("enough"));
  await expect(first).rejects.toThrow("enough");
  await run(second);
  expect(out.at(-1)).toEqual(["c", 60_000]);
});
