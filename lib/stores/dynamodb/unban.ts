import { isAccountId } from "../../accounts/api-key.ts";
import { namedKeysOf } from "./admission-item.ts";
import { callTimeout, jitter } from "./client.ts";
import type { Item } from "./item.ts";
import { isOldLayout, oldKeysOf, oldUnbanUpdate } from "./old-layout.ts";
import { packKey } from "./packed-key.ts";
import type { ConditionalUpdate, Table } from "./table.ts";

/** Removes the rejections of a key, and with them its ban. */
export function createUnban(table: Table): (accountId: string, keyId: string) => Promise<void> {
  return async (accountId, keyId) => {
    if (!isAccountId(accountId)) return;
    const signal = callTimeout();
    const key: Item = { id: { S: accountId } };
    let item = await table.get(key, signal);
    for (let round = 0; item !== undefined; round++) {
      const update = isOldLayout(item) ? oldLayoutUpdate(item, keyId) : unbanUpdate(item, keyId);
      if (update === undefined) return;
      const { done, before } = await table.update(key, update, signal);
      if (done) return;
      item = before;
      await jitter(round);
    }
  };
}

/** Conditional on the rejections that were read, which admission may change meanwhile. */
function unbanUpdate(item: Item, keyId: string): ConditionalUpdate | undefined {
  const found = namedKeysOf(item).find(({ id }) => id === keyId);
  if (found?.rejections === undefined) return undefined;
  const { name, expiresAt } = found;
  return {
    update: "SET #keys.#name = :plain",
    condition: "#keys.#name = :seen",
    names: { "#name": name },
    values: { ":plain": { N: packKey({ expiresAt }) }, ":seen": { N: packKey(found) } },
  };
}

function oldLayoutUpdate(item: Item, keyId: string): ConditionalUpdate | undefined {
  const key = oldKeysOf(item).find(({ id }) => id === keyId);
  if (key === undefined || item["penalties"]?.M?.[key.hash] === undefined) return undefined;
  return oldUnbanUpdate(key.hash);
}
