import type { KeyState } from "../../accounts/admission.ts";
import { shortHash } from "../../accounts/api-key.ts";
import { limitsOf, type PlanTable } from "../../plans/plan-limits.ts";
import type { Usage } from "../../plans/windows.ts";
import { numberValue } from "./attribute-values.ts";
import { onceOnly } from "./count-token.ts";
import type { Attributes, Item } from "./item.ts";
import { isOldLayout, oldRejectionsUnchanged } from "./old-layout.ts";
import { packKey } from "./packed-key.ts";
import type { ConditionalUpdate } from "./table.ts";

/** Counts a request in the windows that were read, or as the first one of the windows that follow them. */
export function countUpdate(
  seen: Item,
  state: KeyState,
  next: Usage,
  token: string,
  plans: PlanTable | undefined,
): ConditionalUpdate {
  const { usage } = state;
  const limits = limitsOf(state, plans);
  const { sets, values, ...key } = keyPart(seen, state, next);
  const conditions = [key.condition];
  for (const [window, limit] of [
    ["minute", limits?.perMinute ?? 0],
    ["day", limits?.perDay ?? 0],
  ] as const) {
    if (next[window].start === usage[window].start) {
      sets.push(`#${window}Count = #${window}Count + :one`);
      conditions.push(`#${window}Count < :${window}Limit`);
      values[`:${window}Limit`] = numberValue(limit);
    } else {
      sets.push(`#${window} = :${window}, #${window}Count = :one`);
      values[`:${window}`] = numberValue(next[window].start);
    }
  }
  const update: ConditionalUpdate = {
    update: `SET ${sets.join(", ")}`,
    condition: conditions.join(" AND "),
    ...(key.names === undefined ? {} : { names: key.names }),
    values: { ...values, ":one": numberValue(1) },
  };
  return isOldLayout(seen) ? update : onceOnly(token, update);
}

/**
 * The part about the key: its entry must be the one that was read. Rejections of an earlier minute and a ban that has
 * ended are removed from it, so that `admitUpdate` admits the next request with one write.
 */
function keyPart(seen: Item, { key, rejections }: KeyState, next: Usage) {
  if (isOldLayout(seen)) {
    const { values, ...unchanged } = oldRejectionsUnchanged(key.hash, rejections);
    return { sets: [] as string[], ...unchanged, values: { ...values } as Attributes };
  }
  const isSameMinute = rejections?.windowStart === next.minute.start;
  const { bannedUntil: _endedBan, ...counted } = rejections ?? { windowStart: 0, count: 0 };
  const entry = packKey({ ...key, rejections });
  const cleared = packKey({ ...key, ...(isSameMinute ? { rejections: counted } : {}) });
  return {
    sets: entry === cleared ? [] : ["#keys.#hash = :entry"],
    condition: "#keys.#hash = :entrySeen",
    names: { "#hash": shortHash(key.hash) },
    values: {
      ":entrySeen": { N: entry },
      ...(entry === cleared ? {} : { ":entry": { N: cleared } }),
    } as Attributes,
  };
}
