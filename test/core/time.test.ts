import { expect, test } from "vitest";
import { InvalidInputError } from "../../lib/core/errors.ts";
import { assertInstant, backoffMs, createTurnQueue, MAX_TIMER_MS, wholeClock } from "../../lib/core/time.ts";

const eventLoopTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("each turn of the event loop lets one caller continue, in the order of their arrival", async () => {
  const nextTurn = createTurnQueue();
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

test("the backoff is uniformly distributed up to a bound that doubles until it reaches its maximum", () => {
  const bounds = [0, 1, 2, 6, 7, 2_000].map((retries) => backoffMs(retries, 500, 30_000, () => 1));
  expect(bounds).toEqual([500, 1_000, 2_000, 30_000, 30_000, 30_000]);
  expect(backoffMs(5, 500, 30_000, () => 0.25)).toBe(4_000);
  for (let call = 0; call < 100; call++) expect(backoffMs(1, 1, 9)).toBeLessThan(2);
});

test("the longest timer does not fire at once, as a longer one would", async () => {
  const fired: string[] = [];
  const longest = setTimeout(() => fired.push("longest"), MAX_TIMER_MS);
  await new Promise((resolve) => setTimeout(resolve, 2));
  clearTimeout(longest);
  expect(fired).toEqual([]);
});

test("an instant is a whole number of milliseconds from 1970 to the end of the year 9999", () => {
  const last = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
  for (const at of [0, 1, Date.now(), last]) {
    expect(assertInstant(at, "at")).toBe(at);
    expect(wholeClock(() => at)()).toBe(at);
  }
  for (const wrong of [
    -1,
    last + 1,
    0.5,
    Number.NaN,
    Infinity,
    8.65e15,
    "1",
    1n,
    null,
    undefined,
    new Date(),
  ]) {
    expect(() => assertInstant(wrong, "at")).toThrow(InvalidInputError);
    expect(() => wholeClock(() => wrong as number)()).toThrow(
      /^clock: It is .*Math\.floor\(\) removes a fraction\.$/,
    );
  }
});
