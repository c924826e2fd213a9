import type { Account, AccountResult, AccountSettings } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import { ACCOUNT_ID_RULE } from "../../accounts/accounts.ts";
import { type Environment, isAccountId } from "../../accounts/api-key.ts";
import { invalidInput } from "../../errors.ts";
import { type AccountItems, accountOf, belongTogether, settingsOf } from "./account-items.ts";
import { createAdmission } from "./admission.ts";
import { activeKeys, INITIAL_COUNTERS, idsValue, keyEntries, planAttributes } from "./admission-item.ts";
import { numberValue, textOf } from "./attribute-values.ts";
import { callTimeout, jitter } from "./client.ts";
import { addVersion, detailsVersionOf, hasDetails } from "./details-item.ts";
import { inSequence } from "./in-sequence.ts";
import type { Item } from "./item.ts";
import { detailsIdOf, ENVIRONMENT_KEY } from "./layout.ts";
import { settingsUpdate } from "./settings-update.ts";
import type { Table } from "./table.ts";
import { createUnban } from "./unban.ts";
import { hasToken, newWriteToken } from "./write-token.ts";

/** How often an account is read again whose items belong to different changes. */
const MAX_READS = 4;

/** The wait before that: another process is between its two writes. */
const READ_WAIT_MS = 4;

const NOT_FOUND = { ok: false, code: "account_not_found" } as const;

type Updater = (account: AccountSettings) => AccountResult;

/**
 * The account store over its table. See layout.ts for the two items of an account: the second, and one that belongs to
 * no account, have identifiers that no account can have, so one that a caller passes is checked. Requests are admitted through
 * `admissionTable`, which does not repeat a throttled request; operators wait for theirs.
 */
export function createAccountStore(table: Table, admissionTable: Table): AccountStore {
  const primaryKeyOf = (id: string): Item => ({ id: { S: id } });
  const changeInSequence = inSequence();

  /** Reads both items. */
  async function read(id: string): Promise<AccountItems | undefined> {
    if (!isAccountId(id)) return undefined;
    const signal = callTimeout();
    for (let round = 1; ; round++) {
      const items = await table.getAll([primaryKeyOf(id), primaryKeyOf(detailsIdOf(id))], signal);
      const item = items.find((found) => textOf(found["id"]) === id);
      if (item === undefined) return undefined;
      const details = items.find((found) => found !== item);
      if (belongTogether({ item, details }) || round === MAX_READS) return { item, details };
      await jitter(round, READ_WAIT_MS);
    }
  }

  async function find(id: string): Promise<Account | undefined> {
    const items = await read(id);
    return items && accountOf(items);
  }

  async function update(id: string, updater: Updater, signal: AbortSignal): Promise<AccountResult> {
    const revision = newWriteToken();
    /** The version that the account named before the details were read, which did not have it. */
    let missing: string | undefined;
    for (let round = 0; ; round++) {
      // In this order, because it shows which versions of the details can no longer be named. See `addVersion`.
      const details = await table.get(primaryKeyOf(detailsIdOf(id)), signal);
      const item = await table.get(primaryKeyOf(id), signal);
      if (item === undefined) return NOT_FOUND;
      const version = detailsVersionOf(item);
      // The details have a version for as long as the account names it. So they are lost only if the account has named
      // this one before and after they were read: otherwise another process has changed it in between.
      if (!belongTogether({ item, details }) && version !== missing) {
        missing = version;
        await jitter(round, READ_WAIT_MS);
        continue;
      }
      const settings = settingsOf({ item, details });
      const result = updater(settings);
      if (!result.ok) return result;
      const isSame = hasDetails(details, item, result.account.keys);
      const added = isSame
        ? undefined
        : await addVersion(table, id, result.account.keys, { seen: details, item }, signal);
      const changed = settingsUpdate(item, { settings: result.account, version: added, revision });
      const { done, before } = await table.update(primaryKeyOf(id), changed, signal);
      if (done || hasToken(before, "revision", revision)) return result;
      await jitter(round);
    }
  }

  return {
    async recordEnvironment(environment) {
      const item = { ...ENVIRONMENT_KEY, environment: { S: environment } };
      const { done, before } = await table.add(item, ENVIRONMENT_KEY, callTimeout());
      return done ? environment : (textOf(before?.["environment"]) as Environment);
    },

    find,

    async create(settings) {
      if (!isAccountId(settings.id)) throw invalidInput("id", ACCOUNT_ID_RULE);
      const signal = callTimeout();
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
      const added = done || hasToken(before, "revision", revision);
      return added ? { ok: true, account: settings } : { ok: false, code: "account_exists" };
    },

    async *list() {
      // Items of a table are not sorted. Unlike orders, accounts are few and small enough to sort in memory.
      const items = new Map<string, Item>();
      for (let from: Item | undefined, more = true; more; more = from !== undefined) {
        const page = await table.scan({ from }, (kept) => kept, callTimeout());
        for (const item of page.kept) items.set(textOf(item["id"]), item);
        from = page.next;
      }
      for (const [id, item] of [...items].sort(([a], [b]) => (a < b ? -1 : 1))) {
        if (!isAccountId(id)) continue;
        const details = items.get(detailsIdOf(id));
        const account = belongTogether({ item, details }) ? accountOf({ item, details }) : await find(id);
        if (account !== undefined) yield account;
      }
    },

    async update(id, updater) {
      if (!isAccountId(id)) return NOT_FOUND;
      const signal = callTimeout();
      // Changes of other processes contend, which costs repetitions. Those of this process need not.
      return changeInSequence(id, () => update(id, updater, signal));
    },

    async resetUsage(id) {
      if (!isAccountId(id)) return NOT_FOUND;
      const reset = {
        update: "SET #minuteCount = :zero, #dayCount = :zero",
        condition: "attribute_exists(#id)",
        values: { ":zero": numberValue(0) },
      };
      const { done } = await table.update(primaryKeyOf(id), reset, callTimeout());
      const items = done ? await read(id) : undefined;
      if (items === undefined) return NOT_FOUND;
      return { ok: true, account: settingsOf(items) };
    },

    unban: createUnban(table),
    ...createAdmission(admissionTable),
  };
}
