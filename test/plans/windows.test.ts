import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { limitsOf, PLAN_LIMITS } from "../../lib/plans/plan-limits.ts";
import {
  checkQuota,
  DAY_MS,
  MAX_CLOCK_SKEW_MS,
  MINUTE_MS,
  NO_USAGE,
  quotasAt,
  resetCounts,
  secondsUntil,
  tightestQuota,
  type Usage,
  usageAt,
} from "../../lib/plans/windows.ts";

const instant = fc.integer({ min: 0, max: Date.UTC(2100, 0) });

const increment = ({ minute, day }: Usage): Usage => ({
  minute: { ...minute, count: minute.count + 1 },
  day: { ...day, count: day.count + 1 },
});

test("the plan table has the published limits", () => {
  expect(PLAN_LIMITS).toEqual({
    free: { perMinute: 60, perDay: 1000 },
    pro: { perMinute: 300, perDay: 10000 },
    business: { perMinute: 1000, perDay: 100000 },
    enterprise: "custom",
  });
});

test("of two windows with as many requests left, the one that resets later is reported", () => {
  const at = Date.UTC(2026, 10, 20, 12);
  const used = increment(usageAt(NO_USAGE, at));
  const limits = { perMinute: 5, perDay: 5 };
  expect(tightestQuota(used, limits)).toEqual({ limit: 5, remaining: 4, resetsAt: Date.UTC(2026, 10, 21) });
  const lastMinute = increment(usageAt(NO_USAGE, Date.UTC(2026, 10, 20, 23, 59)));
  const ahead = { ...lastMinute, minute: { ...lastMinute.minute, start: Date.UTC(2026, 10, 21) } };
  expect(tightestQuota(ahead, limits)).toMatchObject({ resetsAt: Date.UTC(2026, 10, 21, 0, 1) });
  expect(NO_USAGE).toEqual({ minute: { start: 0, count: 0 }, day: { start: 0, count: 0 } });
});

test("an unknown plan, and enterprise without custom limits, have no limits", () => {
  expect(limitsOf({ plan: "platinum" as never })).toBeUndefined();
  expect(limitsOf({ plan: "toString" as never })).toBeUndefined();
  expect(limitsOf({ plan: "enterprise" })).toBeUndefined();
  const customLimits = { perMinute: 7, perDay: 8 };
  expect(limitsOf({ plan: "enterprise", customLimits })).toEqual(customLimits);
});

test("windows are aligned to the UTC minute and day, and contain the instant", () => {
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

test("the tightest quota is the window with the fewest requests left, or on a tie the one that resets later", () => {
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

test("Retry-After is in whole seconds, at least 1, and never shorter than the wait", () => {
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

test("a window never goes back while clocks differ by at most five minutes", () => {
  const skewed = fc.array(fc.integer({ min: 0, max: MAX_CLOCK_SKEW_MS }), { minLength: 1 });
  fc.assert(
    fc.property(instant, skewed, (base, offsets) => {
      let usage = NO_USAGE;
      let highest = 0;
      for (const at of offsets.map((offset) => base + offset)) {
        usage = increment(usageAt(usage, at));
        highest = Math.max(highest, at);
        expect(usage.minute.start).toBe(highest - (highest % MINUTE_MS));
      }
    }),
  );
});

test("a window that starts more than five minutes ahead is replaced", () => {
  const at = Date.UTC(2026, 10, 20, 12);
  const minute = { start: at + MAX_CLOCK_SKEW_MS, count: 7 };
  const day = { start: at + DAY_MS, count: 8 };
  expect(usageAt({ minute, day }, at)).toEqual({ minute, day: { start: at - (at % DAY_MS), count: 0 } });
  expect(usageAt({ minute, day }, at - 1).minute).toEqual({ start: at - MINUTE_MS, count: 0 });
});

test("quotasAt reports both windows, and a window that has ended as empty", () => {
  const at = Date.UTC(2026, 10, 20, 12);
  const day = { start: at - (at % DAY_MS), count: 1_200 };
  const usage = { minute: { start: at - MINUTE_MS, count: 60 }, day };
  expect(quotasAt(usage, { perMinute: 60, perDay: 1_000 }, at + 1)).toEqual({
    minute: { limit: 60, remaining: 60, resetsAt: at + MINUTE_MS },
    day: { limit: 1_000, remaining: 0, resetsAt: at - (at % DAY_MS) + DAY_MS },
  });
});

test("resetCounts keeps the windows open", () => {
  const usage = { minute: { start: 120_000, count: 60 }, day: { start: 0, count: 61 } };
  expect(resetCounts(usage)).toEqual({ minute: { start: 120_000, count: 0 }, day: { start: 0, count: 0 } });
});

describe("checkQuota", () => {
  const at = Date.UTC(2026, 10, 20, 12);

  test("checkQuota counts an admitted request and returns the quota that is left", () => {
    const check = checkQuota({ plan: "free" }, NO_USAGE, at);
    expect(check).toMatchObject({ ok: true, limit: 60, remaining: 59, resetsAt: at + MINUTE_MS });
    expect(check.ok && check.usage.minute).toEqual({ start: at, count: 1 });
  });

  test("checkQuota rejects the request after the last one with the time to wait", () => {
    const usage = { minute: { start: at, count: 60 }, day: { start: at - (at % DAY_MS), count: 60 } };
    expect(checkQuota({ plan: "free" }, usage, at + 1)).toEqual({
      ...{ ok: false, code: "rate_limit_exceeded", limit: 60, remaining: 0 },
      ...{ resetsAt: at + MINUTE_MS, retryAfterSeconds: 60 },
    });
  });

  test("admits nothing on a plan without limits", () => {
    const failure = { ok: false, code: "plan_without_limits" };
    expect(checkQuota({ plan: "enterprise" }, NO_USAGE, at)).toEqual(failure);
    expect(checkQuota({ plan: "gold" as never }, NO_USAGE, at)).toEqual(failure);
  });
});

test.each([Number.NaN, new Date() as never, -1, 0.5, Infinity, "1" as never])(
  "a quota at %s, which is no instant, is an error and admits nobody",
  (at) => {
    expect(() => checkQuota({ plan: "free" }, NO_USAGE, at)).toThrow(/^at: It is .*whole milliseconds/);
  },
);
