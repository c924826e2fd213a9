import type { AccountStore } from "../../accounts/account-store.ts";
import {
  type Admission,
  DEFAULT_BAN_POLICY,
  decideAdmission,
  decideRejections,
  type KeyState,
} from "../../accounts/admission.ts";
import type { Instant } from "../../clock.ts";
import { StoreUnavailableError } from "../../errors.ts";
import { limitsOf } from "../../plans/plan-limits.ts";
import { MAX_CLOCK_SKEW_MS, type Usage } from "../../plans/windows.ts";
import { keyStateOf, numberValue, rejectionTokensOf } from "./account-item.ts";
import { NOT_BANNED, optimisticAdmit } from "./admit-update.ts";
import { callTimeout, jitter } from "./client.ts";
import type { Item } from "./item.ts";
import { addRejections } from "./rejections-update.ts";
import type { Change, Table } from "./table.ts";
import { newWriteToken } from "./write-token.ts";

const MAX_ROUNDS = 8;

/**
 * Admits by one conditional write. Whether the write succeeds or not, DynamoDB returns the item as the condition found
 * it, and `decideAdmission` derives the result from that item. If a window has rolled over or the request is rejected, a
 * second write records it, conditional on what was read. If another process was faster, the decision is made again.
 * See lib/README.md#admission.
 */
export function createAdmission(table: Table): Pick<AccountStore, "admit" | "recordRejections"> {
  return {
    async admit({ accountId, hash }, at, policy = DEFAULT_BAN_POLICY) {
      const signal = callTimeout();
      const { maxRejections } = policy;
      const token = newWriteToken();
      let change = optimisticAdmit(hash, at);
      let written: Admission | undefined;
      for (let round = 0; round < MAX_ROUNDS; round++) {
        if (round > 2) await jitter(round);
        const { done, before = {} } = await table.update({ id: { S: accountId } }, change, signal);
        const state = keyStateOf(before, hash);
        // Retried by the AWS client although it was applied: only its response was lost.
        if (written !== undefined && rejectionTokensOf(before, hash).includes(token)) return written;
        const { admission, write } = decideAdmission(state, at, policy);
        if (done || state === undefined) return admission;
        written = undefined;
        if (write.usage !== undefined)
          change = withOptimisticLock(before, state, countRequest(state, write.usage, at));
        else if (write.rejections !== undefined) {
          written = admission;
          const { rejections } = write;
          const add = addRejections(before, state, { rejections, added: 1, maxRejections, token });
          change = withOptimisticLock(before, state, whileExhausted(state, add));
        } else return admission;
      }
      throw new StoreUnavailableError("Other processes kept changing the account.");
    },

    async recordRejections(
      { accountId, hash },
      count,
      at,
      policy = DEFAULT_BAN_POLICY,
      token = newWriteToken(),
    ) {
      const { maxRejections } = policy;
      const signal = callTimeout();
      const key: Item = { id: { S: accountId } };
      let before = await table.get(key, signal);
      for (let round = 0; round < MAX_ROUNDS; round++) {
        if (round > 2) await jitter(round);
        const state = before && keyStateOf(before, hash);
        const rejections = decideRejections(state, count, at, policy);
        if (before === undefined || state === undefined || rejections === undefined) return;
        if (rejectionTokensOf(before, hash).includes(token)) return;
        const add = addRejections(before, state, { rejections, added: count, maxRejections, token });
        const change = withOptimisticLock(before, state, add);
        const written = await table.update(key, change, signal);
        if (written.done) return;
        before = written.before;
      }
      throw new StoreUnavailableError("Other processes kept changing the account.");
    },
  };
}

/**
 * Makes a change conditional on the settings and windows that were read, so that a revoked key, a new plan and a window
 * opened by another caller take effect between the two calls as well.
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

/**
 * Makes a rejection conditional on the counts that were read. A window that a wrong clock wrote is replaced, and can
 * then start again at the same minute with fewer requests.
 */
function whileExhausted({ usage }: KeyState, change: Change): Change {
  return {
    ...change,
    condition: `${change.condition} AND #minuteCount = :minuteCount AND #dayCount = :dayCount`,
    values: {
      ...change.values,
      ":minuteCount": numberValue(usage.minute.count),
      ":dayCount": numberValue(usage.day.count),
    },
  };
}

/** Counts a request in the windows that were read, or as the first one of the windows that follow them. */
function countRequest(state: KeyState, write: Usage, at: Instant): Change {
  const { usage } = state;
  const limits = limitsOf(state);
  const sets: string[] = [];
  const conditions = [NOT_BANNED];
  const values: Item = {
    ":at": numberValue(at),
    ":latest": numberValue(at + MAX_CLOCK_SKEW_MS),
    ":one": numberValue(1),
  };
  for (const [window, limit] of [
    ["minute", limits?.perMinute ?? 0],
    ["day", limits?.perDay ?? 0],
  ] as const) {
    if (write[window].start === usage[window].start) {
      sets.push(`#${window}Count = #${window}Count + :one`);
      conditions.push(`#${window}Count < :${window}Limit`);
      values[`:${window}Limit`] = numberValue(limit);
    } else {
      sets.push(`#${window} = :${window}, #${window}Count = :one`);
      values[`:${window}`] = numberValue(write[window].start);
    }
  }
  return { update: `SET ${sets.join(", ")}`, condition: conditions.join(" AND "), values };
}
