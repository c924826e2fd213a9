import { shortHash } from "../../accounts/api-key.ts";
import type { Instant } from "../../clock.ts";
import { PLAN_LIMITS, type PlanLimits } from "../../plans/plan-limits.ts";
import { DAY_MS, MAX_CLOCK_SKEW_MS, MINUTE_MS } from "../../plans/windows.ts";
import { numberValue } from "./attribute-values.ts";
import { onceOnly } from "./count-token.ts";
import type { Item } from "./item.ts";
import { leastUsable } from "./packed-key.ts";
import type { Change } from "./table.ts";

// A banned key never compares as usable; see `packKey`. Nor does one that has expired.
const KEY_USABLE = "#keys.#hash >= :usable";

// A window never goes back, so one that another process has already opened counts as current. See `usageAt`.
const WINDOWS_CURRENT = "#minute >= :minute AND #minute <= :latest AND #day >= :day AND #day <= :latest";

const plans: readonly [string, PlanLimits | "custom"][] = Object.entries(PLAN_LIMITS);

const WITHIN_PLAN = plans
  .map(([plan, limits]) =>
    limits === "custom"
      ? `(#plan = :${plan} AND #minuteCount < #perMinute AND #dayCount < #perDay)`
      : `(#plan = :${plan} AND #minuteCount < :${plan}PerMinute AND #dayCount < :${plan}PerDay)`,
  )
  .join(" OR ");

const PLAN_VALUES: Item = Object.fromEntries(
  plans.flatMap(([plan, limits]) => [
    [`:${plan}`, { S: plan }],
    ...(limits === "custom"
      ? []
      : [
          [`:${plan}PerMinute`, numberValue(limits.perMinute)],
          [`:${plan}PerDay`, numberValue(limits.perDay)],
        ]),
  ]),
);

const CONDITION = `${KEY_USABLE} AND ${WINDOWS_CURRENT} AND (${WITHIN_PLAN})`;
const UPDATE = "SET #minuteCount = #minuteCount + :one, #dayCount = #dayCount + :one";

/**
 * The write that admits most requests without a prior read. Its condition checks all that `decideAdmission` checks: the
 * key, the ban, both windows, and one clause per plan. Its update counts the request in both windows.
 */
export function optimisticAdmit(hash: string, at: Instant, token: string): Change {
  return onceOnly(token, {
    update: UPDATE,
    condition: CONDITION,
    names: { "#hash": shortHash(hash) },
    values: {
      ...PLAN_VALUES,
      ":one": numberValue(1),
      ":usable": { N: leastUsable(at) },
      ":minute": numberValue(at - (at % MINUTE_MS)),
      ":day": numberValue(at - (at % DAY_MS)),
      ":latest": numberValue(at + MAX_CLOCK_SKEW_MS),
    },
  });
}
