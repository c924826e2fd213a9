import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Account, AccountSettings, ApiKey, RejectionCount } from "../../accounts/account.ts";
import type { KeyState } from "../../accounts/admission.ts";
import type { Plan, PlanAssignment } from "../../plans/plan-limits.ts";
import type { Usage } from "../../plans/windows.ts";
import type { Item } from "./item.ts";

/** Converts an integer to an attribute value. */
export function numberValue(value: number): AttributeValue {
  return { N: String(value) };
}

/** The attributes that operators configure. Absent settings are omitted. */
export function settingsItem({ id, plan, customLimits, keys }: AccountSettings): Item {
  return {
    id: { S: id },
    plan: { S: plan },
    ...numbers({ perMinute: customLimits?.perMinute, perDay: customLimits?.perDay }),
    keys: { M: Object.fromEntries(keys.map((key, position) => [key.hash, keyValue(key, position)])) },
  };
}

/** A rejection count with the tokens of the writes in it, as stored under the hash of its key. */
export function rejectionsValue(
  { windowStart, count, bannedUntil }: RejectionCount,
  tokens: readonly string[],
): AttributeValue {
  return {
    M: {
      ...numbers({ start: windowStart, refused: count, bannedUntil }),
      tokens: { L: tokens.map((token) => ({ S: token })) },
    },
  };
}

/** The tokens of the writes in the rejection count of a key. */
export function rejectionTokensOf(item: Item, hash: string): readonly string[] {
  return item["penalties"]?.M?.[hash]?.M?.["tokens"]?.L?.map(textOf) ?? [];
}

/** Reads the whole account. */
export function accountOf(item: Item): Account {
  const { keys, ...settings } = settingsOf(item);
  const rejections = keys.flatMap(({ id, hash }) => {
    const count = rejectionsOf(item, hash);
    return count === undefined ? [] : [[id, count] as const];
  });
  return { ...settings, keys, usage: usageOf(item), rejections: Object.fromEntries(rejections) };
}

/** Reads what operators configure, with the keys in their order. */
export function settingsOf(item: Item): AccountSettings {
  const keys = Object.entries(item["keys"]?.M ?? {})
    .toSorted(([, a], [, b]) => numberOf(a.M?.["position"]) - numberOf(b.M?.["position"]))
    .map(([hash, value]) => keyOf(hash, value));
  return { id: textOf(item["id"]), ...planOf(item), keys };
}

/** Reads what admission needs to know about one key. `undefined` if the account has no such key. */
export function keyStateOf(item: Item, hash: string): KeyState | undefined {
  const value = item["keys"]?.M?.[hash];
  if (value === undefined) return undefined;
  return {
    accountId: textOf(item["id"]),
    ...planOf(item),
    usage: usageOf(item),
    key: keyOf(hash, value),
    rejections: rejectionsOf(item, hash),
  };
}

function keyValue(key: ApiKey, position: number): AttributeValue {
  const { id, createdAt, expiresAt, revokedAt, successorId } = key;
  const successor = successorId === undefined ? {} : { successorId: { S: successorId } };
  return { M: { id: { S: id }, ...successor, ...numbers({ position, createdAt, expiresAt, revokedAt }) } };
}

function keyOf(hash: string, { M: key = {} }: AttributeValue): ApiKey {
  const { expiresAt, revokedAt, successorId } = key;
  return {
    id: textOf(key["id"]),
    hash,
    createdAt: numberOf(key["createdAt"]),
    ...(expiresAt === undefined ? {} : { expiresAt: numberOf(expiresAt) }),
    ...(revokedAt === undefined ? {} : { revokedAt: numberOf(revokedAt) }),
    ...(successorId === undefined ? {} : { successorId: textOf(successorId) }),
  };
}

function planOf(item: Item): PlanAssignment {
  const plan = textOf(item["plan"]) as Plan;
  if (item["perMinute"] === undefined || item["perDay"] === undefined) return { plan };
  return { plan, customLimits: { perMinute: numberOf(item["perMinute"]), perDay: numberOf(item["perDay"]) } };
}

function usageOf(item: Item): Usage {
  return {
    minute: { start: numberOf(item["minute"]), count: numberOf(item["minuteCount"]) },
    day: { start: numberOf(item["day"]), count: numberOf(item["dayCount"]) },
  };
}

function rejectionsOf(item: Item, hash: string): RejectionCount | undefined {
  const stored = item["penalties"]?.M?.[hash]?.M;
  if (stored === undefined) return undefined;
  const bannedUntil = stored["bannedUntil"];
  return {
    windowStart: numberOf(stored["start"]),
    count: numberOf(stored["refused"]),
    ...(bannedUntil === undefined ? {} : { bannedUntil: numberOf(bannedUntil) }),
  };
}

function numbers(values: Readonly<Record<string, number | undefined>>): Item {
  const present = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, numberValue(value)] as const],
  );
  return Object.fromEntries(present);
}

function numberOf(value: AttributeValue | undefined): number {
  return Number(value?.N);
}

function textOf(value: AttributeValue | undefined): string {
  return value?.S ?? "";
}
