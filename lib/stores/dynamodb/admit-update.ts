import type { Instant } from "../../clock.ts";
import { PLAN_LIMITS, type PlanLimits } from "../../plans/plan-limits.ts";
import { DAY_MS, MAX_CLOCK_SKEW_MS, MINUTE_MS } from "../../plans/windows.ts";
import { numberValue } from "./account-item.ts";
import type { Item } from "./item.ts";
import type { Change } from "./table.ts";

/** No ban is running. One that a wrong clock wrote is ignored. */
export const NOT_BANNED = `(attribute_not_exists(#penalties.#hash.#bannedUntil)
  OR #penalties.#hash.#bannedUntil <= :at OR #penalties.#hash.#start > :latest)`;

const KEY_ACTIVE = `attribute_exists(#keys.#hash)
  AND (attribute_not_exists(#keys.#hash.#revokedAt) OR #keys.#hash.#revokedAt > :at)
  AND (attribute_not_exists(#keys.#hash.#expiresAt) OR #keys.#hash.#expiresAt > :at)`;

// A window never goes back, so one that another process has already opened counts as current. See `usageAt`.
const WINDOWS_CURRENT = "#minute BETWEEN :minute AND :latest AND #day BETWEEN :day AND :latest";

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

const CONDITION = `${KEY_ACTIVE} AND ${NOT_BANNED} AND ${WINDOWS_CURRENT} AND (${WITHIN_PLAN})`;
const UPDATE = "SET #minuteCount = #minuteCount + :one, #dayCount = #dayCount + :one";

/**
 * The write that admits most requests without a prior read. Its condition checks all that `decideAdmission` checks: the
 * key, the ban, both windows, and one clause per plan. Its update counts the request in both windows.
 */
export function optimisticAdmit(hash: string, at: Instant): Change {
  return {
    update: UPDATE,
    condition: CONDITION,
    names: { "#hash": hash },
    values: {
      ...PLAN_VALUES,
      ":one": numberValue(1),
      ":at": numberValue(at),
      ":minute": numberValue(at - (at % MINUTE_MS)),
      ":day": numberValue(at - (at % DAY_MS)),
      ":latest": numberValue(at + MAX_CLOCK_SKEW_MS),
    },
  };
}
