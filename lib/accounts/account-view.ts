/** An account as people see it, on the command line and in the console. */
import type { Instant } from "../core/time.ts";
import { limitsOf, type PlanTable } from "../plans/plan-limits.ts";
import { type Quota, quotasAt, usageAt } from "../plans/windows.ts";
import { type Account, type AccountSettings, type ApiKey, banEndAt, isActive } from "./account.ts";

export interface UsedQuota extends Quota {
  readonly used: number;
}

/** A key at an instant. `bannedUntil` is 0 unless a ban lasts. */
export interface KeyView extends ApiKey {
  readonly status: "active" | "banned" | "revoked" | "expired";
  readonly isActive: boolean;
  readonly bannedUntil: Instant;
  readonly lastUsedAt: Instant | undefined;
}

export type AccountView = ReturnType<typeof viewAccount>;

/** An account without limits, such as one whose plan is not in the table, may make no request. */
const NO_LIMITS = { perMinute: 0, perDay: 0 };

/** The state of an account at an instant. Without `limits`, its plan is unknown. @param plans The default is `PLAN_LIMITS`. */
export function viewAccount(account: Account, at: Instant, plans?: PlanTable) {
  const limits = limitsOf(account, plans);
  const used = usageAt(account.usage, at);
  const quotas = quotasAt(account.usage, limits ?? NO_LIMITS, at);
  const minute: UsedQuota = { ...quotas.minute, used: used.minute.count };
  const day: UsedQuota = { ...quotas.day, used: used.day.count };
  const keys = account.keys.map((key) => viewKey(key, account, at));
  return { limits, minute, day, keys, active: keys.filter((key) => key.isActive) };
}

function viewKey(key: ApiKey, { rejections, lastUses = {} }: Account, at: Instant): KeyView {
  const bannedUntil = banEndAt(rejections[key.id], at);
  const view = { ...key, bannedUntil, lastUsedAt: lastUses[key.id], isActive: isActive(key, at) };
  if (view.isActive) return { ...view, status: bannedUntil > 0 ? "banned" : "active" };
  return { ...view, status: key.revokedAt === undefined ? "expired" : "revoked" };
}

export function explainUnknownPlan({ id, plan }: AccountSettings): string {
  return (
    `The plan '${plan}' of ${id} is not one of the plans here, so a server with these plans rejects its requests. ` +
    "Give the file of your own plans with --plans."
  );
}
