/** How many requests an account may make in each window. */
export interface PlanLimits {
  readonly perMinute: number;
  readonly perDay: number;
}

/** The limits of each plan (specification, "Limits"). Enterprise limits are agreed one by one, with the account. */
export const PLAN_LIMITS = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
  enterprise: "custom",
} as const satisfies Record<string, PlanLimits | "custom">;

/** A plan that an account can be on. */
export type Plan = keyof typeof PLAN_LIMITS;

/** Every plan, from the smallest to the largest. */
export const PLANS = Object.keys(PLAN_LIMITS) as readonly Plan[];

/** True for the name of a plan. */
export function isPlan(name: string): name is Plan {
  return Object.hasOwn(PLAN_LIMITS, name);
}

/** A plan with what was agreed about it: `custom` is there exactly when the plan's limits are. */
export interface PlanAssignment {
  readonly plan: Plan;
  readonly customLimits?: PlanLimits;
}

/** The limits that hold under these terms; `undefined` where none are known, which admits nobody. */
export function limitsOf({ plan, customLimits: custom }: PlanAssignment): PlanLimits | undefined {
  if (!isPlan(plan)) return undefined;
  const limits = PLAN_LIMITS[plan];
  return limits === "custom" ? custom : limits;
}

/** One item takes about 1,000 writes a second in the store of many machines (design, promise 2). */
export const MAX_REQUESTS_PER_MINUTE = 60_000;
