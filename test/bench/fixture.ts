import { generateKey, keyIdOf } from "../../lib/accounts/api-key.ts";
import { hashKey } from "../../lib/accounts/hash-key.ts";
import type { StoredOrder } from "../../lib/orders/lifecycle.ts";
import type { PlanAssignment } from "../../lib/plans/plan-limits.ts";
import type { Store } from "../../lib/stores/store.ts";

export const FIRST_ID = 1_000_000;

/** A batch is one transaction of a few milliseconds. */
const BATCH = 1_000;
const DAY = 86_400_000;
/** A limit that no round reaches. */
export const OUT_OF_REACH = 1_000_000_000;

/** An order with every field, 97 bytes as JSON. All are pending, so each can be cancelled once. */
export function orderAt(index: number): StoredOrder {
  const id = FIRST_ID + 1 + index;
  const shipDate = new Date(Date.UTC(2026, 0, 1) + (index % 365) * DAY).toISOString();
  const record = { id: BigInt(id), petId: BigInt(10_000 + (index % 80_000)), quantity: 1 + (index % 9) };
  return { record: { ...record, shipDate, complete: index % 3 === 0 }, status: "pending" };
}

/** The highest limits of an enterprise account. */
export const ENTERPRISE: PlanAssignment = {
  plan: "enterprise",
  customLimits: { perMinute: 60_000, perDay: OUT_OF_REACH },
};

export async function createAccountWithKey(store: Store, id: string, plan: PlanAssignment): Promise<string> {
  const key = generateKey("test", id);
  await createWithKeys(store, id, plan, [key]);
  return key;
}

/** Creates an account by the store's own method alone, which the store of an earlier commit has too. */
function createWithKeys(store: Store, id: string, plan: PlanAssignment, keys: readonly string[]) {
  const hashes = keys.map((key) => hashKey(key));
  const stored = hashes.map((hash) => ({ id: keyIdOf(id, hash), hash, createdAt: 0 }));
  return store.accounts.create({ id, ...plan, keys: stored });
}

/** The most keys that requests use in turn: they are arguments of the load generator. */
const MAX_USED_KEYS = 500;

/** Creates accounts, many in one transaction, and returns one key of each, or of some if there are very many. */
export async function createShops(store: Store, accounts: number, keysPerAccount: number): Promise<string[]> {
  const used: string[] = [];
  const step = Math.max(1, Math.ceil(accounts / MAX_USED_KEYS));
  const create = (account: number) => {
    const id = `shop-${account}`;
    const keys = Array.from({ length: keysPerAccount }, () => generateKey("test", id));
    if (account % step === 0) used.push(keys[0] ?? "");
    return createWithKeys(store, id, ENTERPRISE, keys);
  };
  for (let from = 0; from < accounts; from += BATCH) {
    const size = Math.min(BATCH, accounts - from);
    await Promise.all(Array.from({ length: size }, (_, index) => create(from + index)));
  }
  return used;
}

export async function placeOrders({ orders }: Store, count: number): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    const size = Math.min(BATCH, count - from);
    await orders.place(Array.from({ length: size }, (_, index) => orderAt(from + index)));
  }
}
