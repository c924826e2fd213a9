import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Account, AccountSettings, ApiKey, RejectionCount } from "../../accounts/account.ts";
import type { KeyState } from "../../accounts/admission.ts";
import type { Plan, PlanAssignment } from "../../plans/plan-limits.ts";
import type { Usage } from "../../plans/windows.ts";
import type { Item } from "./table.ts";

/** A whole number as DynamoDB spells it. */
export function numberValue(value: number): AttributeValue {
  return { N: String(value) };
}

/** The attributes that operators decide about; absent ones are not among them. */
export function settingsItem({ id, terms, keys }: AccountSettings): Item {
  return {
    id: { S: id },
    plan: { S: terms.plan },
    ...numbers({ perMinute: terms.customLimits?.perMinute, perDay: terms.customLimits?.perDay }),
    keys: { M: Object.fromEntries(keys.map((key, position) => [key.hash, keyValue(key, position)])) },
  };
}

/** A penalty as it is kept under the key's hash. */
export function penaltyValue({
  windowStart: start,
  count: refused,
  bannedUntil,
}: RejectionCount): AttributeValue {
  return { M: numbers({ start, refused, bannedUntil }) };
}

/** Reads the whole account. */
export function accountOf(item: Item): Account {
  const { keys, ...settings } = settingsOf(item);
  const penalties = keys.flatMap(({ id, hash }) => {
    const penalty = penaltyOf(item, hash);
    return penalty === undefined ? [] : [[id, penalty] as const];
  });
  return { ...settings, keys, usage: usageOf(item), rejections: Object.fromEntries(penalties) };
}

/** Reads what operators decide about, keys in their order. */
export function settingsOf(item: Item): AccountSettings {
  const keys = Object.entries(item["keys"]?.M ?? {})
    .toSorted(([, a], [, b]) => numberOf(a.M?.["position"]) - numberOf(b.M?.["position"]))
    .map(([hash, value]) => keyOf(hash, value));
  return { id: textOf(item["id"]), terms: termsOf(item), keys };
}

/** Reads what admission has to know about one key; `undefined` where the account has no such key. */
export function callerOf(item: Item, hash: string): KeyState | undefined {
  const value = item["keys"]?.M?.[hash];
  if (value === undefined) return undefined;
  return {
    accountId: textOf(item["id"]),
    terms: termsOf(item),
    usage: usageOf(item),
    key: keyOf(hash, value),
    rejections: penaltyOf(item, hash),
  };
}

function keyValue({ id, createdAt, expiresAt, revokedAt }: ApiKey, position: number): AttributeValue {
  return { M: { id: { S: id }, ...numbers({ position, createdAt, expiresAt, revokedAt }) } };
}

function keyOf(hash: string, { M: key = {} }: AttributeValue): ApiKey {
  const { expiresAt, revokedAt } = key;
  return {
    id: textOf(key["id"]),
    hash,
    createdAt: numberOf(key["createdAt"]),
    ...(expiresAt === undefined ? {} : { expiresAt: numberOf(expiresAt) }),
    ...(revokedAt === undefined ? {} : { revokedAt: numberOf(revokedAt) }),
  };
}

function termsOf(item: Item): PlanAssignment {
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

function penaltyOf(item: Item, hash: string): RejectionCount | undefined {
  const penalty = item["penalties"]?.M?.[hash]?.M;
  if (penalty === undefined) return undefined;
  const bannedUntil = penalty["bannedUntil"];
  return {
    windowStart: numberOf(penalty["start"]),
    count: numberOf(penalty["refused"]),
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
