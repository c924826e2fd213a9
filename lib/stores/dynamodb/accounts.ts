import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Account, AccountResult, AccountSettings, ApiKey } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import { ACCOUNT_ID_RULE } from "../../accounts/accounts.ts";
import { type Environment, isAccountId, shortHash } from "../../accounts/api-key.ts";
import { createTurns } from "../../core/concurrency.ts";
import { invalidInput, StoreUnavailableError } from "../../core/errors.ts";
import { keyOfAnother } from "../account-rows.ts";
import { createAdmission } from "./admission.ts";
import {
  activeKeys,
  INITIAL_COUNTERS,
  idsValue,
  keyEntries,
  type NamedKey,
  namedKeysOf,
  packEntry,
  planAttributes,
  planOf,
  rejectionsById,
  usageOf,
} from "./admission-item.ts";
import { backOff, callTimeout } from "./client.ts";
import { LAYOUT_VERSION, SETTINGS_KEY } from "./schema.ts";
import {
  type Attributes,
  type ConditionalUpdate,
  changeItem,
  combine,
  type Item,
  newWriteToken,
  numberOf,
  numberValue,
  numberValues,
  pagesOf,
  stringOf,
  type TableClient,
} from "./table.ts";

/*
 * The details item, `<id>/keys`, has the details of all keys, also of inactive ones. Its `versions` holds them by
 * version: a change adds a version, then the admission item names it. So a change takes effect with one write, and a
 * version that was not named, because its process stopped, has no effect. The next change removes it.
 */

/** An account's own identifier contains no slash. */
export function detailsIdOf(accountId: string): string {
  return `${accountId}/keys`;
}

/** The largest number of reads of an account whose items belong to different changes. */
const MAX_READS = 8;

/** The wait before another read: another process is between its two writes. */
const READ_WAIT_MS = 4;

const NOT_FOUND = { ok: false, code: "account_not_found" } as const;
const EXISTS = { ok: false, code: "account_exists" } as const;

/** The most versions of the details that one change removes: the text of an update has at most 4 KB. */
const MAX_REMOVED_VERSIONS = 100;

/**
 * The details item and the settings item have identifiers that no account can have, so one that a caller passes is
 * checked. Requests are admitted through `admissionTable`, which does not retry a throttled request; operators wait.
 */
export function createAccountStore(table: TableClient, admissionTable: TableClient): AccountStore {
  const turns = createTurns<string>();

  async function find(id: string): Promise<Account | undefined> {
    const items = await readItems(table, id);
    return items && toAccount(items);
  }

  return {
    importedKeys: {
      async record(hash, accountId) {
        const signal = callTimeout();
        await table.add(SOME_IMPORTED, SOME_IMPORTED, signal);
        const key = importedKeyOf(hash);
        const { done, before } = await table.add({ ...key, account: { S: accountId } }, key, signal);
        const owner = stringOf(before?.["account"]);
        if (done || owner === accountId) return;
        const isOwned = async () =>
          (await find(owner))?.keys.some((known) => shortHash(known.hash) === shortHash(hash)) === true;
        const replace = (from: string, to: string) => ({
          set: ["#account = :to"],
          conditions: ["#account = :from"],
          values: { ":to": { S: to }, ":from": { S: from } },
        });
        if (await isOwned()) throw keyOfAnother();
        if (!(await table.update(key, replace(owner, accountId), signal)).done) throw keyOfAnother();
        // Another process may have added the key meanwhile.
        if (!(await isOwned())) return;
        await table.update(key, replace(accountId, owner), signal);
        throw keyOfAnother();
      },

      exist: async () => (await table.get(SOME_IMPORTED, callTimeout())) !== undefined,

      async findAccount(hash) {
        const item = await table.get(importedKeyOf(hash), callTimeout());
        return item && stringOf(item["account"]);
      },
    },

    async findEnvironment() {
      return (await table.get(SETTINGS_KEY, callTimeout()))?.["environment"]?.S as Environment | undefined;
    },

    async recordEnvironment(environment) {
      const layout = numberValue(LAYOUT_VERSION);
      const item = { ...SETTINGS_KEY, environment: { S: environment }, layout };
      const { done, before } = await table.add(item, SETTINGS_KEY, callTimeout());
      return done ? environment : (stringOf(before?.["environment"]) as Environment);
    },

    find,

    async create(settings) {
      if (!isAccountId(settings.id)) throw invalidInput("id", ACCOUNT_ID_RULE);
      const signal = callTimeout();
      // Otherwise each call for an account that exists would leave a version of its details.
      if (await table.get(primaryKeyOf(settings.id), signal)) return EXISTS;
      const revision = newWriteToken();
      const keys = activeKeys(settings.keys);
      const ids = idsValue(settings.id, keys);
      const details = await addVersion(table, settings.id, settings.keys, {}, signal);
      const item: Item = {
        ...primaryKeyOf(settings.id),
        ...planAttributes(settings),
        ...INITIAL_COUNTERS,
        keys: { M: keyEntries(keys) },
        ...(ids === undefined ? {} : { ids }),
        details: { S: details },
        revision: { S: revision },
      };
      const { done, before } = await table.add(item, primaryKeyOf(settings.id), signal);
      const added = done || before?.["revision"]?.S === revision;
      return added ? { ok: true, account: settings } : EXISTS;
    },

    async *list(after = "", limit = Number.POSITIVE_INFINITY) {
      // Items of a table are not sorted. Unlike orders, accounts are few and small enough to sort in memory.
      const items = new Map<string, Item>();
      for await (const page of pagesOf(table, {}))
        for (const item of page) items.set(stringOf(item["id"]), item);
      const ids = [...items.keys()].filter((id) => isAccountId(id) && id > after).sort();
      for (const id of ids.slice(0, limit)) {
        const item = items.get(id) ?? {};
        const details = items.get(detailsIdOf(id));
        const account = belongTogether({ item, details }) ? toAccount({ item, details }) : await find(id);
        if (account !== undefined) yield account;
      }
    },

    async update(id, updater) {
      if (!isAccountId(id)) return NOT_FOUND;
      const signal = callTimeout();
      const revision = newWriteToken();
      // Changes of other processes contend, which costs retries. Those of this process need not.
      return turns.run<AccountResult>(id, async () => {
        for (let round = 0; ; round++) {
          // In this order, because it shows which versions of the details can no longer be named. See `addVersion`.
          const details = await table.get(primaryKeyOf(detailsIdOf(id)), signal);
          const item = await table.get(primaryKeyOf(id), signal);
          if (item === undefined) return NOT_FOUND;
          // Another process has changed the account between the two reads.
          if (!belongTogether({ item, details })) {
            await backOff(round, READ_WAIT_MS);
            continue;
          }
          const result = updater(settingsOf({ item, details }));
          if (!result.ok) return result;
          const { account } = result;
          const added = hasDetails(details, item, account.keys)
            ? undefined
            : await addVersion(table, id, account.keys, { seen: details, item }, signal);
          const changed = settingsUpdate(item, account, added, revision);
          const { done, before } = await table.update(primaryKeyOf(id), changed, signal);
          if (done || before?.["revision"]?.S === revision) return result;
          await backOff(round);
        }
      });
    },

    async delete(id) {
      const items = await readItems(table, id);
      if (items === undefined) return NOT_FOUND;
      const account = settingsOf(items);
      const signal = callTimeout();
      // In this order: the admission item decides about requests, and its details have no effect without it.
      await table.delete(primaryKeyOf(id), signal);
      await table.delete(primaryKeyOf(detailsIdOf(id)), signal);
      if (await table.get(SOME_IMPORTED, signal))
        for (const { hash } of account.keys) {
          const record = await table.get(importedKeyOf(hash), signal);
          if (stringOf(record?.["account"]) === id) await table.delete(importedKeyOf(hash), signal);
        }
      return { ok: true, account };
    },

    async resetUsage(id) {
      if (!isAccountId(id)) return NOT_FOUND;
      const reset = {
        set: ["#minuteCount = :zero", "#dayCount = :zero"],
        conditions: ["attribute_exists(#id)"],
        values: { ":zero": numberValue(0) },
      };
      const { done } = await table.update(primaryKeyOf(id), reset, callTimeout());
      const items = done ? await readItems(table, id) : undefined;
      if (items === undefined) return NOT_FOUND;
      return { ok: true, account: settingsOf(items) };
    },

    async unban(id, keyId) {
      if (!isAccountId(id)) return;
      const decide = (item: Item = {}) => ({ result: undefined, update: unbanUpdate(item, keyId) });
      await changeItem(table, primaryKeyOf(id), { decide }, callTimeout());
    },

    ...createAdmission(admissionTable),
  };
}

const SOME_IMPORTED = primaryKeyOf("/imported-keys");

/** The key of the item of an imported key, which has the identifier of its `account`. */
function importedKeyOf(hash: string): Item {
  return primaryKeyOf(`/imported-keys/${hash}`);
}

function primaryKeyOf(id: string): Item {
  return { id: { S: id } };
}

export async function readItems(table: TableClient, id: string): Promise<AccountItems | undefined> {
  if (!isAccountId(id)) return undefined;
  const signal = callTimeout();
  for (let round = 1; ; round++) {
    const items = await table.getAll([primaryKeyOf(id), primaryKeyOf(detailsIdOf(id))], signal);
    const item = items.find((found) => stringOf(found["id"]) === id);
    if (item === undefined) return undefined;
    const details = items.find((found) => found !== item);
    if (belongTogether({ item, details }) || round === MAX_READS) return { item, details };
    await backOff(round, READ_WAIT_MS);
  }
}

export interface AccountItems {
  readonly item: Item;
  readonly details: Item | undefined;
}

/** False if the items were read while the account was changed. */
export function belongTogether({ item, details }: AccountItems): boolean {
  return keysIn(details, item) !== undefined;
}

function settingsOf({ item, details }: AccountItems): AccountSettings {
  const id = stringOf(item["id"]);
  const keys = keysIn(details, item);
  if (keys === undefined)
    throw new StoreUnavailableError(
      `Account ${id} keeps changing, or its details are lost. Check the database.`,
    );
  return { id, ...planOf(item), keys };
}

export function toAccount(items: AccountItems): Account {
  const { item } = items;
  return { ...settingsOf(items), usage: usageOf(item), rejections: rejectionsById(item) };
}

/** The keys in the version that the admission item names; `undefined` if the details item does not have it. */
function keysIn(details: Item | undefined, item: Item): readonly ApiKey[] | undefined {
  const version = versionsOf(details)[stringOf(item["details"])];
  return version?.M?.["keys"]?.L?.map(apiKeyOf);
}

function hasDetails(details: Item | undefined, item: Item, keys: readonly ApiKey[]): boolean {
  const stored = keysIn(details, item);
  const json = (compared: readonly ApiKey[]) => JSON.stringify(compared.map(apiKeyValue));
  return stored !== undefined && json(stored) === json(keys);
}

/**
 * Returns the name of the version, which has no effect until the admission item names it. `seen` is the details item as
 * read before `item`. Versions that can no longer be named are removed: their process saw another revision of `item`.
 */
async function addVersion(
  table: TableClient,
  accountId: string,
  keys: readonly ApiKey[],
  { seen, item }: { readonly seen?: Item | undefined; readonly item?: Item },
  signal: AbortSignal,
): Promise<string> {
  const version = newWriteToken();
  const revision = stringOf(item?.["revision"]);
  const value = { M: { after: { S: revision }, keys: { L: keys.map(apiKeyValue) } } };
  const unused = Object.entries(versionsOf(seen))
    .filter(([name, { M }]) => name !== stringOf(item?.["details"]) && stringOf(M?.["after"]) !== revision)
    .slice(0, MAX_REMOVED_VERSIONS);
  const update = {
    set: ["#versions.#version = :value"],
    remove: unused.map((_, index) => `#versions.#unused${index}`),
    conditions: ["attribute_exists(#id)"],
    names: {
      "#version": version,
      ...Object.fromEntries(unused.map(([name], index) => [`#unused${index}`, name])),
    },
    values: { ":value": value },
  };
  const key = primaryKeyOf(detailsIdOf(accountId));
  if ((await table.update(key, update, signal)).done) return version;
  await table.add({ ...key, versions: { M: {} } }, key, signal);
  await table.update(key, update, signal);
  return version;
}

function versionsOf(details: Item | undefined): Readonly<Record<string, AttributeValue>> {
  return details?.["versions"]?.M ?? {};
}

function apiKeyValue({ id, hash, createdAt, expiresAt, revokedAt, ...texts }: ApiKey): AttributeValue {
  const { successorId, name } = texts;
  const successor = successorId === undefined ? {} : { successorId: { S: successorId } };
  const dates = numberValues({ createdAt, expiresAt, revokedAt });
  const named = name === undefined ? {} : { name: { S: name } };
  return { M: { id: { S: id }, hash: { S: hash }, ...dates, ...named, ...successor } };
}

function apiKeyOf({ M: key = {} }: AttributeValue): ApiKey {
  const { expiresAt, revokedAt, successorId, name } = key;
  return {
    id: stringOf(key["id"]),
    hash: stringOf(key["hash"]),
    createdAt: numberOf(key["createdAt"]),
    ...(expiresAt === undefined ? {} : { expiresAt: numberOf(expiresAt) }),
    ...(revokedAt === undefined ? {} : { revokedAt: numberOf(revokedAt) }),
    ...(successorId === undefined ? {} : { successorId: stringOf(successorId) }),
    ...(name === undefined ? {} : { name: stringOf(name) }),
  };
}

/** `version` is that of the details if the keys have changed. Rejections of the keys that stay are unchanged. */
function settingsUpdate(
  seen: Item,
  settings: AccountSettings,
  version: string | undefined,
  revision: string,
): ConditionalUpdate {
  return combine(
    { conditions: ["#revision = :seen"], values: { ":seen": { S: stringOf(seen["revision"]) } } },
    assign({ ...planAttributes(settings), revision: { S: revision } }),
    { remove: settings.customLimits === undefined ? ["#perMinute", "#perDay"] : [] },
    ...(version === undefined ? [] : keyParts(seen, settings, version)),
  );
}

function keyParts(seen: Item, settings: AccountSettings, version: string) {
  const keys = activeKeys(settings.keys);
  const ids = idsValue(settings.id, keys);
  return [
    assign({ details: { S: version }, ...(ids === undefined ? {} : { ids }) }),
    { remove: ids === undefined ? ["#ids"] : [] },
    entriesPart(namedKeysOf(seen), keys),
  ];
}

/** Only the entries that differ are written, because admission counts rejections in the others. */
function entriesPart(before: readonly NamedKey[], after: readonly NamedKey[]): Partial<ConditionalUpdate> {
  const gone = before.filter(({ name }) => !after.some((key) => key.name === name));
  const changed = after.flatMap((key) => {
    const known = before.find(({ name }) => name === key.name);
    const value = packEntry({ ...key, rejections: known?.rejections });
    const valueSeen = known && packEntry(known);
    return value === valueSeen ? [] : [{ name: key.name, value, valueSeen }];
  });
  return combine(
    ...gone.map(({ name }, index) => ({
      remove: [`#keys.#gone${index}`],
      names: { [`#gone${index}`]: name },
    })),
    ...changed.map(({ name, value, valueSeen }, index) => ({
      set: [`#keys.#changed${index} = :changed${index}`],
      conditions: valueSeen === undefined ? [] : [`#keys.#changed${index} = :changedSeen${index}`],
      names: { [`#changed${index}`]: name },
      values: {
        [`:changed${index}`]: { N: value },
        ...(valueSeen !== undefined && { [`:changedSeen${index}`]: { N: valueSeen } }),
      },
    })),
  );
}

function assign(attributes: Attributes): Partial<ConditionalUpdate> {
  return {
    set: Object.keys(attributes).map((name) => `#${name} = :${name}`),
    values: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`:${name}`, value])),
  };
}

function unbanUpdate(item: Item, keyId: string): (() => ConditionalUpdate) | undefined {
  const found = namedKeysOf(item).find(({ id }) => id === keyId);
  if (found?.rejections === undefined) return undefined;
  const { name, expiresAt } = found;
  return () => ({
    set: ["#keys.#name = :plain"],
    conditions: ["#keys.#name = :seen"],
    names: { "#name": name },
    values: { ":plain": { N: packEntry({ expiresAt }) }, ":seen": { N: packEntry(found) } },
  });
}
