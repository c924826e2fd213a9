import fc from "fast-check";
import { expect, test } from "vitest";
import { limitsOf, PLAN_LIMITS } from "../../lib/plans/plan-limits.ts";
import {
  DAY_MS,
  increment,
  MINUTE_MS,
  NO_USAGE,
  secondsUntil,
  tightestQuota,
  usageAt,
} from "../../lib/plans/windows.ts";

const instant = fc.integer({ min: 0, max: Date.UTC(2100, 0) });

test("the table is the specification's", () => {
  expect(PLAN_LIMITS).toEqual({
    free: { perMinute: 60, perDay: 1000 },
    pro: { perMinute: 300, perDay: 10000 },
    business: { perMinute: 1000, perDay: 100000 },
    enterprise: "custom",
  });
});

test("a plan that is not in the table, and enterprise without limits, have none (decision 13)", () => {
  expect(limitsOf({ plan: "platinum" as never })).toBeUndefined();
  expect(limitsOf({ plan: "toString" as never })).toBeUndefined();
  expect(limitsOf({ plan: "enterprise" })).toBeUndefined();
  expect(limitsOf({ plan: "enterprise", customLimits: { perMinute: 7, perDay: 8 } })).toEqual({
    perMinute: 7,
    perDay: 8,
  });
});

test("windows are aligned to the UTC minute and day, and hold the instant (decision 10)", () => {
  fc.assert(
    fc.property(instant, (at) => {
      const { minute, day } = usageAt(NO_USAGE, at);
      expect([minute.start % MINUTE_MS, day.start % DAY_MS]).toEqual([0, 0]);
      expect(at - minute.start).toBeLessThan(MINUTE_MS);
      expect(at - day.start).toBeLessThan(DAY_MS);
      expect(new Date(day.start).toISOString().slice(10)).toBe("T00:00:00.000Z");
    }),
  );
});

test("the headers tell the window with the fewest requests left; of two alike the one that resets later (decision 11)", () => {
  const at = Date.UTC(2026, 10, 20, 12);
  const of = (minute: number, day: number) =>
    tightestQuota(
      { minute: { start: at, count: minute }, day: { start: at - 12 * 60 * MINUTE_MS, count: day } },
      PLAN_LIMITS.free,
    );
  expect(of(1, 1)).toEqual({ limit: 60, remaining: 59, resetsAt: at + MINUTE_MS });
  expect(of(0, 990)).toEqual({ limit: 1000, remaining: 10, resetsAt: Date.UTC(2026, 10, 21) });
  expect(of(50, 990)).toEqual({ limit: 1000, remaining: 10, resetsAt: Date.UTC(2026, 10, 21) });
  expect(of(99, 2000).remaining).toBe(0);
});

test("Retry-After is whole seconds, at least 1, and never shorter than the wait (decision 11)", () => {
  fc.assert(
    fc.property(instant, fc.integer({ min: -5_000, max: DAY_MS }), (at, wait) => {
      const seconds = secondsUntil(at + wait, at);
      expect(Number.isInteger(seconds)).toBe(true);
      expect(seconds).toBeGreaterThanOrEqual(1);
      expect(seconds * 1000).toBeGreaterThanOrEqual(wait);
      expect(seconds * 1000).toBeLessThan(Math.max(wait, 0) + 2000);
    }),
  );
});

test("a window never goes back, whatever a clock says", () => {
  fc.assert(
    fc.property(fc.array(instant, { minLength: 1 }), (instants) => {
      let usage = NO_USAGE;
      let highest = 0;
      for (const at of instants) {
        usage = increment(usageAt(usage, at));
        highest = Math.max(highest, at);
        expect(usage.minute.start).toBe(highest - (highest % MINUTE_MS));
      }
    }),
  );
});
