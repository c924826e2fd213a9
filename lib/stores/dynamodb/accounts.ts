import type { AccountSettings } from "../../accounts/account.ts";
import type { AccountStore } from "../../accounts/account-store.ts";
import { NO_USAGE } from "../../plans/windows.ts";
import { accountOf, numberValue, settingsItem, settingsOf } from "./account-item.ts";
import { createAdmission } from "./admission.ts";
import { callTimeout, jitter } from "./client.ts";
import type { Item } from "./item.ts";
import type { Change, Table } from "./table.ts";
import { hasToken, newWriteToken, type WriteToken } from "./write-token.ts";

/** The port of accounts over their table. What operators write and what admission writes are different attributes. */
export function createAccountStore(table: Table): AccountStore {
  const keyOf = (id: string) => ({ id: { S: id } });

  return {
    async create(settings) {
      const revision = newWriteToken();
      const item = { ...settingsItem(settings), ...UNUSED, revision };
      const { done, before } = await table.add(item, keyOf(settings.id), callTimeout());
      const added = done || hasToken(before, "revision", revision);
      return added ? { ok: true, account: settings } : { ok: false, code: "account_exists" };
    },

    async find(id) {
      const item = await table.get(keyOf(id), callTimeout());
      return item === undefined ? undefined : accountOf(item);
    },

    async *list() {
      // A table has no order over its items; accounts are few and small, unlike orders.
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

const UNUSED: Item = {
  minute: numberValue(NO_USAGE.minute.start),
  minuteCount: numberValue(NO_USAGE.minute.count),
  day: numberValue(NO_USAGE.day.start),
  dayCount: numberValue(NO_USAGE.day.count),
  penalties: { M: {} },
};

/** Puts settings in the place of those that were seen. The penalty of a key that is forgotten goes with it. */
function replace(seen: Item, settings: AccountSettings, revision: WriteToken): Change {
  const { id: _same, ...item }: Item = { ...settingsItem(settings), revision };
  const absent = ["perMinute", "perDay"].filter((name) => !Object.hasOwn(item, name));
  const forgotten = Object.keys(seen["keys"]?.M ?? {}).filter(
    (hash) => !settings.keys.some((key) => key.hash === hash),
  );
  const sets = Object.keys(item).map((name) => `#${name} = :${name}`);
  const removes = [
    ...absent.map((name) => `#${name}`),
    ...forgotten.map((_, index) => `#penalties.#forgotten${index}`),
  ];
  return {
    update: `SET ${sets.join(", ")}${removes.length === 0 ? "" : ` REMOVE ${removes.join(", ")}`}`,
    condition: "#revision = :seen",
    names: Object.fromEntries(forgotten.map((hash, index) => [`#forgotten${index}`, hash])),
    values: {
      ...Object.fromEntries(Object.entries(item).map(([name, value]) => [`:${name}`, value])),
      ":seen": { S: seen["revision"]?.S ?? "" },
    },
  };
}
