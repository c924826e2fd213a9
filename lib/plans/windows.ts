import type { Failure } from "../core/errors.ts";
import { assertInstant, type Instant } from "../core/time.ts";
import {
  limitsOf,
  PLAN_LIMITS,
  type PlanAssignment,
  type PlanLimits,
  type PlanTable,
} from "./plan-limits.ts";

/** The length of the minute window, which starts with a UTC minute. See lib/README.md#plans-and-windows. */
export const MINUTE_MS = 60_000;

export const DAY_MS = 86_400_000;

/** The longest time to the start of a stored window. One that starts later is replaced: a wrong clock wrote it. */
export const MAX_CLOCK_SKEW_MS = 5 * MINUTE_MS;

/** The number of requests admitted in the window that starts at `start`. */
export interface WindowUsage {
  readonly start: Instant;
  readonly count: number;
}

/** An account's usage of both windows. */
export interface Usage {
  readonly minute: WindowUsage;
  readonly day: WindowUsage;
}

/** The usage of an account that has made no request yet. */
export const NO_USAGE: Usage = { minute: { start: 0, count: 0 }, day: { start: 0, count: 0 } };

/** The state of one window, as the rate-limit headers report it. */
export interface Quota {
  readonly limit: number;
  readonly remaining: number;
  /** The instant at which the window ends and the next one starts. */
  readonly resetsAt: Instant;
}

/** The usage at an instant. A window that has ended counts as empty; one that another process has opened is kept. */
export function usageAt(usage: Usage, at: Instant): Usage {
  return { minute: currentWindow(usage.minute, at, MINUTE_MS), day: currentWindow(usage.day, at, DAY_MS) };
}

function currentWindow(stored: WindowUsage, at: Instant, lengthMs: number): WindowUsage {
  const start = at - (at % lengthMs);
  const isCurrent = stored.start >= start && stored.start <= at + MAX_CLOCK_SKEW_MS;
  return isCurrent ? stored : { start, count: 0 };
}

/** Sets the counts of both windows to zero. The windows stay open: one that goes back would be counted twice. */
export function resetCounts({ minute, day }: Usage): Usage {
  return { minute: { ...minute, count: 0 }, day: { ...day, count: 0 } };
}

/** Adds a number to the counts of both windows, which stay at least zero. */
export function changeCounts({ minute, day }: Usage, more: number): Usage {
  return {
    minute: { start: minute.start, count: Math.max(0, minute.count + more) },
    day: { start: day.start, count: Math.max(0, day.count + more) },
  };
}

/** The state of both windows at an instant. */
export function quotasAt(usage: Usage, limits: PlanLimits, at: Instant): { minute: Quota; day: Quota } {
  const { minute, day } = usageAt(usage, at);
  return { minute: quota(minute, limits.perMinute, MINUTE_MS), day: quota(day, limits.perDay, DAY_MS) };
}

/** The window with the fewest requests left. If both have equally many, the one that resets later. */
export function tightestQuota({ minute, day }: Usage, limits: PlanLimits): Quota {
  const ofMinute = quota(minute, limits.perMinute, MINUTE_MS);
  const ofDay = quota(day, limits.perDay, DAY_MS);
  if (ofMinute.remaining !== ofDay.remaining) return ofMinute.remaining < ofDay.remaining ? ofMinute : ofDay;
  return ofMinute.resetsAt > ofDay.resetsAt ? ofMinute : ofDay;
}

function quota({ start, count }: WindowUsage, limit: number, lengthMs: number): Quota {
  return { limit, remaining: Math.max(0, limit - count), resetsAt: start + lengthMs };
}

/** Seconds until an instant, rounded up, at least 1: the value of `Retry-After`. */
export function secondsUntil(instant: Instant, now: Instant): number {
  return Math.max(1, Math.ceil((instant - now) / 1000));
}

/** The decision of limits about one more request, with the values of the rate-limit headers. */
export type LimitCheck =
  | (Quota & {
      readonly ok: true;
      readonly usage: Usage;
    })
  | (Failure<"rate_limit_exceeded"> &
      Quota & {
        /** Whole seconds until the window resets, at least 1. */
        readonly retryAfterSeconds: number;
      });

/** The result of `checkQuota`. */
export type QuotaCheck = LimitCheck | Failure<"plan_without_limits">;

/** Pure: store the returned `usage`. An admitted request counts in both windows, a rejected one in neither. */
export function checkQuota(
  assignment: PlanAssignment<string>,
  usage: Usage,
  at: Instant,
  plans: PlanTable = PLAN_LIMITS,
): QuotaCheck {
  const limits = limitsOf(assignment, plans);
  if (limits === undefined) return { ok: false, code: "plan_without_limits" };
  return checkLimits(limits, usage, assertInstant(at, "at"));
}

/** Like `checkQuota`, but with the limits themselves instead of a plan. */
export function checkLimits(limits: PlanLimits, usage: Usage, at: Instant): LimitCheck {
  const current = usageAt(usage, at);
  if (current.minute.count < limits.perMinute && current.day.count < limits.perDay) {
    const counted = changeCounts(current, 1);
    return { ok: true, ...tightestQuota(counted, limits), usage: counted };
  }
  const quota = tightestQuota(current, limits);
  const retryAfterSeconds = secondsUntil(quota.resetsAt, at);
  return { ok: false, code: "rate_limit_exceeded", ...quota, retryAfterSeconds };
}
