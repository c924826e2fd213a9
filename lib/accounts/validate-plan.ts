import { InvalidInputError, type Issue, invalidInput } from "../errors.ts";
import {
  MAX_REQUESTS_PER_MINUTE,
  PLAN_LIMITS,
  type PlanAssignment,
  type PlanLimits,
  type PlanTable,
} from "../plans/plan-limits.ts";

/**
 * Checks a plan assignment against the plans, so that no account is ever without limits. Throws `InvalidInputError`
 * with every issue.
 */
export function validatePlan<Name extends string>(
  assignment: PlanAssignment<Name>,
  plans: PlanTable = PLAN_LIMITS,
): PlanAssignment<Name> {
  // A caller without types can pass nothing, and null for no limits.
  const { plan, customLimits: given }: PlanAssignment<Name> = Object(assignment);
  const customLimits = given ?? undefined;
  const limits = Object.hasOwn(plans, plan) ? plans[plan] : undefined;
  if (limits === undefined) throw invalidInput("plan", `Choose one of ${Object.keys(plans).join(", ")}.`);
  if (limits !== "custom") {
    if (customLimits === undefined) return { plan };
    const custom = Object.keys(plans).filter((name) => plans[name] === "custom");
    const others = custom.length === 0 ? "No plan" : `Only ${custom.join(", ")}`;
    throw invalidInput("plan", `The ${plan} plan has fixed limits. ${others} has custom limits.`);
  }
  if (customLimits === undefined) {
    throw invalidInput("plan", `An account with the ${plan} plan needs its limits per minute and per day.`);
  }
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
