import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { ApiKey } from "../../accounts/account.ts";
import { namedKeysOf } from "./admission-item.ts";
import { numberOf, numberValues, textOf } from "./attribute-values.ts";
import type { Item } from "./item.ts";
import { detailsIdOf } from "./layout.ts";
import type { Table } from "./table.ts";
import { newWriteToken } from "./write-token.ts";

/** The version of the keys that the admission item names; `undefined` in the old layout. */
export function detailsVersionOf(item: Item): string | undefined {
  return item["details"]?.S;
}

/** The keys in the version that the admission item names; `undefined` if the details item does not have it. */
export function keysIn(details: Item | undefined, item: Item): readonly ApiKey[] | undefined {
  const version = versionsOf(details)[detailsVersionOf(item) ?? ""];
  return version?.M?.["keys"]?.L?.map(apiKeyOf);
}

/** True if the version that the admission item names has exactly these keys. */
export function hasDetails(details: Item | undefined, item: Item, keys: readonly ApiKey[]): boolean {
  const stored = keysIn(details, item);
  const text = (compared: readonly ApiKey[]) => JSON.stringify(compared.map(apiKeyValue));
  return stored !== undefined && text(stored) === text(keys);
}

/**
 * The keys as far as the admission item knows them, if the details item is lost. They can be written back: a short hash
 * identifies a key as the whole one does. Only the dates of the keys, and those that are inactive, are lost.
 */
export function keysWithoutDetails(item: Item): readonly ApiKey[] {
  return namedKeysOf(item).map(({ id, name, expiresAt }) => ({
    ...{ id, hash: name, createdAt: 0 },
    ...(expiresAt === undefined ? {} : { expiresAt }),
  }));
}

/**
 * Adds a version to the details item and returns its name. It has no effect until the admission item names it. `seen`
 * is the details item as it was read before the admission item, `item`. Versions that can no longer be named are
 * removed: their process saw another revision of the admission item.
 */
export async function addVersion(
  table: Table,
  accountId: string,
  keys: readonly ApiKey[],
  { seen, item }: { readonly seen?: Item | undefined; readonly item?: Item },
  signal: AbortSignal,
): Promise<string> {
  const version = newWriteToken();
  const revision = textOf(item?.["revision"]);
  const value = { M: { after: { S: revision }, keys: { L: keys.map(apiKeyValue) } } };
  const unused = Object.entries(versionsOf(seen)).flatMap(([name, { M }]) =>
    name === textOf(item?.["details"]) || textOf(M?.["after"]) === revision ? [] : [name],
  );
  const removes = unused.map((_, index) => `#versions.#unused${index}`);
  const update = {
    update: `SET #versions.#version = :value${removes.length === 0 ? "" : ` REMOVE ${removes.join(", ")}`}`,
    condition: "attribute_exists(#id)",
    names: {
      "#version": version,
      ...Object.fromEntries(unused.map((name, index) => [`#unused${index}`, name])),
    },
    values: { ":value": value },
  };
  const key: Item = { id: { S: detailsIdOf(accountId) } };
  if ((await table.update(key, update, signal)).done) return version;
  await table.add({ ...key, versions: { M: {} } }, key, signal);
  await table.update(key, update, signal);
  return version;
}

function versionsOf(details: Item | undefined): Readonly<Record<string, AttributeValue>> {
  return details?.["versions"]?.M ?? {};
}

function apiKeyValue({ id, hash, createdAt, expiresAt, revokedAt, successorId }: ApiKey): AttributeValue {
  const successor = successorId === undefined ? {} : { successorId: { S: successorId } };
  const dates = numberValues({ createdAt, expiresAt, revokedAt });
  return { M: { id: { S: id }, hash: { S: hash }, ...dates, ...successor } };
}

/** Reads a key with its dates. */
export function apiKeyOf({ M: key = {} }: AttributeValue): ApiKey {
  const { expiresAt, revokedAt, successorId } = key;
  return {
    id: textOf(key["id"]),
    hash: textOf(key["hash"]),
    createdAt: numberOf(key["createdAt"]),
    ...(expiresAt === undefined ? {} : { expiresAt: numberOf(expiresAt) }),
    ...(revokedAt === undefined ? {} : { revokedAt: numberOf(revokedAt) }),
    ...(successorId === undefined ? {} : { successorId: textOf(successorId) }),
  };
}
