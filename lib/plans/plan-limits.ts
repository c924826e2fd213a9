/** How many requests an account may make in each window. */
export interface PlanLimits {
  readonly perMinute: number;
  readonly perDay: number;
}

/** The limits of plans by name. A `custom` plan has limits per account. */
export type PlanTable = Readonly<Record<string, PlanLimits | "custom">>;

/** The limits of each plan. Enterprise limits are set per account. See lib/README.md#plans-and-windows. */
export const PLAN_LIMITS = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
  enterprise: "custom",
} as const satisfies PlanTable;

/** The name of a plan. */
export type Plan = keyof typeof PLAN_LIMITS;

/** Every plan, from the smallest to the largest. */
export const PLANS = Object.keys(PLAN_LIMITS) as readonly Plan[];

/** True for the name of a plan. */
export function isPlan(name: string): name is Plan {
  return Object.hasOwn(PLAN_LIMITS, name);
}

/** The plan of an account. Enterprise has custom limits; no other plan has. */
export interface PlanAssignment<Name extends string = Plan> {
  readonly plan: Name;
  readonly customLimits?: PlanLimits;
}

/**
 * Returns the limits of a plan, or `undefined` if the plan is not in the table or its custom limits are missing. No
 * request is admitted without limits.
 */
export function limitsOf(
  { plan, customLimits }: PlanAssignment<string>,
  plans: PlanTable = PLAN_LIMITS,
): PlanLimits | undefined {
  const limits = Object.hasOwn(plans, plan) ? plans[plan] : undefined;
  return limits === "custom" ? customLimits : limits;
}

/**
 * The largest custom limit. An account is one database item, and DynamoDB accepts about 1,000 writes a second to one
 * item.
 */
export const MAX_REQUESTS_PER_MINUTE = 60_000;
