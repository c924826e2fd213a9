import type { RejectionCount } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import {
  type BanPolicy,
  DEFAULT_BAN_POLICY,
  decideAdmission,
  type KeyState,
} from "../../accounts/admission.ts";
import type { Instant } from "../../clock.ts";
import { StoreUnavailableError } from "../../errors.ts";
import { limitsOf } from "../../plans/plan-limits.ts";
import type { Usage } from "../../plans/windows.ts";
import { callerOf, numberValue, penaltyValue } from "./account-item.ts";
import { NOT_BANNED, optimisticAdmit } from "./admit-update.ts";
import { callTimeout, jitter } from "./client.ts";
import type { Change, Item, Table } from "./table.ts";

const MAX_ROUNDS = 8;

/**
 * Admits by one conditional write (design, promise 2). Done or not, the engine gives the item as the condition
 * found it, and over that item the pure `admission` says what happened. Where a window rolled or the request is
 * refused, a second write says so, guarded by what was seen; if another process was faster, all is decided again.
 */
export function createAdmit(accounts: Table): AccountStore["admit"] {
  return async ({ accountId, hash }, at, policy = DEFAULT_BAN_POLICY, refusals = 1) => {
    const signal = callTimeout();
    let change = optimisticAdmit(hash, at);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      if (round > 2) await jitter(round);
      const { done, before = {} } = await accounts.update({ id: { S: accountId } }, change, signal);
      const caller = callerOf(before, hash);
      const decided = decideAdmission(caller, at, policy, refusals);
      if (done || caller === undefined || decided.outcome === "unknown" || decided.write === undefined) {
        return decided;
      }
      const guarded =
        decided.outcome === "admitted"
          ? count(caller, decided.write, at)
          : recordRejections(caller, decided.write, policy, refusals);
      change = withOptimisticLock(before, caller, guarded);
    }
    throw new StoreUnavailableError("Other processes kept changing the account.");
  };
}

/**
 * Keys, terms and windows are the ones seen: a revoked key, a better plan and a window that another caller opened
 * hold between two calls, too.
 */
function withOptimisticLock(seen: Item, { key, usage }: KeyState, change: Change): Change {
  return {
    update: change.update,
    condition: `#revision = :revision AND #minute = :minuteSeen AND #day = :daySeen AND ${change.condition}`,
    names: { "#hash": key.hash },
    values: {
      ...change.values,
      ":revision": { S: seen["revision"]?.S ?? "" },
      ":minuteSeen": numberValue(usage.minute.start),
      ":daySeen": numberValue(usage.day.start),
    },
  };
}

/** Counts a request in the windows that were seen, or as the first one of those that follow them. */
function count({ usage, terms }: KeyState, write: Usage, at: Instant): Change {
  const limits = limitsOf(terms);
  const sets: string[] = [];
  const conditions = [NOT_BANNED];
  const values: Item = { ":at": numberValue(at), ":one": numberValue(1) };
  for (const [window, most] of [
    ["minute", limits?.perMinute ?? 0],
    ["day", limits?.perDay ?? 0],
  ] as const) {
    if (write[window].start === usage[window].start) {
      sets.push(`#${window}Count = #${window}Count + :one`);
      conditions.push(`#${window}Count < :${window}Most`);
      values[`:${window}Most`] = numberValue(most);
    } else {
      sets.push(`#${window} = :${window}, #${window}Count = :one`);
      values[`:${window}`] = numberValue(write[window].start);
    }
  }
  return { update: `SET ${sets.join(", ")}`, condition: conditions.join(" AND "), values };
}

/**
 * Writes refusals. More in a minute are added to however many there are by then, so that a burst of refusals
 * does not have to queue; the first of a minute, and the one that brings the ban, are written over what was seen.
 */
function recordRejections(
  { rejections: seen }: KeyState,
  write: RejectionCount,
  policy: BanPolicy,
  refusals: number,
): Change {
  if (seen?.windowStart === write.windowStart && write.bannedUntil === undefined) {
    return {
      update: "SET #penalties.#hash.#refused = #penalties.#hash.#refused + :more",
      condition: "#penalties.#hash.#start = :start AND #penalties.#hash.#refused <= :most",
      values: {
        ":more": numberValue(refusals),
        ":start": numberValue(write.windowStart),
        ":most": numberValue(policy.maxRejections - refusals),
      },
    };
  }
  const update = "SET #penalties.#hash = :penalty";
  const values = { ":penalty": penaltyValue(write) };
  if (seen === undefined) return { update, condition: "attribute_not_exists(#penalties.#hash)", values };
  return {
    update,
    condition: "#penalties.#hash.#start = :start AND #penalties.#hash.#refused = :refused",
    values: { ...values, ":start": numberValue(seen.windowStart), ":refused": numberValue(seen.count) },
  };
}
