/**
 * The plans and their limits: pure functions and tables without dependencies, also for browsers.
 *
 * ```ts
 * import { checkQuota, NO_USAGE } from "store-orders/plans";
 *
 * const check = checkQuota({ plan: "free" }, NO_USAGE, Date.now());
 * if (check.ok) console.log(check.remaining); // 59
 * ```
 *
 * @module store-orders/plans
 */

export {
  isPlan,
  limitsOf,
  MAX_REQUESTS_PER_MINUTE,
  PLAN_LIMITS,
  PLANS,
  type Plan,
  type PlanAssignment,
  type PlanLimits,
  type PlanTable,
} from "./plan-limits.ts";
export {
  checkLimits,
  checkQuota,
  DAY_MS,
  type LimitCheck,
  MAX_CLOCK_SKEW_MS,
  MINUTE_MS,
  NO_USAGE,
  type Quota,
  type QuotaCheck,
  quotasAt,
  resetCounts,
  secondsUntil,
  type Usage,
  usageAt,
  type WindowUsage,
} from "./windows.ts";
