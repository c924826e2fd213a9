import { expect, test } from "vitest";
import { createTurns, MAX_TIMER_MS } from "../../lib/core/time.ts";

const eventLoopTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("each turn of the event loop lets one caller continue, in the order of their arrival", async () => {
  const nextTurn = createTurns();
  const continued: string[] = [];
  const enter = (name: string) => void nextTurn().then(() => continued.push(name));
  for (const name of ["a", "b", "c"]) enter(name);
  await Promise.resolve();
  expect(continued).toEqual([]);
  for (const expected of [["a"], ["a", "b"], ["a", "b", "c"]]) {
    await eventLoopTurn();
    expect(continued).toEqual(expected);
  }
  await eventLoopTurn();
  enter("d");
  await eventLoopTurn();
  expect(continued).toEqual(["a", "b", "c", "d"]);
});

test("the longest timer does not fire at once, as a longer one would", async () => {
  const fired: string[] = [];
  const longest = setTimeout(() => fired.push("longest"), MAX_TIMER_MS);
  await new Promise((resolve) => setTimeout(resolve, 2));
  clearTimeout(longest);
  expect(fired).toEqual([]);
});
