import * as z from "zod";
import { isInvalidInput } from "../core/errors.ts";
import { PLAN_LIMITS, type PlanTable, validatePlans } from "../plans/plan-limits.ts";

const PLAN_HINT = "Give perMinute and perDay, or 'custom' for a plan whose limits are set per account.";
const PLANS_HINT =
  "Give a mapping from the name of each plan to its limits, such as 'starter: { perMinute: 30, perDay: 500 }'.";
const limit = z.number({ error: "Give a whole number of at least 1." });
const limits = z.strictObject({ perMinute: limit, perDay: limit });
const plan = z.union([z.literal("custom"), limits], { error: PLAN_HINT });

export const PLAN_FIELDS = ["perMinute", "perDay"];

export const plansSchema = z
  .record(z.string(), plan, { error: PLANS_HINT })
  .transform((plans): PlanTable => ({ ...PLAN_LIMITS, ...plans }))
  .check(({ value: input, issues }) => {
    try {
      validatePlans(input);
    } catch (error) {
      if (!isInvalidInput(error)) throw error;
      for (const { path, message } of error.issues)
        issues.push({ code: "custom", message, input, path: path.split(".").slice(1) });
    }
  });
