import type { Instant } from "../clock.ts";
import type { Failure } from "../errors.ts";
import {
  limitsOf,
  PLAN_LIMITS,
  type PlanAssignment,
  type PlanLimits,
  type PlanTable,
} from "./plan-limits.ts";
import {
  hasCapacity,
  increment,
  type Quota,
  secondsUntil,
  tightestQuota,
  type Usage,
  usageAt,
} from "./windows.ts";

/** Whether limits admit one more request, with the values of the rate-limit headers. */
export type LimitCheck =
  | (Quota & {
      readonly ok: true;
      /** The usage including this request. */
      readonly usage: Usage;
    })
  | (Failure<"rate_limit_exceeded"> &
      Quota & {
        /** Whole seconds until the window resets, at least 1. */
        readonly retryAfterSeconds: number;
      });

/** The result of `checkQuota`. */
export type QuotaCheck = LimitCheck | Failure<"plan_without_limits">;

/**
 * Checks one more request against both windows of a plan. Pure: store the returned `usage`. An admitted request counts
 * in both windows, a rejected one in neither.
 *
 * ```ts
 * const check = checkQuota({ plan: "free" }, NO_USAGE, Date.now()); // { ok: true, limit: 60, remaining: 59, … }
 * ```
 */
export function checkQuota(
  assignment: PlanAssignment<string>,
  usage: Usage,
  at: Instant,
  plans: PlanTable = PLAN_LIMITS,
): QuotaCheck {
  const limits = limitsOf(assignment, plans);
  return limits === undefined ? { ok: false, code: "plan_without_limits" } : checkLimits(limits, usage, at);
}

/** Like `checkQuota`, but with the limits themselves instead of a plan. */
export function checkLimits(limits: PlanLimits, usage: Usage, at: Instant): LimitCheck {
  const current = usageAt(usage, at);
  if (hasCapacity(current, limits)) {
    const counted = increment(current);
    return { ok: true, ...tightestQuota(counted, limits), usage: counted };
  }
  const quota = tightestQuota(current, limits);
  const retryAfterSeconds = secondsUntil(quota.resetsAt, at);
  return { ok: false, code: "rate_limit_exceeded", ...quota, retryAfterSeconds };
}
