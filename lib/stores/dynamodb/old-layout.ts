/**
 * An earlier layout with one item for each account: `keys` by hash with all their dates, and `penalties` (the
 * rejections) by hash. Tables of stacks that were deployed from the repository before the present layout have such
 * accounts. They work as they are, and the next change by an operator converts them. Until then a request costs two
 * writes: the first one assumes the present layout and fails.
 *
 * This file can be removed when no such table is left.
 */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { ApiKey, RejectionCount } from "../../accounts/account.ts";
import type { KeyState } from "../../accounts/admission.ts";
import { planOf, usageOf } from "./admission-item.ts";
import { numberOf, numberValue, numberValues, textOf } from "./attribute-values.ts";
import { apiKeyOf } from "./details-item.ts";
import type { Item } from "./item.ts";
import type { ConditionalUpdate } from "./table.ts";

/** True for an account in the old layout. */
export function isOldLayout(item: Item): boolean {
  return item["details"] === undefined;
}

/** The keys in their order. */
export function oldKeysOf(item: Item): readonly ApiKey[] {
  return Object.entries(item["keys"]?.M ?? {})
    .toSorted(([, a], [, b]) => numberOf(a.M?.["position"]) - numberOf(b.M?.["position"]))
    .map(([hash, value]) => oldKeyOf(hash, value));
}

/** The rejections of one key. */
export function oldRejectionsOf(item: Item, hash: string): RejectionCount | undefined {
  const stored = item["penalties"]?.M?.[hash]?.M;
  if (stored === undefined) return undefined;
  const bannedUntil = stored["bannedUntil"];
  return {
    windowStart: numberOf(stored["start"]),
    count: numberOf(stored["refused"]),
    ...(bannedUntil === undefined ? {} : { bannedUntil: numberOf(bannedUntil) }),
  };
}

/** Reads what admission needs to know about one key. */
export function oldKeyStateOf(item: Item, hash: string): KeyState | undefined {
  const value = item["keys"]?.M?.[hash];
  if (value === undefined) return undefined;
  return {
    accountId: textOf(item["id"]),
    ...planOf(item),
    usage: usageOf(item),
    key: oldKeyOf(hash, value),
    rejections: oldRejectionsOf(item, hash),
  };
}

/** The condition that the rejections of a key are those that were read. */
export function oldRejectionsUnchanged(
  hash: string,
  seen: RejectionCount | undefined,
): Omit<ConditionalUpdate, "update"> {
  const names = { "#hash": hash };
  if (seen === undefined) return { condition: "attribute_not_exists(#penalties.#hash)", names, values: {} };
  return {
    condition: "#penalties.#hash.#start = :startSeen AND #penalties.#hash.#refused = :refusedSeen",
    names,
    values: { ":startSeen": numberValue(seen.windowStart), ":refusedSeen": numberValue(seen.count) },
  };
}

/** Replaces the rejections that were read. */
export function oldRejectionsUpdate(
  hash: string,
  seen: RejectionCount | undefined,
  { windowStart, count, bannedUntil }: RejectionCount,
): ConditionalUpdate {
  const { values, ...unchanged } = oldRejectionsUnchanged(hash, seen);
  const rejections: AttributeValue = {
    M: { ...numberValues({ start: windowStart, refused: count, bannedUntil }), tokens: { L: [] } },
  };
  return {
    update: "SET #penalties.#hash = :rejections",
    ...unchanged,
    values: { ...values, ":rejections": rejections },
  };
}

/** Removes the rejections of a key. */
export function oldUnbanUpdate(hash: string): ConditionalUpdate {
  return {
    update: "REMOVE #penalties.#hash",
    condition: "attribute_exists(#penalties.#hash)",
    names: { "#hash": hash },
  };
}

function oldKeyOf(hash: string, value: AttributeValue): ApiKey {
  return apiKeyOf({ M: { ...value.M, hash: { S: hash } } });
}
