import type { KeyState } from "../../accounts/admission.ts";
import { shortHash } from "../../accounts/api-key.ts";
import { limitsOf, type PlanTable } from "../../plans/plan-limits.ts";
import type { Usage } from "../../plans/windows.ts";
import { numberValue } from "./attribute-values.ts";
import { onceOnly } from "./count-token.ts";
import type { Item } from "./item.ts";
import { isOldLayout, oldRejectionsUnchanged } from "./old-layout.ts";
import { packKey } from "./packed-key.ts";
import type { Change } from "./table.ts";

/** Counts a request in the windows that were read, or as the first one of the windows that follow them. */
export function countRequest(
  seen: Item,
  state: KeyState,
  write: Usage,
  token: string,
  plans: PlanTable | undefined,
): Change {
  const { usage } = state;
  const limits = limitsOf(state, plans);
  const { sets, values, ...key } = unbannedKey(seen, state, write);
  const conditions = [key.condition];
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
  const change: Change = {
    update: `SET ${sets.join(", ")}`,
    condition: conditions.join(" AND "),
    ...(key.names === undefined ? {} : { names: key.names }),
    values: { ...values, ":one": numberValue(1) },
  };
  return isOldLayout(seen) ? change : onceOnly(token, change);
}

/** Rejections of an earlier minute and a ban that has ended are removed, which makes the key usable with one write. */
function unbannedKey(seen: Item, { key, rejections }: KeyState, write: Usage) {
  if (isOldLayout(seen)) {
    const { values, ...unchanged } = oldRejectionsUnchanged(key.hash, rejections);
    return { sets: [] as string[], ...unchanged, values: { ...values } as Item };
  }
  const isSameMinute = rejections?.windowStart === write.minute.start;
  const { bannedUntil: _ended, ...counted } = rejections ?? { windowStart: 0, count: 0 };
  const entry = packKey({ ...key, rejections });
  const next = packKey({ ...key, ...(isSameMinute ? { rejections: counted } : {}) });
  return {
    sets: entry === next ? [] : ["#keys.#hash = :entry"],
    condition: "#keys.#hash = :entrySeen",
    names: { "#hash": shortHash(key.hash) },
    values: {
      ":entrySeen": { N: entry },
      ...(entry === next ? {} : { ":entry": { N: next } }),
    } as Item,
  };
}
