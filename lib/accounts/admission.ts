import type { Instant } from "../clock.ts";
import { limitsOf, type Plan, type PlanTerms } from "../plans/plan-limits.ts";
import {
  bindingQuota,
  countOne,
  fits,
  MINUTE,
  type Quota,
  secondsUntil,
  type Usage,
  usageAt,
} from "../plans/windows.ts";
import { type ApiKey, isLiving, type Penalty } from "./account.ts";

/** When refused requests lead to a temporary ban of the key, and for how long (decision 14). */
export interface BanPolicy {
  /** A key is banned by one refused request more than this within one minute window. */
  readonly refusals: number;
  /** Length of the ban in milliseconds. */
  readonly duration: number;
}

/** More than 20 refused requests in a minute, 15 minutes. */
export const BAN_POLICY: BanPolicy = { refusals: 20, duration: 15 * MINUTE };

/** What a store knows of the caller that a key belongs to. */
export interface Caller {
  readonly accountId: string;
  readonly terms: PlanTerms;
  readonly usage: Usage;
  readonly key: ApiKey;
  readonly penalty?: Penalty | undefined;
}

/** Who was admitted or refused. */
export interface CallerIdentity {
  readonly accountId: string;
  readonly keyId: string;
  readonly plan: Plan;
}

/** The answer to "may this key make one more request?", with what the store has to write. */
export type Admission =
  | {
      readonly outcome: "admitted";
      readonly caller: CallerIdentity;
      readonly quota: Quota;
      readonly write: Usage;
    }
  | {
      readonly outcome: "refused";
      readonly caller: CallerIdentity;
      readonly code: "rate_limit_exceeded" | "api_key_banned";
      readonly quota: Quota;
      /** Whole seconds, at least 1, never shorter than the wait. */
      readonly retryAfter: number;
      /** Absent while a ban runs: a banned key costs no write. */
      readonly write?: Penalty;
    }
  | {
      readonly outcome: "unknown";
      readonly reason: "no_such_key" | "revoked" | "expired" | "plan_without_limits";
    };

/**
 * Decides about one request. Pure: authentication, ban, both windows and the plan at an instant. An admitted
 * request counts in both windows, a refused one in neither; the one refusal too many brings the ban with it. Where it
 * is refused it counts as `refusals`: itself, and those given in this minute that no store was told of yet.
 */
export function admission(
  caller: Caller | undefined,
  at: Instant,
  policy: BanPolicy = BAN_POLICY,
  refusals = 1,
): Admission {
  if (caller === undefined) return { outcome: "unknown", reason: "no_such_key" };
  const { key, penalty, terms } = caller;
  if (!isLiving(key, at)) {
    return {
      outcome: "unknown",
      reason: key.revokedAt !== undefined && key.revokedAt <= at ? "revoked" : "expired",
    };
  }
  const limits = limitsOf(terms);
  if (limits === undefined) return { outcome: "unknown", reason: "plan_without_limits" };

  const identity = {
    accountId: caller.accountId,
    keyId: key.id,
    plan: terms.plan,
  };
  const usage = usageAt(caller.usage, at);
  const quota = bindingQuota(usage, limits);
  const bannedUntil = penalty?.bannedUntil ?? 0;
  if (bannedUntil > at) return banned(identity, quota, bannedUntil, at);
  if (fits(usage, limits)) {
    const write = countOne(usage);
    return {
      outcome: "admitted",
      caller: identity,
      quota: bindingQuota(write, limits),
      write,
    };
  }

  const { start } = usage.minute;
  const refused = (penalty?.start === start ? penalty.refused : 0) + refusals;
  if (refused > policy.refusals) {
    const until = at + policy.duration;
    return {
      ...banned(identity, quota, until, at),
      write: { start, refused, bannedUntil: until },
    };
  }
  const retryAfter = secondsUntil(quota.resetsAt, at);
  return {
    outcome: "refused",
    caller: identity,
    code: "rate_limit_exceeded",
    quota,
    retryAfter,
    write: { start, refused },
  };
}

function banned(caller: CallerIdentity, quota: Quota, until: Instant, at: Instant) {
  // A window that stays exhausted beyond the ban makes the wait longer, and the headers have to say so.
  const resetsAt = quota.remaining === 0 ? Math.max(until, quota.resetsAt) : until;
  return {
    outcome: "refused",
    caller,
    code: "api_key_banned",
    quota: { limit: quota.limit, remaining: 0, resetsAt },
    retryAfter: secondsUntil(resetsAt, at),
  } as const;
}
