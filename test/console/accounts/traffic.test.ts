import { expect, test } from "vitest";
import type { Account } from "../../../lib/accounts/account.ts";
import { type Observations, observe, trafficOf } from "../../../lib/console/accounts/traffic.ts";
import { DAY_MS, MINUTE_MS } from "../../../lib/plans/windows.ts";

const NOON = Date.UTC(2026, 10, 20, 12);

/** An account whose counters say this. */
function account(day: number, minute: readonly [start: number, count: number], rejected = 0): Account {
  const [start, count] = minute;
  const usage = { day: { start: start - (start % DAY_MS), count: day }, minute: { start, count } };
  return {
    id: "acme",
    plan: "free",
    keys: [],
    usage,
    rejections: { a: { windowStart: start, count: rejected } },
  };
}

/** The admitted requests of the minutes from `NOON` on. */
function admitted(known: Observations, minutes: number): readonly (number | undefined)[] {
  return trafficOf(known, NOON + (minutes - 1) * MINUTE_MS)
    .slice(-minutes)
    .map((minute) => minute.admitted);
}

test("requests after the last look at a minute are counted in that minute", () => {
  let known = observe(new Map(), account(10, [NOON, 10]), NOON + 5_000);
  // 15 more before the minute ended, then 2 in the next one.
  known = observe(known, account(27, [NOON + MINUTE_MS, 2]), NOON + MINUTE_MS + 1_000);
  expect(admitted(known, 2)).toEqual([25, 2]);
});

test("a minute in which the console did not look is unknown, and so is the one before it", () => {
  let known = observe(new Map(), account(10, [NOON, 10]), NOON);
  known = observe(known, account(50, [NOON + 3 * MINUTE_MS, 1]), NOON + 3 * MINUTE_MS);
  expect(admitted(known, 4)).toEqual([undefined, undefined, undefined, 1]);
});

test("a minute without requests is zero", () => {
  const quiet = account(10, [NOON - 10 * MINUTE_MS, 10]);
  const known = observe(observe(new Map(), quiet, NOON), quiet, NOON + MINUTE_MS);
  expect(admitted(known, 2)).toEqual([0, 0]);
});

test("counters that an operator sets to zero, and the end of a day, invent no figure", () => {
  let known = observe(new Map(), account(10, [NOON, 4]), NOON);
  known = observe(known, account(0, [NOON, 0]), NOON + MINUTE_MS);
  expect(admitted(known, 2)).toEqual([undefined, 0]);
  const midnight = NOON + DAY_MS / 2;
  known = observe(new Map(), account(3, [midnight - MINUTE_MS, 3]), midnight - 1);
  known = observe(known, account(2, [midnight, 2]), midnight + 1);
  expect(
    trafficOf(known, midnight + 1)
      .slice(-2)
      .map((minute) => minute.admitted),
  ).toEqual([undefined, 2]);
});

test("of the rejections of a key in a minute, the most that was seen counts, also after they were removed", () => {
  let known = observe(new Map(), account(60, [NOON, 60], 12), NOON);
  known = observe(known, account(60, [NOON, 60], 0), NOON + 1);
  known = observe(known, account(60, [NOON, 60]), NOON + MINUTE_MS);
  expect(
    trafficOf(known, NOON + MINUTE_MS)
      .slice(-2)
      .map(({ rejected }) => rejected),
  ).toEqual([12, 0]);
});

test("what is older than an hour is forgotten", () => {
  let known: Observations = new Map();
  for (let minute = 0; minute < 300; minute++)
    known = observe(known, account(minute, [NOON, 0]), NOON + minute * MINUTE_MS);
  expect(known.size).toBeLessThanOrEqual(61);
});
