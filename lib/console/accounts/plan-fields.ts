import { html } from "hono/html";
import type { AccountSettings } from "../../accounts/account.ts";
import { PLANS, type Plan, type PlanAssignment } from "../../plans/plan-limits.ts";
import { fieldOf, type Outcome } from "../form.ts";
import type { Html } from "../section.ts";

/** The fields that choose a plan. */
export function planFields(form: string, outcome?: Outcome, account?: AccountSettings): Html {
  const limit = (value: number | undefined) => (value === undefined ? {} : { value: `${value}` });
  const { perMinute, perDay } = account?.customLimits ?? {};
  const options = PLANS.map((plan) => [plan, plan] as const);
  const enterprise = "enterprise only";
  return html`
    ${fieldOf(form, { name: "plan", label: "Plan", options, value: account?.plan ?? "free" }, outcome)}
    ${fieldOf(form, { name: "perMinute", label: "Requests per minute", hint: enterprise, inputMode: "numeric", ...limit(perMinute) }, outcome)}
    ${fieldOf(form, { name: "perDay", label: "Requests per day", hint: enterprise, inputMode: "numeric", ...limit(perDay) }, outcome)}`;
}

/** Reads what the fields hold. It is validated by the operation. Only a plan with custom limits gets any. */
export function readPlan(fields: Readonly<Record<string, string>>): PlanAssignment {
  const { plan = "", perMinute = "", perDay = "" } = fields;
  const isEmpty = perMinute.trim() === "" && perDay.trim() === "";
  const limits = { perMinute: readLimit(perMinute), perDay: readLimit(perDay) };
  return { plan: plan as Plan, ...(isEmpty ? {} : { customLimits: limits }) };
}

function readLimit(text: string): number {
  return /^\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
}
