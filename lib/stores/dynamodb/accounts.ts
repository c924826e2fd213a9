import type { AccountSettings } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import { NO_USAGE } from "../../plans/windows.ts";
import { accountOf, numberValue, settingsItem, settingsOf } from "./account-item.ts";
import { createAdmission } from "./admission.ts";
import { callTimeout, jitter } from "./client.ts";
import type { Item } from "./item.ts";
import type { Change, Table } from "./table.ts";
import { hasToken, newWriteToken } from "./write-token.ts";

/** The account store over its table. Operators and admission write different attributes. */
export function createAccountStore(table: Table): AccountStore {
  const keyOf = (id: string) => ({ id: { S: id } });

  return {
    async create(settings) {
      const revision = newWriteToken();
      const item = { ...settingsItem(settings), ...INITIAL_COUNTERS, revision: { S: revision } };
      const { done, before } = await table.add(item, keyOf(settings.id), callTimeout());
      const added = done || hasToken(before, "revision", revision);
      return added ? { ok: true, account: settings } : { ok: false, code: "account_exists" };
    },

    async find(id) {
      const item = await table.get(keyOf(id), callTimeout());
      return item === undefined ? undefined : accountOf(item);
    },

    async *list() {
      // Items of a table are not sorted. Unlike orders, accounts are few and small enough to sort in memory.
      const items: Item[] = [];
      for (let from: Item | undefined, more = true; more; more = from !== undefined) {
        const page = await table.scan(from, callTimeout());
        items.push(...page.kept);
        from = page.next;
      }
      yield* items.map(accountOf).sort((a, b) => (a.id < b.id ? -1 : 1));
    },

    async update(id, updater) {
      const signal = callTimeout();
      const revision = newWriteToken();
      let item = await table.get(keyOf(id), signal);
      for (let round = 0; ; round++) {
        if (item === undefined) return { ok: false, code: "account_not_found" };
        const result = updater(settingsOf(item));
        if (!result.ok) return result;
        const change = replace(item, result.account, revision);
        const { done, before } = await table.update(keyOf(id), change, signal);
        if (done || hasToken(before, "revision", revision)) return result;
        item = before;
        await jitter(round);
      }
    },

    async resetUsage(id) {
      const change = {
        update: "SET #minuteCount = :zero, #dayCount = :zero",
        condition: "attribute_exists(#id)",
        values: { ":zero": numberValue(0) },
      };
      const { done, before } = await table.update(keyOf(id), change, callTimeout());
      if (!done || before === undefined) return { ok: false, code: "account_not_found" };
      return { ok: true, account: settingsOf(before) };
    },

    async unban(accountId, keyId) {
      const signal = callTimeout();
      const item = await table.get(keyOf(accountId), signal);
      const key = item === undefined ? undefined : settingsOf(item).keys.find(({ id }) => id === keyId);
      if (key === undefined) return;
      await table.update(
        keyOf(accountId),
        {
          update: "REMOVE #penalties.#hash",
          condition: "attribute_exists(#penalties.#hash)",
          names: { "#hash": key.hash },
        },
        signal,
      );
    },

    ...createAdmission(table),
  };
}

const INITIAL_COUNTERS: Item = {
  minute: numberValue(NO_USAGE.minute.start),
  minuteCount: numberValue(NO_USAGE.minute.count),
  day: numberValue(NO_USAGE.day.start),
  dayCount: numberValue(NO_USAGE.day.count),
  penalties: { M: {} },
};

/** Replaces the settings, conditional on those that were read. The rejections of a deleted key are deleted with it. */
function replace(seen: Item, settings: AccountSettings, revision: string): Change {
  const { id: _same, ...item }: Item = { ...settingsItem(settings), revision: { S: revision } };
  const absent = ["perMinute", "perDay"].filter((name) => !Object.hasOwn(item, name));
  const deleted = Object.keys(seen["keys"]?.M ?? {}).filter(
    (hash) => !settings.keys.some((key) => key.hash === hash),
  );
  const sets = Object.keys(item).map((name) => `#${name} = :${name}`);
  const removes = [
    ...absent.map((name) => `#${name}`),
    ...deleted.map((_, index) => `#penalties.#deleted${index}`),
  ];
  return {
    update: `SET ${sets.join(", ")}${removes.length === 0 ? "" : ` REMOVE ${removes.join(", ")}`}`,
    condition: "#revision = :seen",
    names: Object.fromEntries(deleted.map((hash, index) => [`#deleted${index}`, hash])),
    values: {
      ...Object.fromEntries(Object.entries(item).map(([name, value]) => [`:${name}`, value])),
      ":seen": { S: seen["revision"]?.S ?? "" },
    },
  };
}
