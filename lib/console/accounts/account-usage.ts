import type { Account } from "../../accounts/account.ts";
import type { Instant } from "../../clock.ts";
import { limitsOf } from "../../plans/plan-limits.ts";
import { type Quota, quotasAt, usageAt } from "../../plans/windows.ts";

/** The usage of one window. */
export interface UsedQuota {
  readonly used: number;
  readonly quota: Quota;
}

/** An account without limits, such as one of an unknown plan, may make no request. */
const NO_LIMITS = { perMinute: 0, perDay: 0 };

/** The usage of both windows at an instant. */
export function usageOf(account: Account, now: Instant): { minute: UsedQuota; day: UsedQuota } {
  const used = usageAt(account.usage, now);
  const quotas = quotasAt(account.usage, limitsOf(account) ?? NO_LIMITS, now);
  return {
    minute: { used: used.minute.count, quota: quotas.minute },
    day: { used: used.day.count, quota: quotas.day },
  };
}

/** The keys that are banned at an instant, with the end of the ban. */
export function bansOf(account: Account, now: Instant): readonly { keyId: string; until: Instant }[] {
  return Object.entries(account.rejections).flatMap(([keyId, { bannedUntil = 0 }]) =>
    bannedUntil > now ? [{ keyId, until: bannedUntil }] : [],
  );
}
