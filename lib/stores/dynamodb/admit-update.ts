import { shortHash } from "../../accounts/api-key.ts";
import type { Instant } from "../../clock.ts";
import { PLAN_LIMITS, type PlanTable } from "../../plans/plan-limits.ts";
import { DAY_MS, MAX_CLOCK_SKEW_MS, MINUTE_MS } from "../../plans/windows.ts";
import { numberValue } from "./attribute-values.ts";
import { onceOnly } from "./count-token.ts";
import type { Item } from "./item.ts";
import { leastUsable } from "./packed-key.ts";
import type { ConditionalUpdate } from "./table.ts";

// A banned key never compares as usable; see `packKey`. Nor does one that has expired.
const KEY_USABLE = "#keys.#hash >= :usable";

// A window never goes back, so one that another process has already opened counts as current. See `usageAt`.
const WINDOWS_CURRENT = "#minute >= :minute AND #minute <= :latest AND #day >= :day AND #day <= :latest";

const UPDATE = "SET #minuteCount = #minuteCount + :one, #dayCount = #dayCount + :one";

/**
 * The write that admits most requests without a prior read. Its condition checks all that `decideAdmission` checks: the
 * key, the ban, both windows, and one clause per plan. Its update counts the request in both windows.
 */
export function admitUpdate(
  hash: string,
  at: Instant,
  token: string,
  plans: PlanTable = PLAN_LIMITS,
): ConditionalUpdate {
  const { condition, values } = withinPlan(plans);
  return onceOnly(token, {
    update: UPDATE,
    condition,
    names: { "#hash": shortHash(hash) },
    values: {
      ...values,
      ":one": numberValue(1),
      ":usable": { N: leastUsable(at) },
      ":minute": numberValue(at - (at % MINUTE_MS)),
      ":day": numberValue(at - (at % DAY_MS)),
      ":latest": numberValue(at + MAX_CLOCK_SKEW_MS),
    },
  });
}

/** What the condition says about the plan, computed once for each table. */
interface WithinPlan {
  readonly condition: string;
  readonly values: Item;
}

const byPlans = new WeakMap<PlanTable, WithinPlan>();

function withinPlan(plans: PlanTable): WithinPlan {
  const known = byPlans.get(plans) ?? createWithinPlan(plans);
  byPlans.set(plans, known);
  return known;
}

function createWithinPlan(plans: PlanTable): WithinPlan {
  const values: Item = {};
  const clauses = Object.entries(plans).map(([plan, limits], index) => {
    values[`:plan${index}`] = { S: plan };
    if (limits === "custom")
      return `(#plan = :plan${index} AND #minuteCount < #perMinute AND #dayCount < #perDay)`;
    values[`:perMinute${index}`] = numberValue(limits.perMinute);
    values[`:perDay${index}`] = numberValue(limits.perDay);
    return `(#plan = :plan${index} AND #minuteCount < :perMinute${index} AND #dayCount < :perDay${index})`;
  });
  return { condition: `${KEY_USABLE} AND ${WINDOWS_CURRENT} AND (${clauses.join(" OR ")})`, values };
}
