import { DatabaseSync } from "node:sqlite";
import { isActive } from "../../../lib/accounts/account.ts";
import { hashKey, parseKey } from "../../../lib/accounts/hash-key.ts";
import { eachOrder } from "../../../lib/orders/order-query.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { openStore, type StoreAddress } from "../../support/store-address.ts";
import type { AcknowledgedState } from "./acknowledged-state.ts";
import type { Ledger } from "./ledger.ts";

/** Returns every difference between a database after a crash and the acknowledged state. Orders from `firstOrder` on. */
export async function checkAfterCrash(
  address: StoreAddress,
  state: AcknowledgedState,
  { meteredAccount, firstOrder }: { meteredAccount: string; firstOrder: bigint },
): Promise<readonly string[]> {
  const violations = address.kind === "sqlite" ? [...integrityViolations(address.path)] : [];
  const store = await openStore(address);
  try {
    violations.push(...(await orderViolations(store, state.ledger, firstOrder)));
    violations.push(...(await accountViolations(store, state)));
    const account = await store.accounts.find(meteredAccount);
    violations.push(...(account === undefined ? ["no account"] : state.meter.violations(account.usage)));
  } finally {
    await store.close();
  }
  return violations;
}

/** What SQLite's own checks find. */
function integrityViolations(path: string): readonly string[] {
  const db = new DatabaseSync(path);
  try {
    const integrity = db.prepare("PRAGMA integrity_check").all() as { integrity_check: string }[];
    const dangling = db.prepare("PRAGMA foreign_key_check").all();
    return [
      ...integrity.map((row) => row.integrity_check).filter((result) => result !== "ok"),
      ...dangling.map((row) => `dangling: ${JSON.stringify(row)}`),
    ];
  } finally {
    db.close();
  }
}

async function orderViolations(store: Store, ledger: Ledger, first: bigint): Promise<readonly string[]> {
  const violations: (string | undefined)[] = [];
  const missing = new Set([...ledger.ids()].filter((id) => id >= first));
  for await (const page of eachOrder(store.orders, { after: first - 1n })) {
    for (const order of page) {
      const { id } = order.record;
      missing.delete(id);
      violations.push(ledger.violation(id, order));
    }
  }
  for (const id of missing) violations.push(ledger.violation(id, undefined));
  return violations.filter((violation) => violation !== undefined);
}

async function accountViolations(
  store: Store,
  { accounts, keys, bans }: AcknowledgedState,
): Promise<readonly string[]> {
  const kept = new Set<string>();
  const violations: string[] = [];
  for (const id of accounts) {
    const account = await store.accounts.find(id);
    if (account === undefined) violations.push(`account ${id}: lost`);
    for (const key of account?.keys ?? []) if (isActive(key, Date.now())) kept.add(key.hash);
  }
  for (const key of keys) if (!kept.has(hashKey(key))) violations.push("a key that was shown is not active");
  for (const [key, until] of bans) {
    const { accountId = "", hash } = parseKey(key) ?? {};
    const account = await store.accounts.find(accountId);
    const id = account?.keys.find((known) => known.hash === hash)?.id ?? "";
    const kept = account?.rejections[id]?.bannedUntil ?? 0;
    if (Math.ceil(kept / 1_000) < until)
      violations.push(`an acknowledged ban until ${until} is stored until ${kept}`);
  }
  return violations;
}
