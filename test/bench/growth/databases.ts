import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { orderToJson } from "../../../lib/orders/wire.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import { createAccountWithKey, createShops, ENTERPRISE, FIRST_ID, orderAt } from "../fixture.ts";

/** A database of our service, and keys of its accounts. */
export interface GrowthDatabase {
  readonly path: string;
  readonly keys: readonly string[];
  /** Of the file. */
  readonly megabytes: number;
}

/** The keys of each account. */
export const KEYS_PER_ACCOUNT = 20;

/** Returns the database with so many orders and one account. It is created once. */
export function databaseWithOrders(folder: string, orders: number): Promise<GrowthDatabase> {
  return createOnce(folder, `orders-${orders}`, async (path) => {
    const store = createSqliteStore({ path });
    const key = await createAccountWithKey(store, "shop", ENTERPRISE);
    await store.close();
    fillOrders(path, orders);
    return [key];
  });
}

/** Returns the database with so many accounts and orders. It is created once. */
export function databaseWithAccounts(
  folder: string,
  accounts: number,
  orders: number,
): Promise<GrowthDatabase> {
  return createOnce(folder, `accounts-${accounts}-${orders}`, async (path) => {
    const base = `accounts-${accounts}`;
    const withoutOrders = await createOnce(folder, base, async (basePath) => {
      const store = createSqliteStore({ path: basePath });
      const keys = await createShops(store, accounts, KEYS_PER_ACCOUNT);
      await store.close();
      return keys;
    });
    cpSync(withoutOrders.path, path);
    fillOrders(path, orders);
    return withoutOrders.keys;
  });
}

async function createOnce(
  folder: string,
  name: string,
  create: (path: string) => Promise<readonly string[]>,
): Promise<GrowthDatabase> {
  const path = join(folder, `${name}.db`);
  const keysPath = join(folder, `${name}.keys.json`);
  if (!existsSync(keysPath)) {
    mkdirSync(folder, { recursive: true });
    const keys = await create(`${path}.new`);
    renameSync(`${path}.new`, path);
    writeFileSync(keysPath, JSON.stringify(keys));
  }
  const keys = JSON.parse(readFileSync(keysPath, "utf8")) as readonly string[];
  return { path, keys, megabytes: statSync(path).size / 1e6 };
}

/** Makes orders pending that an earlier run has cancelled. */
export function restoreOrders({ path }: GrowthDatabase): void {
  const db = new DatabaseSync(path);
  db.exec("UPDATE orders SET status = 'pending' WHERE status <> 'pending'; PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
}

/** Forgets the requests of an earlier server, whose clock ran ahead, and its rejections. */
export function resetUsage({ path }: GrowthDatabase): void {
  const db = new DatabaseSync(path);
  db.exec(`UPDATE accounts SET minute_start = 0, day_start = 0;
    UPDATE api_keys SET banned_until = NULL, rejections_start = NULL, rejections_count = NULL
      WHERE banned_until IS NOT NULL OR rejections_start IS NOT NULL;
    PRAGMA wal_checkpoint(TRUNCATE)`);
  db.close();
}

/** Writes the orders of `orderAt` in one statement: ten million take half a minute. */
function fillOrders(path: string, orders: number): void {
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
  db.prepare(
    `INSERT INTO orders
     WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < $orders)
     SELECT $firstId + 1 + n, 'pending', printf(
       '{"id":%d,"petId":%d,"quantity":%d,"shipDate":"%sT00:00:00.000Z","complete":%s}', $firstId + 1 + n,
       10000 + n % 80000, 1 + n % 9, date('2026-01-01', (n % 365) || ' days'), iif(n % 3 = 0, 'true', 'false')),
       'p1763640000000,:import;'
     FROM numbers`,
  ).run({ orders, firstId: FIRST_ID });
  const last = orderAt(orders - 1).record;
  const written = db.prepare("SELECT record FROM orders WHERE id = ?").get(last.id)?.["record"];
  if (written !== orderToJson(last))
    throw new Error(`The last order is ${written} instead of ${orderToJson(last)}.`);
  db.exec("PRAGMA journal_mode = WAL");
  db.close();
}
