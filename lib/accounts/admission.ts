import type { Instant } from "../clock.ts";
import { limitsOf, type Plan, type PlanAssignment } from "../plans/plan-limits.ts";
import {
  hasCapacity,
  increment,
  MINUTE_MS,
  type Quota,
  secondsUntil,
  tightestQuota,
  type Usage,
  usageAt,
} from "../plans/windows.ts";
import { type ApiKey, isActive, type RejectionCount } from "./account.ts";

/** When refused requests lead to a temporary ban of the key, and for how long (decision 14). */
export interface BanPolicy {
  /** A key is banned by one refused request more than this within one minute window. */
  readonly maxRejections: number;
  /** Length of the ban in milliseconds. */
  readonly durationMs: number;
}

/** More than 20 refused requests in a minute, 15 minutes. */
export const DEFAULT_BAN_POLICY: BanPolicy = { maxRejections: 20, durationMs: 15 * MINUTE_MS };

/** What a store knows of the caller that a key belongs to. */
export interface KeyState {
  readonly accountId: string;
  readonly terms: PlanAssignment;
  readonly usage: Usage;
  readonly key: ApiKey;
  readonly rejections?: RejectionCount | undefined;
}

/** Who was admitted or refused. */
export interface Caller {
  readonly accountId: string;
  readonly keyId: string;
  readonly plan: Plan;
}

/** The answer to "may this key make one more request?", with what the store has to write. */
export type Admission =
  | {
      readonly outcome: "admitted";
      readonly caller: Caller;
      readonly quota: Quota;
      readonly write: Usage;
    }
  | {
      readonly outcome: "refused";
      readonly caller: Caller;
      readonly code: "rate_limit_exceeded" | "api_key_banned";
      readonly quota: Quota;
      /** Whole seconds, at least 1, never shorter than the wait. */
      readonly retryAfter: number;
      /** Absent while a ban runs: a banned key costs no write. */
      readonly write?: RejectionCount;
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
export function decideAdmission(
  caller: KeyState | undefined,
  at: Instant,
  policy: BanPolicy = DEFAULT_BAN_POLICY,
  refusals = 1,
): Admission {
  if (caller === undefined) return { outcome: "unknown", reason: "no_such_key" };
  const { key, rejections, terms } = caller;
  if (!isActive(key, at)) {
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
  const quota = tightestQuota(usage, limits);
  const bannedUntil = rejections?.bannedUntil ?? 0;
  if (bannedUntil > at) return banned(identity, quota, bannedUntil, at);
  if (hasCapacity(usage, limits)) {
    const write = increment(usage);
    return {
      outcome: "admitted",
      caller: identity,
      quota: tightestQuota(write, limits),
      write,
    };
  }

  const { start } = usage.minute;
  const refused = (rejections?.windowStart === start ? rejections.count : 0) + refusals;
  if (refused > policy.maxRejections) {
    const until = at + policy.durationMs;
    return {
      ...banned(identity, quota, until, at),
      write: { windowStart: start, count: refused, bannedUntil: until },
    };
  }
  const retryAfter = secondsUntil(quota.resetsAt, at);
  return {
    outcome: "refused",
    caller: identity,
    code: "rate_limit_exceeded",
    quota,
    retryAfter,
    write: { windowStart: start, count: refused },
  };
}

function banned(caller: Caller, quota: Quota, until: Instant, at: Instant) {
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
