import { DatabaseSync } from "node:sqlite";
import { isActive } from "../../../lib/accounts/account.ts";
import { hashKey, parseKey } from "../../../lib/accounts/api-key.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import type { AcknowledgedState } from "./acknowledged-state.ts";
import type { Ledger } from "./ledger.ts";

/** Looks at a database after a crash, and tells everything that is not as it was acknowledged; orders from one on. */
export async function checkAfterCrash(
  path: string,
  evidence: AcknowledgedState,
  { meteredAccount, firstOrder }: { meteredAccount: string; firstOrder: bigint },
): Promise<readonly string[]> {
  const objections = [...damage(path)];
  const store = createSqliteStore({ path });
  try {
    objections.push(...(await ordersAmiss(store, evidence.ledger, firstOrder)));
    objections.push(...(await accountsAmiss(store, evidence)));
    const account = await store.accounts.find(meteredAccount);
    objections.push(...(account === undefined ? ["no account"] : evidence.meter.objections(account.usage)));
  } finally {
    await store.close();
  }
  return objections;
}

/** What the engine itself finds. */
function damage(path: string): readonly string[] {
  const db = new DatabaseSync(path);
  try {
    const integrity = db.prepare("PRAGMA integrity_check").all() as { integrity_check: string }[];
    const dangling = db.prepare("PRAGMA foreign_key_check").all();
    return [
      ...integrity.map((row) => row.integrity_check).filter((said) => said !== "ok"),
      ...dangling.map((row) => `dangling: ${JSON.stringify(row)}`),
    ];
  } finally {
    db.close();
  }
}

async function ordersAmiss(store: Store, ledger: Ledger, first: bigint): Promise<readonly string[]> {
  const objections: (string | undefined)[] = [];
  const missing = new Set([...ledger.ids()].filter((id) => id >= first));
  for await (const page of store.orders.scan(first - 1n)) {
    for (const order of page) {
      const { id } = order.record;
      missing.delete(id);
      objections.push(ledger.objection(id, order));
    }
  }
  for (const id of missing) objections.push(ledger.objection(id, undefined));
  return objections.filter((objection) => objection !== undefined);
}

async function accountsAmiss(
  store: Store,
  { accounts, keys, bans }: AcknowledgedState,
): Promise<readonly string[]> {
  const kept = new Set<string>();
  const objections: string[] = [];
  for (const id of accounts) {
    const account = await store.accounts.find(id);
    if (account === undefined) objections.push(`account ${id}: lost`);
    for (const key of account?.keys ?? []) if (isActive(key, Date.now())) kept.add(key.hash);
  }
  for (const key of keys) if (!kept.has(hashKey(key))) objections.push("a key that was shown does not live");
  for (const [key, until] of bans) {
    const { accountId = "", hash } = parseKey(key) ?? {};
    const account = await store.accounts.find(accountId);
    const id = account?.keys.find((known) => known.hash === hash)?.id ?? "";
    const kept = account?.rejections[id]?.bannedUntil ?? 0;
    if (Math.ceil(kept / 1_000) < until)
      objections.push(`a ban until ${until} that was told is until ${kept}`);
  }
  return objections;
}
