import type { Account, AccountSettings, ApiKey } from "../../accounts/account.ts";
import { planOf, rejectionsById, usageOf } from "./admission-item.ts";
import { textOf } from "./attribute-values.ts";
import { keysIn, keysWithoutDetails } from "./details-item.ts";
import type { Item } from "./item.ts";
import { isOldLayout, oldKeysOf, oldRejectionsOf } from "./old-layout.ts";

/** The two items of an account. The old layout has one, `item`. */
export interface AccountItems {
  /** The admission item. */
  readonly item: Item;
  readonly details: Item | undefined;
}

/** False if the items were read while the account was changed, so that they do not belong together. */
export function belongTogether({ item, details }: AccountItems): boolean {
  return isOldLayout(item) || keysIn(details, item) !== undefined;
}

/** Reads what operators configure, with the keys in their order. */
export function settingsOf({ item, details }: AccountItems): AccountSettings {
  return { id: textOf(item["id"]), ...planOf(item), keys: keysOf({ item, details }) };
}

function keysOf({ item, details }: AccountItems): readonly ApiKey[] {
  if (isOldLayout(item)) return oldKeysOf(item);
  return keysIn(details, item) ?? keysWithoutDetails(item);
}

/** Reads the whole account. */
export function accountOf(items: AccountItems): Account {
  const settings = settingsOf(items);
  const { item } = items;
  const rejections = isOldLayout(item)
    ? settings.keys.flatMap(({ id, hash }) => {
        const count = oldRejectionsOf(item, hash);
        return count === undefined ? [] : [[id, count] as const];
      })
    : Object.entries(rejectionsById(item));
  return { ...settings, usage: usageOf(item), rejections: Object.fromEntries(rejections) };
}
