import { type Environment, isEnvironment } from "../accounts/api-key.ts";
import { type InvalidInputError, invalidInput } from "../core/errors.ts";
import { isPlan, PLAN_LIMITS, PLANS, type Plan, type PlanTable } from "../plans/plan-limits.ts";
import type { Store } from "../stores/store.ts";

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;
type PlansFlag = { readonly plans?: string };

export function readEnvironment(env: EnvironmentVariables): Environment | undefined {
  const name = readVariable(env, "STORE_ORDERS_ENVIRONMENT");
  if (name === undefined || isEnvironment(name)) return name;
  throw invalidValue("STORE_ORDERS_ENVIRONMENT", name, "Use test or live.");
}

/** The environment of new keys of a store: the one of the variable, otherwise that of its keys, otherwise `test`. */
export async function environmentOf({ accounts }: Pick<Store, "accounts">, env: EnvironmentVariables) {
  return readEnvironment(env) ?? (await accounts.findEnvironment()) ?? "test";
}

export function readPlan(flags: { readonly plan?: Plan }, env: EnvironmentVariables): Plan {
  const plan = flags.plan ?? readVariable(env, "STORE_ORDERS_PLAN") ?? "free";
  if (!isPlan(plan)) throw invalidValue("STORE_ORDERS_PLAN", plan, `Use one of: ${PLANS.join(", ")}.`);
  return plan;
}

export async function readPlans(flags: PlansFlag, env: EnvironmentVariables): Promise<PlanTable> {
  const path = plansFileOf(flags, env);
  if (path === undefined) return PLAN_LIMITS;
  const { readPlansFile } = await import("./plans-file.ts");
  return readPlansFile(path);
}

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
