import { InvalidInputError, type Issue, invalidInput } from "../errors.ts";
import { isPlan, MAX_REQUESTS_PER_MINUTE, PLANS, type PlanAssignment } from "../plans/plan-limits.ts";

/** Checks a plan assignment, so that no account is ever without limits. Throws `InvalidInputError` with every issue. */
export function validatePlan({ plan, customLimits }: PlanAssignment): PlanAssignment {
  if (!isPlan(plan)) throw invalidInput("plan", `Choose one of ${PLANS.join(", ")}.`);
  if (plan !== "enterprise") {
    if (customLimits === undefined) return { plan };
    throw invalidInput("plan", `The ${plan} plan has fixed limits. Only enterprise has custom limits.`);
  }
  if (customLimits === undefined) {
    throw invalidInput("plan", "An enterprise account needs its limits per minute and per day.");
  }
  const { perMinute, perDay } = customLimits;
  const issues: Issue[] = Object.entries({ perMinute, perDay }).flatMap(([path, limit]) =>
    Number.isSafeInteger(limit) && limit >= 1
      ? []
      : [{ path, message: "Give a whole number of at least 1." }],
  );
  if (perMinute > MAX_REQUESTS_PER_MINUTE) {
    const message = `Give at most ${MAX_REQUESTS_PER_MINUTE}. An account is one database item, which takes about 1,000 writes a second.`;
    issues.push({ path: "perMinute", message });
  }
  if (issues.length > 0) throw new InvalidInputError(issues);
  return { plan, customLimits: { perMinute, perDay } };
}
