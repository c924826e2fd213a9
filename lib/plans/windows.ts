import type { Instant } from "../clock.ts";
import type { PlanLimits } from "./plan-limits.ts";

/** Lengths of the two windows in milliseconds. Both are fixed and aligned to UTC (decision 10). */
export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

/** How often an account was admitted in the window that began at `start`. */
export interface WindowUsage {
  /** The window's first instant. */
  readonly start: Instant;
  readonly count: number;
}

/** An account's use of both windows. */
export interface Usage {
  readonly minute: WindowUsage;
  readonly day: WindowUsage;
}

/** The use of an account that has not been seen yet. */
export const NO_USAGE: Usage = {
  minute: { start: 0, count: 0 },
  day: { start: 0, count: 0 },
};

/** What the three rate-limit headers say, of one window. */
export interface Quota {
  /** Requests that the window admits. */
  readonly limit: number;
  /** Requests left in it. */
  readonly remaining: number;
  /** When it ends and a new one begins. */
  readonly resetsAt: Instant;
}

/**
 * The use at an instant: a window that has ended counts as empty. A window never goes back, so a process whose
 * clock is behind counts into the window that others have opened already.
 */
export function usageAt(usage: Usage, at: Instant): Usage {
  return {
    minute: currentWindow(usage.minute, at, MINUTE_MS),
    day: currentWindow(usage.day, at, DAY_MS),
  };
}

function currentWindow(seen: WindowUsage, at: Instant, length: number): WindowUsage {
  const start = at - (at % length);
  return start > seen.start ? { start, count: 0 } : seen;
}

/** One more request in both windows. */
export function increment({ minute, day }: Usage): Usage {
  return {
    minute: { start: minute.start, count: minute.count + 1 },
    day: { start: day.start, count: day.count + 1 },
  };
}

/** True where one more request fits both windows. */
export function hasCapacity({ minute, day }: Usage, limits: PlanLimits): boolean {
  return minute.count < limits.perMinute && day.count < limits.perDay;
}

/**
 * The window that binds: the one with the fewest requests left; of two alike, the one that resets later, since
 * the client must wait for it (decision 11).
 */
export function tightestQuota({ minute, day }: Usage, limits: PlanLimits): Quota {
  const ofMinute = quota(minute, limits.perMinute, MINUTE_MS);
  const ofDay = quota(day, limits.perDay, DAY_MS);
  if (ofMinute.remaining !== ofDay.remaining) return ofMinute.remaining < ofDay.remaining ? ofMinute : ofDay;
  return ofMinute.resetsAt > ofDay.resetsAt ? ofMinute : ofDay;
}

function quota({ start, count }: WindowUsage, limit: number, length: number): Quota {
  return {
    limit,
    remaining: Math.max(0, limit - count),
    resetsAt: start + length,
  };
}

/** Whole seconds until an instant, at least 1, never shorter than the wait: the value of `Retry-After`. */
export function secondsUntil(instant: Instant, at: Instant): number {
  return Math.max(1, Math.ceil((instant - at) / 1000));
}
