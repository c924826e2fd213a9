import type { RejectionCount } from "../../accounts/account.ts";
import type { KeyState } from "../../accounts/admission.ts";
import { shortHash } from "../../accounts/api-key.ts";
import { numberValue } from "./attribute-values.ts";
import { onceOnly } from "./count-token.ts";
import type { Item } from "./item.ts";
import { isOldLayout, oldRejectionsUpdate } from "./old-layout.ts";
import { MAX_COUNT, packKey, rejectedIn } from "./packed-key.ts";
import type { ConditionalUpdate } from "./table.ts";

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
export function rejectionsUpdate(
  seen: Item,
  { key, rejections: counted }: KeyState,
  { rejections, added, maxRejections, token }: RejectionsWrite,
): ConditionalUpdate {
  if (isOldLayout(seen)) return oldRejectionsUpdate(key.hash, counted, rejections);
  const { windowStart, bannedUntil } = rejections;
  const names = { "#hash": shortHash(key.hash) };
  const isMore = counted?.windowStart === windowStart && counted.bannedUntil === undefined;
  if (isMore && bannedUntil === undefined && rejections.count <= MAX_COUNT) {
    const { from, to } = rejectedIn(key, windowStart, Math.min(maxRejections, MAX_COUNT) - added);
    return onceOnly(token, {
      update: "SET #keys.#hash = #keys.#hash + :added",
      condition: "#keys.#hash >= :from AND #keys.#hash <= :to",
      names,
      values: { ":added": numberValue(added), ":from": { N: from }, ":to": { N: to } },
    });
  }
  return onceOnly(token, {
    update: "SET #keys.#hash = :entry",
    condition: "#keys.#hash = :entrySeen",
    names,
    values: {
      ":entry": { N: packKey({ ...key, rejections }) },
      ":entrySeen": { N: packKey({ ...key, rejections: counted }) },
    },
  });
}
