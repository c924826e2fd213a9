import type { RejectionCount } from "../../accounts/account.ts";
import type { KeyState } from "../../accounts/admission.ts";
import { numberValue, rejectionsValue, rejectionTokensOf } from "./account-item.ts";
import type { Item } from "./item.ts";
import type { Change } from "./table.ts";

/** The number of write tokens that a rejection count holds. Reaching it replaces the count and drops old tokens. */
const MAX_TOKENS = 32;

/** The number of tokens that survive, for writes that may still be retried. */
const KEPT_TOKENS = 8;

/** One write of rejections. `token` identifies it, so that a retry does not count them twice. */
export interface RejectionsWrite {
  readonly rejections: RejectionCount;
  readonly added: number;
  readonly maxRejections: number;
  readonly token: string;
}

/**
 * Writes rejections. Further ones in the same minute are added to the stored count, so that a burst of rejections does
 * not contend. The first of a minute, and the one that triggers a ban, replace what was read.
 */
export function addRejections(
  seen: Item,
  { key, rejections: counted }: KeyState,
  { rejections, added, maxRejections, token }: RejectionsWrite,
): Change {
  const isSameMinute = counted?.windowStart === rejections.windowStart;
  const tokens = isSameMinute ? rejectionTokensOf(seen, key.hash) : [];
  if (isSameMinute && rejections.bannedUntil === undefined && tokens.length < MAX_TOKENS) {
    return {
      update: `SET #penalties.#hash.#refused = #penalties.#hash.#refused + :added,
        #penalties.#hash.#tokens = list_append(#penalties.#hash.#tokens, :tokens)`,
      condition: `#penalties.#hash.#start = :start AND #penalties.#hash.#refused <= :most
        AND NOT contains(#penalties.#hash.#tokens, :token)`,
      values: {
        ":added": numberValue(added),
        ":start": numberValue(rejections.windowStart),
        ":most": numberValue(maxRejections - added),
        ":token": { S: token },
        ":tokens": { L: [{ S: token }] },
      },
    };
  }
  const update = "SET #penalties.#hash = :rejections";
  const values = { ":rejections": rejectionsValue(rejections, [...tokens.slice(-KEPT_TOKENS), token]) };
  if (counted === undefined) return { update, condition: "attribute_not_exists(#penalties.#hash)", values };
  return {
    update,
    condition: "#penalties.#hash.#start = :start AND #penalties.#hash.#refused = :refused",
    values: {
      ...values,
      ":start": numberValue(counted.windowStart),
      ":refused": numberValue(counted.count),
    },
  };
}
