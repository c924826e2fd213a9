import type { RejectionCount } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import {
  type Admission,
  type AdmissionPolicy,
  type BanPolicy,
  DEFAULT_BAN_POLICY,
  type Decision,
  decideAdmission,
  decideRejections,
  type KeyState,
  withoutOneRequest,
} from "../../accounts/admission.ts";
import { shortHash } from "../../accounts/api-key.ts";
import type { Instant } from "../../core/time.ts";
import { limitsOf, PLAN_LIMITS, type PlanTable } from "../../plans/plan-limits.ts";
import { DAY_MS, MAX_CLOCK_SKEW_MS, MINUTE_MS, type Usage } from "../../plans/windows.ts";
import { createAccountBackOff } from "./account-back-off.ts";
import { keyStateOf, leastUsable, MAX_COUNT, packEntry, rejectedIn } from "./admission-item.ts";
import { callTimeout } from "./client.ts";
import {
  type ConditionalUpdate,
  changeItem,
  combine,
  type Item,
  type ItemChange,
  newWriteToken,
  numberValue,
  numberValues,
  stringOf,
  type TableClient,
} from "./table.ts";

/**
 * Admits by one conditional write; see `admitUpdate`. DynamoDB returns the item as the condition found it, also if the
 * write fails, and `decideAdmission` derives the result from that item. If a window has rolled over or the request is
 * rejected, a second write records it, conditional on what was read. See lib/stores/README.md#admission.
 */
export function createAdmission(table: TableClient): Pick<AccountStore, "admit" | "recordRejections"> {
  const withBackOff = createAccountBackOff();

  function changeAccount<Result>(accountId: string, change: ItemChange<Result>): Promise<Result> {
    const signal = callTimeout();
    return withBackOff(accountId, () => changeItem(table, { id: { S: accountId } }, change, signal));
  }

  return {
    async admit({ accountId, hash }, at, policy = DEFAULT_BAN_POLICY) {
      // The operation of the request is not performed here: orders are in another table.
      const token = newWriteToken();
      const first = admitUpdate(hash, at, policy.plans);
      return changeAccount<Admission>(accountId, {
        first: first && combine(countOnce(token), first),
        decide(item = {}) {
          const state = keyStateOf(item, hash);
          const { admission: result, save } = decideAdmission(state, at, policy);
          if (state === undefined || Object.keys(save).length === 0) return { result };
          return { result, update: () => seenUpdate(token, item, state, saveUpdate(state, save, policy)) };
        },
        resultIfApplied(item, decided) {
          if (!isCounted(item, token)) return undefined;
          return decided ?? decideAdmission(withoutOneRequest(keyStateOf(item, hash)), at, policy).admission;
        },
      });
    },

    async recordRejections({ accountId, hash }, added, at, policy = DEFAULT_BAN_POLICY) {
      const token = newWriteToken();
      await changeAccount<void>(accountId, {
        decide(item = {}) {
          const state = keyStateOf(item, hash);
          const rejections = decideRejections(state, added, at, policy);
          // The token is there if the response was lost.
          if (state === undefined || rejections === undefined || isCounted(item, token))
            return { result: undefined };
          const counted = () => rejectionsUpdate(state, rejections, added, policy);
          return { result: undefined, update: () => seenUpdate(token, item, state, counted()) };
        },
      });
    },
  };
}

/**
 * `decideAdmission` as a condition, so that most requests are admitted without a prior read:
 *
 *     decideAdmission                    condition
 *     isActive, activeBan                #keys.#hash >= :usable (a ban makes it negative; see `packEntry`)
 *     usageAt: the window is current     #minute >= :minute AND #minute <= :latest, the same for the day
 *     limitsOf, checkLimits              #plan = … AND #minuteCount < … AND #dayCount < …, for one of the plans
 *
 * They differ in one case, a ban that has ended: it fails the condition, and the second write removes it. A property
 * test compares both for any item and instant. `undefined` without a plan, as then no request is admitted.
 */
function admitUpdate(
  hash: string,
  at: Instant,
  plans: PlanTable = PLAN_LIMITS,
): ConditionalUpdate | undefined {
  const capacity = Object.entries(plans).map(([plan, limits], index) => {
    const [perMinute, perDay] =
      limits === "custom" ? ["#perMinute", "#perDay"] : [`:perMinute${index}`, `:perDay${index}`];
    return {
      // DynamoDB rejects redundant parentheses, such as those around a single plan.
      clause: `#plan = :plan${index} AND #minuteCount < ${perMinute} AND #dayCount < ${perDay}`,
      values: {
        [`:plan${index}`]: { S: plan },
        ...(limits !== "custom" &&
          numberValues({ [`${perMinute}`]: limits.perMinute, [`${perDay}`]: limits.perDay })),
      },
    };
  });
  if (capacity.length === 0) return undefined;
  return {
    set: ["#minuteCount = #minuteCount + :one", "#dayCount = #dayCount + :one"],
    conditions: [
      "#keys.#hash >= :usable",
      "#minute >= :minute AND #minute <= :latest AND #day >= :day AND #day <= :latest",
      `(${capacity.map(({ clause }) => clause).join(" OR ")})`,
    ],
    names: { "#hash": shortHash(hash) },
    values: Object.assign(
      {
        ":one": numberValue(1),
        ":usable": { N: leastUsable(at) },
        ":minute": numberValue(at - (at % MINUTE_MS)),
        ":day": numberValue(at - (at % DAY_MS)),
        ":latest": numberValue(at + MAX_CLOCK_SKEW_MS),
      },
      ...capacity.map(({ values }) => values),
    ),
  };
}

function saveUpdate(
  state: KeyState,
  { usage = state.usage, rejections }: Decision["save"],
  policy: AdmissionPolicy,
): Partial<ConditionalUpdate> {
  if (rejections === undefined) return countUpdate(state, usage, policy.plans);
  const { minute, day } = state.usage;
  // A window that a wrong clock wrote is replaced, and can then start again at the same minute with fewer requests.
  const areCountsUnchanged = {
    conditions: ["#minuteCount = :minuteCount", "#dayCount = :dayCount"],
    values: { ":minuteCount": numberValue(minute.count), ":dayCount": numberValue(day.count) },
  };
  return combine(areCountsUnchanged, rejectionsUpdate(state, rejections, 1, policy));
}

/** After a window has rolled over or a ban has ended. Removes the ban, so that the first write admits the next request. */
function countUpdate(state: KeyState, next: Usage, plans: PlanTable | undefined): Partial<ConditionalUpdate> {
  const limits = limitsOf(state, plans);
  const { bannedUntil: _ended, ...counted } = state.rejections ?? { windowStart: 0, count: 0 };
  return combine(
    entryUpdate(state, counted),
    windowUpdate("minute", state.usage, next, limits?.perMinute),
    windowUpdate("day", state.usage, next, limits?.perDay),
    { values: { ":one": numberValue(1) } },
  );
}

function windowUpdate(window: keyof Usage, seen: Usage, next: Usage, limit = 0): Partial<ConditionalUpdate> {
  const { start } = next[window];
  if (start !== seen[window].start)
    return {
      set: [`#${window} = :${window}`, `#${window}Count = :one`],
      values: { [`:${window}`]: numberValue(start) },
    };
  return {
    set: [`#${window}Count = #${window}Count + :one`],
    conditions: [`#${window}Count < :${window}Limit`],
    values: { [`:${window}Limit`]: numberValue(limit) },
  };
}

/**
 * Further rejections in the same minute are added to the stored count, so that a burst of them does not contend. The
 * first of a minute, and the one that starts a ban, replace what was read.
 */
function rejectionsUpdate(
  state: KeyState,
  rejections: RejectionCount,
  added: number,
  { maxRejections }: BanPolicy,
): Partial<ConditionalUpdate> {
  const { key, rejections: seen } = state;
  const { windowStart, count, bannedUntil } = rejections;
  const isFurther = seen?.windowStart === windowStart && seen.count > 0 && seen.bannedUntil === undefined;
  if (!isFurther || bannedUntil !== undefined || count > MAX_COUNT) return entryUpdate(state, rejections);
  const { from, to } = rejectedIn(key, windowStart, Math.min(maxRejections, MAX_COUNT) - added);
  return {
    set: ["#keys.#hash = #keys.#hash + :added"],
    conditions: ["#keys.#hash >= :from", "#keys.#hash <= :to"],
    names: { "#hash": shortHash(key.hash) },
    values: { ":added": numberValue(added), ":from": { N: from }, ":to": { N: to } },
  };
}

/** Replaces the rejections in the entry of a key, which must be the one that was read. */
function entryUpdate({ key, rejections: seen }: KeyState, rejections: RejectionCount) {
  const [before, after] = [packEntry({ ...key, rejections: seen }), packEntry({ ...key, rejections })];
  return {
    set: ["#keys.#hash = :entry"],
    conditions: ["#keys.#hash = :entrySeen"],
    names: { "#hash": shortHash(key.hash) },
    values: { ":entrySeen": { N: before }, ":entry": { N: after } },
  };
}

/** A revoked key, a new plan and a window opened by another caller take effect between the two calls as well. */
function seenUpdate(token: string, seen: Item, { usage }: KeyState, update: Partial<ConditionalUpdate>) {
  const isUnchanged = {
    conditions: ["#revision = :revision", "#minute = :minuteSeen", "#day = :daySeen"],
    values: {
      ":revision": { S: stringOf(seen["revision"]) },
      ":minuteSeen": numberValue(usage.minute.start),
      ":daySeen": numberValue(usage.day.start),
    },
  };
  return combine(countOnce(token), isUnchanged, update);
}

const MAX_TOKENS = 4;

/**
 * The AWS client retries a write whose response is lost: its condition is that the account does not have the token of the
 * write. An account keeps few tokens, each in the place that its first character determines. So a write that is retried
 * after several others were counted may still count twice.
 */
function countOnce(token: string): Partial<ConditionalUpdate> {
  const place = (token.codePointAt(0) ?? 0) % MAX_TOKENS;
  return {
    set: [`#tokens[${place}] = :token`],
    conditions: ["NOT contains(#tokens, :token)"],
    values: { ":token": { S: token } },
  };
}

function isCounted(item: Item, token: string): boolean {
  return item["tokens"]?.L?.some(({ S }) => S === token) ?? false;
}
