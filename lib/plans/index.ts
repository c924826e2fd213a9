/**
 * The plans and their limits: pure functions and tables, also for browsers. See lib/README.md#plans-and-windows.
 *
 * @module store-orders/plans
 */

export {
  isPlan,
  limitsOf,
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
  type LimitCheck,
  NO_USAGE,
  type Quota,
  type QuotaCheck,
  quotasAt,
  resetCounts,
  type Usage,
  usageAt,
  type WindowUsage,
} from "./windows.ts";
