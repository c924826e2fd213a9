import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { type ApiKey, MAX_ACTIVE_KEYS, type RejectionCount } from "../../accounts/account.ts";
import type { KeyState } from "../../accounts/admission.ts";
import { keyIdOf, shortHash } from "../../accounts/api-key.ts";
import type { PlanAssignment } from "../../plans/plan-limits.ts";
import { NO_USAGE, type Usage } from "../../plans/windows.ts";
import { numberOf, numberValue, numberValues, textOf } from "./attribute-values.ts";
import type { Attributes, Item } from "./item.ts";
import { type KeyEntry, packKey, unpackKey } from "./packed-key.ts";

/** An active key as the admission item has it. */
export interface NamedKey extends KeyEntry {
  /** The short hash of the key, its name in the item. */
  readonly name: string;
  readonly id: string;
}

/** The attributes for a plan. Absent limits are omitted. */
export function planAttributes({ plan, customLimits }: PlanAssignment<string>): Attributes {
  return {
    plan: { S: plan },
    ...numberValues({ perMinute: customLimits?.perMinute, perDay: customLimits?.perDay }),
  };
}

/** The counters of an account that has made no request yet. */
export const INITIAL_COUNTERS: Attributes = {
  minute: numberValue(NO_USAGE.minute.start),
  minuteCount: numberValue(NO_USAGE.minute.count),
  day: numberValue(NO_USAGE.day.start),
  dayCount: numberValue(NO_USAGE.day.count),
  tokens: { L: [] },
};

/**
 * The keys that can be active, sorted by name. Whether they have expired is not known here, because the time is not.
 * But at most 20 are active (`addKey`), so of more than 20, those that expire first have expired.
 */
export function activeKeys(keys: readonly ApiKey[]): readonly NamedKey[] {
  const byExpiry = keys
    .filter(({ revokedAt }) => revokedAt === undefined)
    .toSorted((a, b) => (b.expiresAt ?? Infinity) - (a.expiresAt ?? Infinity));
  return byExpiry
    .slice(0, MAX_ACTIVE_KEYS)
    .map(({ id, hash, expiresAt }) => ({ name: shortHash(hash), id, expiresAt }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The content of the attribute `keys`: one number for each key, by its name. */
export function keyEntries(keys: readonly NamedKey[]): Attributes {
  return Object.fromEntries(keys.map((key) => [key.name, { N: packKey(key) }]));
}

/** The attribute `ids`, without those that follow from the hash; `undefined` if all of them do. */
export function idsValue(accountId: string, keys: readonly NamedKey[]): AttributeValue | undefined {
  const ids = keys.map(({ name, id }) => (id === keyIdOf(accountId, name) ? "" : shortId(accountId, id)));
  return ids.every((id) => id === "") ? undefined : { L: ids.map((id) => ({ S: id })) };
}

/** The keys of the admission item, sorted by name. */
export function namedKeysOf(item: Item): readonly NamedKey[] {
  const accountId = textOf(item["id"]);
  return Object.entries(item["keys"]?.M ?? {})
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { N: number = "" }], index) => ({
      name,
      id: fullId(accountId, name, textOf(item["ids"]?.L?.[index])),
      ...unpackKey(number),
    }));
}

/** Reads what admission needs to know about one key. `undefined` if the account has no such active key. */
export function keyStateOf(item: Item, hash: string): KeyState | undefined {
  const name = shortHash(hash);
  // Most requests with an unknown key end here, before all entries are read.
  if (item["keys"]?.M?.[name] === undefined) return undefined;
  const found = namedKeysOf(item).find((key) => key.name === name);
  if (found === undefined) return undefined;
  const { id, expiresAt, rejections } = found;
  return {
    accountId: textOf(item["id"]),
    ...planOf(item),
    usage: usageOf(item),
    key: { id, hash, ...(expiresAt === undefined ? {} : { expiresAt }) },
    rejections,
  };
}

/** The rejections of the active keys, by identifier. */
export function rejectionsById(item: Item): Readonly<Record<string, RejectionCount>> {
  const counted = namedKeysOf(item).flatMap(({ id, rejections }) =>
    rejections === undefined ? [] : [[id, rejections] as const],
  );
  return Object.fromEntries(counted);
}

/** Reads the plan. */
export function planOf(item: Item): PlanAssignment<string> {
  const plan = textOf(item["plan"]);
  if (item["perMinute"] === undefined || item["perDay"] === undefined) return { plan };
  return { plan, customLimits: { perMinute: numberOf(item["perMinute"]), perDay: numberOf(item["perDay"]) } };
}

/** Reads both windows. */
export function usageOf(item: Item): Usage {
  return {
    minute: { start: numberOf(item["minute"]), count: numberOf(item["minuteCount"]) },
    day: { start: numberOf(item["day"]), count: numberOf(item["dayCount"]) },
  };
}

function shortId(accountId: string, id: string): string {
  return id.startsWith(`${accountId}.`) ? id.slice(accountId.length) : id;
}

function fullId(accountId: string, name: string, stored: string): string {
  if (stored === "") return keyIdOf(accountId, name);
  return stored.startsWith(".") ? accountId + stored : stored;
}
