import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createAccounts, type IssuedKey } from "../../lib/accounts/accounts.ts";
import type { StoredOrder } from "../../lib/orders/lifecycle.ts";
import type { PlanAssignment } from "../../lib/plans/plan-limits.ts";
import { createSqliteStore } from "../../lib/stores/sqlite/index.ts";
import type { Store } from "../../lib/stores/store.ts";

/** A shop in two databases with the same orders, accounts and keys: ours, and one as the peers keep it. */
export interface Shop {
  readonly ours: string;
  readonly peers: string;
  /** Keys of enterprise accounts, one each. */
  readonly keys: readonly string[];
  /** The key of an account on the free plan. */
  readonly freeKey: string;
}

/** The identifier before the first order's. */
export const FIRST_ID = 1_000_000;

/** Small enough that a batch is one transaction of some milliseconds. */
const BATCH = 1_000;
const DAY = 86_400_000;
const NEVER_BITES = 1_000_000_000;

/** An order with every field; 97 bytes as JSON. All are pending, so that each can be cancelled once. */
export function orderAt(index: number): StoredOrder {
  const id = FIRST_ID + 1 + index;
  const shipDate = new Date(Date.UTC(2026, 0, 1) + (index % 365) * DAY).toISOString();
  const record = { id: BigInt(id), petId: BigInt(10_000 + (index % 80_000)), quantity: 1 + (index % 9) };
  return { record: { ...record, shipDate, complete: index % 3 === 0 }, status: "pending" };
}

/** Makes a shop in a folder. */
export async function makeShop(folder: string, orders: number, accounts = 1): Promise<Shop> {
  mkdirSync(folder, { recursive: true });
  const [ours, peers] = [join(folder, "ours.db"), join(folder, "peers.db")];
  const store = createSqliteStore({ path: ours });
  await placeOrders(store, orders);
  const keys: string[] = [];
  for (let account = 0; account < accounts; account++) {
    keys.push(await openAccount(store, `shop-${account}`, ENTERPRISE));
  }
  const freeKey = await openAccount(store, "free", { plan: "free" });
  await store.close();
  translate(ours, peers);
  return { ours, peers, keys, freeKey };
}

/** The most that an enterprise account can have. */
export const ENTERPRISE: PlanAssignment = {
  plan: "enterprise",
  customLimits: { perMinute: 60_000, perDay: NEVER_BITES },
};

/** Opens an account with one key. */
export async function openAccount(store: Store, id: string, plan: PlanAssignment): Promise<string> {
  const accounts = createAccounts({ store: store.accounts, environment: "test" });
  await accounts.create(id, plan);
  return ((await accounts.issueKey(id)) as IssuedKey).key;
}

async function placeOrders({ orders }: Store, count: number): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    const size = Math.min(BATCH, count - from);
    await orders.place(Array.from({ length: size }, (_, index) => orderAt(from + index)));
  }
}

/** Copies a shop of ours into tables as one would make them who writes the service by hand. */
function translate(ours: string, peers: string): void {
  const db = new DatabaseSync(peers);
  db.prepare("ATTACH ? AS ours").run(ours);
  db.exec(`
    PRAGMA journal_mode = WAL;
    CREATE TABLE orders (
      id INTEGER PRIMARY KEY, status TEXT NOT NULL, petId INTEGER, quantity INTEGER, shipDate TEXT, complete INTEGER
    );
    INSERT INTO orders SELECT id, status, record ->> 'petId', record ->> 'quantity', record ->> 'shipDate',
      record ->> 'complete' FROM ours.orders;
    CREATE TABLE keys (
      hash TEXT PRIMARY KEY, account TEXT NOT NULL, per_minute INTEGER NOT NULL, per_day INTEGER NOT NULL
    ) WITHOUT ROWID;
    INSERT INTO keys SELECT hash, account, iif(plan = 'free', 60, ${NEVER_BITES}), iif(plan = 'free', 1000, ${NEVER_BITES})
      FROM ours.api_keys k JOIN ours.accounts a ON a.id = k.account;`);
  db.close();
}

/** A copy of a shop that a server may write to. */
export function copyOf(shop: Shop, folder: string): Shop {
  mkdirSync(folder, { recursive: true });
  const [ours, peers] = [join(folder, "ours.db"), join(folder, "peers.db")];
  for (const [from, to] of [
    [shop.ours, ours],
    [shop.peers, peers],
  ] as const) {
    // What a server left in its log belongs to the copy before this one.
    for (const rest of ["-wal", "-shm"]) rmSync(to + rest, { force: true });
    cpSync(from, to);
  }
  return { ...shop, ours, peers };
}
