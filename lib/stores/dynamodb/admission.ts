import type { AccountStore } from "../../accounts/account-store.ts";
import {
  type Admission,
  type AdmissionPolicy,
  DEFAULT_BAN_POLICY,
  decideAdmission,
  decideRejections,
  type KeyState,
} from "../../accounts/admission.ts";
import { StoreUnavailableError } from "../../errors.ts";
import { keyStateOf } from "./admission-item.ts";
import { admitUpdate } from "./admit-update.ts";
import { numberValue } from "./attribute-values.ts";
import { callTimeout, jitter } from "./client.ts";
import { isCounted } from "./count-token.ts";
import { countUpdate } from "./count-update.ts";
import type { Item } from "./item.ts";
import { isOldLayout, oldKeyStateOf } from "./old-layout.ts";
import { rejectionsUpdate } from "./rejections-update.ts";
import type { ConditionalUpdate, Table } from "./table.ts";
import { newWriteToken } from "./write-token.ts";

const MAX_ROUNDS = 8;

/**
 * So many rounds follow each other at once: to roll over a window or to record a rejection takes two without a race.
 */
const ROUNDS_WITHOUT_WAIT = 3;

/**
 * Admits by one conditional write. Whether the write succeeds or not, DynamoDB returns the item as the condition found
 * it, and `decideAdmission` derives the result from that item. If a window has rolled over or the request is rejected,
 * a second write records it, conditional on what was read. If another process was faster, the decision is made again.
 * See lib/README.md#admission.
 */
export function createAdmission(table: Table): Pick<AccountStore, "admit" | "recordRejections"> {
  return {
    async admit({ accountId, hash }, at, policy: AdmissionPolicy = DEFAULT_BAN_POLICY) {
      const signal = callTimeout();
      const { maxRejections, plans } = policy;
      const token = newWriteToken();
      let update = admitUpdate(hash, at, token, plans);
      /** What `update` records, from the second round on. */
      let recorded: Admission | undefined;
      for (let round = 0; round < MAX_ROUNDS; round++) {
        if (round >= ROUNDS_WITHOUT_WAIT) await jitter(round);
        const { done, before = {} } = await table.update({ id: { S: accountId } }, update, signal);
        const state = stateOf(before, hash);
        // Repeated by the AWS client although it was applied: only its response was lost.
        if (!done && isCounted(before, token)) {
          return recorded ?? decideAdmission(withoutOneRequest(state), at, policy).admission;
        }
        const { admission, save } = decideAdmission(state, at, policy);
        // A write was done because its condition held for `before`. It holds exactly if `decideAdmission` decides what
        // the write records, so this is what it has recorded. The contract cases and a model test check that.
        if (done || state === undefined) return admission;
        if (save.usage !== undefined) {
          update = withOptimisticLock(before, state, countUpdate(before, state, save.usage, token, plans));
        } else if (save.rejections !== undefined) {
          const { rejections } = save;
          const reject = rejectionsUpdate(before, state, { rejections, added: 1, maxRejections, token });
          update = withOptimisticLock(before, state, whileExhausted(state, reject));
        } else return admission;
        recorded = admission;
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
        if (round >= ROUNDS_WITHOUT_WAIT) await jitter(round);
        const state = before && stateOf(before, hash);
        const rejections = decideRejections(state, count, at, policy);
        if (before === undefined || state === undefined || rejections === undefined) return;
        if (isCounted(before, token)) return;
        const reject = rejectionsUpdate(before, state, { rejections, added: count, maxRejections, token });
        const result = await table.update(key, withOptimisticLock(before, state, reject), signal);
        if (result.done) return;
        before = result.before;
      }
      throw new StoreUnavailableError("Other processes kept changing the account.");
    },
  };
}

function stateOf(item: Item, hash: string): KeyState | undefined {
  return isOldLayout(item) ? oldKeyStateOf(item, hash) : keyStateOf(item, hash);
}

/** The state before this request was counted. */
function withoutOneRequest(state: KeyState | undefined): KeyState | undefined {
  if (state === undefined) return undefined;
  const { minute, day } = state.usage;
  const usage = {
    minute: { ...minute, count: Math.max(0, minute.count - 1) },
    day: { ...day, count: Math.max(0, day.count - 1) },
  };
  return { ...state, usage };
}

/**
 * Makes an update conditional on the settings and windows that were read, so that a revoked key, a new plan and a
 * window opened by another caller take effect between the two calls as well.
 */
function withOptimisticLock(seen: Item, { usage }: KeyState, update: ConditionalUpdate): ConditionalUpdate {
  return {
    ...update,
    condition: `#revision = :revision AND #minute = :minuteSeen AND #day = :daySeen AND ${update.condition}`,
    values: {
      ...update.values,
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
function whileExhausted({ usage }: KeyState, update: ConditionalUpdate): ConditionalUpdate {
  return {
    ...update,
    condition: `${update.condition} AND #minuteCount = :minuteCount AND #dayCount = :dayCount`,
    values: {
      ...update.values,
      ":minuteCount": numberValue(usage.minute.count),
      ":dayCount": numberValue(usage.day.count),
    },
  };
}
