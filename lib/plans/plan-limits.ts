import { InvalidInputError, type Issue, invalidInput } from "../core/errors.ts";

/** The largest number of requests of an account in each window. */
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
export const PLANS = /* @__PURE__ */ Object.keys(PLAN_LIMITS) as readonly Plan[];

/** True for the name of a plan. */
export function isPlan(name: string): name is Plan {
  return Object.hasOwn(PLAN_LIMITS, name);
}

/** The plan of an account. A plan that is `custom`, such as enterprise, has limits of the account; no other has. */
export interface PlanAssignment<Name extends string = Plan> {
  readonly plan: Name;
  readonly customLimits?: PlanLimits;
}

/** Returns the limits of a plan, or `undefined` if it is not in the table or its custom limits are missing. */
export function limitsOf(
  { plan, customLimits }: PlanAssignment<string>,
  plans: PlanTable = PLAN_LIMITS,
): PlanLimits | undefined {
  const limits = Object.hasOwn(plans, plan) ? plans[plan] : undefined;
  return limits === "custom" ? customLimits : limits;
}

/** The largest custom limit: an account is one database item, which takes about 1,000 writes a second on DynamoDB. */
const MAX_REQUESTS_PER_MINUTE = 60_000;

/** Checks a plan assignment, so that no account is without limits. Throws `InvalidInputError` with every issue. */
export function validatePlan<Name extends string>(
  assignment: PlanAssignment<Name>,
  plans: PlanTable = PLAN_LIMITS,
): PlanAssignment<Name> {
  const { plan, customLimits } = assignment;
  const limits = Object.hasOwn(plans, plan) ? plans[plan] : undefined;
  if (limits === undefined) throw invalidInput("plan", `Choose one of ${Object.keys(plans).join(", ")}.`);
  if (limits !== "custom") {
    if (customLimits === undefined) return { plan };
    const custom = Object.keys(plans).filter((name) => plans[name] === "custom");
    const others = custom.length === 0 ? "No plan" : `Only ${custom.join(", ")}`;
    throw invalidInput("plan", `The ${plan} plan has fixed limits. ${others} has custom limits.`);
  }
  if (customLimits === undefined)
    throw invalidInput("plan", `An account with the ${plan} plan needs its limits per minute and per day.`);
  const issues = findLimitIssues(customLimits);
  if (issues.length > 0) throw new InvalidInputError(issues);
  const { perMinute, perDay } = customLimits;
  return { plan, customLimits: { perMinute, perDay } };
}

/** Checks a table of plans. Throws `InvalidInputError` with every issue. */
export function validatePlans(plans: PlanTable): void {
  const entries = Object.entries(plans);
  const issues = entries.flatMap(([name, limits]) => [
    ...(PLAN_NAME.test(name) ? [] : [{ path: `plans.${name}`, message: PLAN_NAME_RULE }]),
    ...(limits === "custom" ? [] : findLimitIssues(limits)).map(({ path, message }) => ({
      path: `plans.${name}.${path}`,
      message,
    })),
  ]);
  if (entries.length === 0 || entries.length > MAX_PLANS)
    issues.push({ path: "plans", message: `Give 1 to ${MAX_PLANS} plans.` });
  if (issues.length > 0) throw new InvalidInputError(issues);
}

/** The condition of a DynamoDB write has one clause per plan. */
const MAX_PLANS = 20;

const PLAN_NAME = /^[a-z][a-z0-9-]{0,31}$/;
const PLAN_NAME_RULE = "Use 1 to 32 lower-case letters, digits and hyphens, and begin with a letter.";

function findLimitIssues({ perMinute, perDay }: PlanLimits): Issue[] {
  const issues: Issue[] = Object.entries({ perMinute, perDay }).flatMap(([path, limit]) =>
    Number.isSafeInteger(limit) && limit >= 1
      ? []
      : [{ path, message: "Give a whole number of at least 1." }],
  );
  if (perMinute > MAX_REQUESTS_PER_MINUTE) {
    const message = `Give at most ${MAX_REQUESTS_PER_MINUTE}. An account is one database item, which takes about 1000 writes a second.`;
    issues.push({ path: "perMinute", message });
  }
  return issues;
}
