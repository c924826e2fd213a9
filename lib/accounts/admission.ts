import { type Failure, InvalidInputError, type Issue } from "../core/errors.ts";
import type { Instant } from "../core/time.ts";
import type { StoreOutcome } from "../orders/store-operation.ts";
import { limitsOf, type PlanAssignment, type PlanTable } from "../plans/plan-limits.ts";
import {
  changeCounts,
  checkLimits,
  DAY_MS,
  MINUTE_MS,
  type Quota,
  secondsUntil,
  tightestQuota,
  type Usage,
  usageAt,
} from "../plans/windows.ts";
import { type ApiKey, banEndAt, isActive, type RejectionCount } from "./account.ts";

/** The number of rejected requests that bans a key, and the length of the ban. See lib/README.md#bans. */
export interface BanPolicy {
  /** The number of rejected requests of one key in one minute window that count and do not ban it. The next one does. */
  readonly maxRejections: number;
  /** The length of a ban, at most 90 days. */
  readonly durationMs: number;
}

/** More than 20 rejected requests in a minute that count ban a key for 15 minutes. */
export const DEFAULT_BAN_POLICY: BanPolicy = { maxRejections: 20, durationMs: 15 * MINUTE_MS };

export const MAX_BAN_MS = 90 * DAY_MS;

/** What is rejected so soon after the first in a minute does not count: it was in flight. See lib/README.md#bans. */
export const BAN_GRACE_MS = 10_000;

/** Throws `InvalidInputError` with every issue of a ban policy: one without numbers would never ban. */
export function validateBanPolicy({ maxRejections, durationMs }: BanPolicy): void {
  const issues: Issue[] = [];
  if (!Number.isSafeInteger(maxRejections) || maxRejections < 0)
    issues.push({ path: "banPolicy.maxRejections", message: "Give a whole number of at least 0." });
  if (!Number.isSafeInteger(durationMs) || durationMs < 1 || durationMs > MAX_BAN_MS) {
    const message = `Give whole milliseconds, from 1 to ${MAX_BAN_MS} (${MAX_BAN_MS / DAY_MS} days).`;
    issues.push({ path: "banPolicy.durationMs", message });
  }
  if (issues.length > 0) throw new InvalidInputError(issues);
}

/** The ban policy and the plans. `maxRejections: Infinity` only reports: nothing is counted that could ban later. */
export interface AdmissionPolicy extends BanPolicy {
  /** @default PLAN_LIMITS */
  readonly plans?: PlanTable | undefined;
}

/** The state of a key and its account when a request arrives. */
export interface KeyState extends PlanAssignment<string> {
  readonly accountId: string;
  readonly usage: Usage;
  readonly key: Pick<ApiKey, "id" | "hash"> & Partial<ApiKey>;
  readonly rejections?: RejectionCount | undefined;
}

/** The account and key of a request. */
export interface Caller {
  readonly accountId: string;
  readonly keyId: string;
  readonly plan: string;
}

/** The rejection of a request with a valid key: the account is over its limit, or the key is banned. */
export interface Rejection extends Failure<"rate_limit_exceeded" | "api_key_banned"> {
  readonly caller: Caller;
  readonly quota: Quota;
  /** Whole seconds until the next request can be admitted, at least 1. */
  readonly retryAfterSeconds: number;
  /** The key's rejections in this minute, with this one if it counts. */
  readonly rejections: RejectionCount;
  readonly startsBan: boolean;
}

/** A request whose key is not valid. It counts neither in a window nor for a ban. */
export interface InvalidKey extends Failure<"invalid_api_key"> {
  /** A revoked key is unknown, because stores need not keep it where they look keys up. */
  readonly reason: "unknown_key" | "expired" | "plan_without_limits";
}

/** An admitted request, which is counted. */
export interface Admitted {
  readonly ok: true;
  readonly caller: Caller;
  readonly quota: Quota;
  /** The outcome of the request's operation, if the store performed it in the transaction that admitted the request. */
  readonly outcome?: StoreOutcome;
}

/** The decision about one more request of a key. */
export type Admission = Admitted | Rejection | InvalidKey;

/** An admission, and the changes that the store has to save with it. */
export interface Decision {
  readonly admission: Admission;
  /** Save each field that is present. A request with an invalid or already banned key changes nothing. */
  readonly save: { readonly usage?: Usage; readonly rejections?: RejectionCount };
}

/**
 * Decides whether to admit one request of a key. Pure. An admitted request counts in both windows, a rejected one in
 * neither; the one that exceeds `policy.maxRejections` starts the ban. See `BAN_GRACE_MS`.
 */
export function decideAdmission(
  state: KeyState | undefined,
  at: Instant,
  policy: AdmissionPolicy = DEFAULT_BAN_POLICY,
): Decision {
  if (state === undefined) return invalidKey("unknown_key");
  const { key, usage, accountId, plan } = state;
  if (!isActive(key, at)) return invalidKey(key.revokedAt === undefined ? "expired" : "unknown_key");
  const limits = limitsOf(state, policy.plans);
  // A database can have others than `validatePlan` permits.
  const areUsable = Number.isSafeInteger(limits?.perMinute) && Number.isSafeInteger(limits?.perDay);
  if (limits === undefined || !areUsable) return invalidKey("plan_without_limits");

  const caller: Caller = { accountId, keyId: key.id, plan };
  if (state.rejections !== undefined && banEndAt(state.rejections, at) > 0) {
    const quota = tightestQuota(usageAt(usage, at), limits);
    return { admission: banned(caller, quota, state.rejections, at, false), save: {} };
  }

  const check = checkLimits(limits, usage, at);
  const { limit, remaining, resetsAt } = check;
  const quota: Quota = { limit, remaining, resetsAt };
  if (check.ok) return { admission: { ok: true, caller, quota }, save: { usage: check.usage } };

  const rejections = addRejection(state, at, policy);
  if (rejections.bannedUntil !== undefined)
    return { admission: banned(caller, quota, rejections, at, true), save: { rejections } };
  const { code, retryAfterSeconds } = check;
  const admission: Rejection = {
    ok: false,
    code,
    caller,
    quota,
    retryAfterSeconds,
    rejections,
    startsBan: false,
  };
  const isKnown = rejections === state.rejections || policy.maxRejections === Infinity;
  return { admission, save: isKnown ? {} : { rejections } };
}

/** The state before one request was counted, for a store that finds that it has been counted. */
export function withoutOneRequest(state: KeyState | undefined): KeyState | undefined {
  return state && { ...state, usage: changeCounts(state.usage, -1) };
}

/** Counts rejections without a store call. `undefined` if the key is unknown, inactive or banned, or the minute over. */
export function decideRejections(
  state: KeyState | undefined,
  count: number,
  at: Instant,
  policy: BanPolicy = DEFAULT_BAN_POLICY,
): RejectionCount | undefined {
  if (state === undefined || !isActive(state.key, at) || policy.maxRejections === Infinity) return undefined;
  if (banEndAt(state.rejections, at) > 0 || usageAt(state.usage, at).minute.start > at) return undefined;
  return addRejections(state, count, at, policy);
}

/** True if a rejection at an instant does not count. One long before the first is of a wrong clock, which excuses nobody. */
export function isInGrace({ firstAt }: RejectionCount, at: Instant): boolean {
  return firstAt !== undefined && at >= firstAt - BAN_GRACE_MS && at < firstAt + BAN_GRACE_MS;
}

function addRejection(state: KeyState, at: Instant, policy: BanPolicy): RejectionCount {
  const windowStart = usageAt(state.usage, at).minute.start;
  const { rejections } = state;
  if (rejections?.windowStart !== windowStart)
    return { windowStart, count: 0, firstAt: Math.max(at, windowStart) };
  return isInGrace(rejections, at) ? rejections : addRejections(state, 1, at, policy);
}

function addRejections(
  { usage, rejections }: KeyState,
  more: number,
  at: Instant,
  policy: BanPolicy,
): RejectionCount {
  const windowStart = usageAt(usage, at).minute.start;
  const count = (rejections?.windowStart === windowStart ? rejections.count : 0) + more;
  const ban = count > policy.maxRejections ? { bannedUntil: at + policy.durationMs } : {};
  return { windowStart, count, ...ban };
}

function banned(
  caller: Caller,
  quota: Quota,
  rejections: RejectionCount,
  at: Instant,
  startsBan: boolean,
): Rejection {
  const until = rejections.bannedUntil ?? at;
  // If a window stays exhausted beyond the ban, the caller has to wait for the window.
  const resetsAt = quota.remaining === 0 ? Math.max(until, quota.resetsAt) : until;
  return {
    ok: false,
    code: "api_key_banned",
    caller,
    quota: { limit: quota.limit, remaining: 0, resetsAt },
    retryAfterSeconds: secondsUntil(resetsAt, at),
    rejections,
    startsBan,
  };
}

function invalidKey(reason: InvalidKey["reason"]): Decision {
  return { admission: { ok: false, code: "invalid_api_key", reason }, save: {} };
}
