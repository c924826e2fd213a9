import type { Environment } from "../accounts/api-key.ts";
import { type InvalidInputError, invalidInput } from "../core/errors.ts";
import { isPlan, PLAN_LIMITS, PLANS, type Plan, type PlanTable } from "../plans/plan-limits.ts";

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** Reads the environment segment of new keys from `STORE_ORDERS_ENVIRONMENT`; the default is `test`. */
export function readEnvironment(env: EnvironmentVariables): Environment {
  const name = readVariable(env, "STORE_ORDERS_ENVIRONMENT") ?? "test";
  if (name !== "test" && name !== "live")
    throw invalidValue("STORE_ORDERS_ENVIRONMENT", name, "Use test or live.");
  return name;
}

/** Reads the plan of the project from the flags, otherwise from `STORE_ORDERS_PLAN`; the default is `free`. */
export function readPlan(flags: { readonly plan?: Plan }, env: EnvironmentVariables): Plan {
  const plan = flags.plan ?? readVariable(env, "STORE_ORDERS_PLAN") ?? "free";
  if (!isPlan(plan)) throw invalidValue("STORE_ORDERS_PLAN", plan, `Use one of: ${PLANS.join(", ")}.`);
  return plan;
}

/** Reads the plans that accounts can have: the standard ones, and those of the plans file. */
export async function readPlans(flags: PlansFlag, env: EnvironmentVariables): Promise<PlanTable> {
  const path = plansFileOf(flags, env);
  if (path === undefined) return PLAN_LIMITS;
  const { readPlansFile } = await import("./config-files.ts");
  return readPlansFile(path);
}

type PlansFlag = { readonly plans?: string };

export function plansFileOf({ plans }: PlansFlag, env: EnvironmentVariables): string | undefined {
  return plans || readVariable(env, "STORE_ORDERS_PLANS");
}

/** An empty variable counts as unset. */
export function readVariable(env: EnvironmentVariables, name: string): string | undefined {
  return env[name] || undefined;
}

export function invalidValue(name: string, value: string, hint: string): InvalidInputError {
  return invalidInput(name, `'${value}' is invalid. ${hint}`);
}
