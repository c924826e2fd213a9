import type { Account, AccountSettings } from "../../accounts/account.ts";
import { planOf, rejectionsById, usageOf } from "./account-item.ts";
import { textOf } from "./attribute-values.ts";
import type { Item } from "./item.ts";
import { keysIn, keysWithoutDetails } from "./key-details.ts";
import { isOldLayout, oldKeysOf, oldRejectionsOf } from "./old-layout.ts";

/** The two items of an account. There is one in the old layout. */
export interface AccountItems {
  readonly item: Item;
  readonly details: Item | undefined;
}

/** False if the items were read while the account was changed, so that they do not belong together. */
export function areWhole({ item, details }: AccountItems): boolean {
  return isOldLayout(item) || keysIn(details, item) !== undefined;
}

/** Reads what operators configure, with the keys in their order. */
export function settingsOf({ item, details }: AccountItems): AccountSettings {
  const keys = isOldLayout(item) ? oldKeysOf(item) : (keysIn(details, item) ?? keysWithoutDetails(item));
  return { id: textOf(item["id"]), ...planOf(item), keys };
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
