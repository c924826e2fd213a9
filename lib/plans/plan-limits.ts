/** How many requests an account may make in each window. */
export interface PlanLimits {
  readonly perMinute: number;
  readonly perDay: number;
}

/** The limits of each plan. Enterprise limits are set per account. See lib/README.md#plans-and-windows. */
export const PLAN_LIMITS = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
  enterprise: "custom",
} as const satisfies Record<string, PlanLimits | "custom">;

/** The name of a plan. */
export type Plan = keyof typeof PLAN_LIMITS;

/** Every plan, from the smallest to the largest. */
export const PLANS = Object.keys(PLAN_LIMITS) as readonly Plan[];

/** True for the name of a plan. */
export function isPlan(name: string): name is Plan {
  return Object.hasOwn(PLAN_LIMITS, name);
}

/** The plan of an account. Enterprise has custom limits; no other plan has. */
export interface PlanAssignment {
  readonly plan: Plan;
  readonly customLimits?: PlanLimits;
}

/**
 * Returns the limits of a plan, or `undefined` if the plan is unknown or its custom limits are missing. No request is
 * admitted without limits.
 */
export function limitsOf({ plan, customLimits }: PlanAssignment): PlanLimits | undefined {
  if (!isPlan(plan)) return undefined;
  const limits = PLAN_LIMITS[plan];
  return limits === "custom" ? customLimits : limits;
}

/**
 * The largest custom limit. An account is one database item, and DynamoDB accepts about 1,000 writes a second to one
 * item.
 */
export const MAX_REQUESTS_PER_MINUTE = 60_000;
