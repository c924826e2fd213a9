import * as z from "zod";
import { isInvalidInput } from "../core/errors.ts";
import { PLAN_LIMITS, type PlanTable, validatePlans } from "../plans/plan-limits.ts";

const PLAN_HINT = "Give perMinute and perDay, or 'custom' for a plan whose limits are set per account.";
const limit = z.number({ error: "Give a whole number of at least 1." });

/** The names of the limits of a plan, for messages about unknown ones. */
export const PLAN_FIELDS = ["perMinute", "perDay"];

/** Plans as they are written in a file: limits, or `custom`, by the name of the plan. The standard plans are added. */
export const plansSchema = z
  .record(
    z.string(),
    z.union([z.literal("custom"), z.strictObject({ perMinute: limit, perDay: limit })], { error: PLAN_HINT }),
    {
      error:
        "Give a mapping from the name of each plan to its limits, such as 'starter: { perMinute: 30, perDay: 500 }'.",
    },
  )
  .transform((plans): PlanTable => ({ ...PLAN_LIMITS, ...plans }))
  .check((context) => {
    try {
      validatePlans(context.value);
    } catch (error) {
      if (!isInvalidInput(error)) throw error;
      for (const { path, message } of error.issues)
        context.issues.push({
          ...{ code: "custom", message, input: context.value },
          path: path.split(".").slice(1),
        });
    }
  });
