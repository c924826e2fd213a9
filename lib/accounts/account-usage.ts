import type { Instant } from "../clock.ts";
import { limitsOf } from "../plans/plan-limits.ts";
import { type Quota, quotasAt, usageAt } from "../plans/windows.ts";
import { type Account, type ApiKey, isActive } from "./account.ts";

/** The usage of one window, for people. */
export interface UsedQuota extends Quota {
  readonly used: number;
}

/** An account without limits, such as one of an unknown plan, may make no request. */
const NO_LIMITS = { perMinute: 0, perDay: 0 };

/** The usage of both windows at an instant. */
export function usedQuotasAt(account: Account, at: Instant): { minute: UsedQuota; day: UsedQuota } {
  const used = usageAt(account.usage, at);
  const quotas = quotasAt(account.usage, limitsOf(account) ?? NO_LIMITS, at);
  return {
    minute: { ...quotas.minute, used: used.minute.count },
    day: { ...quotas.day, used: used.day.count },
  };
}

/** What a key is at an instant, for people. */
export type KeyState = "active" | "banned" | "revoked" | "expired";

/** The state of a key whose ban, if any, ends at `bannedUntil`. */
export function keyStateAt(key: ApiKey, bannedUntil: Instant, at: Instant): KeyState {
  if (isActive(key, at)) return bannedUntil > at ? "banned" : "active";
  return key.revokedAt === undefined ? "expired" : "revoked";
}
