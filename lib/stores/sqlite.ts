/**
 * The embedded store: one file, any number of processes, nothing to install.
 *
 * ```ts
 * const { orders, accounts, close } = createSqliteStore({ path: ".data/store-orders.db" });
 * ```
 *
 * Orders, accounts and keys are on disk when a call resolves (write-ahead log, `synchronous=FULL`).
 *
 * @module store-orders/sqlite
 */
import { sqliteAccounts } from "./sqlite-accounts.ts";
import { openConnection } from "./sqlite-connection.ts";
import { sqliteOrders } from "./sqlite-orders.ts";
import type { Store } from "./store.ts";

/**
 * Opens a database, which is made where there is none. Throws `StoreUnavailableError` where it cannot be opened,
 * `NewerSchemaError` where a newer version wrote it.
 */
export function createSqliteStore({ path }: { readonly path: string }): Store {
  const connection = openConnection(path);
  return { orders: sqliteOrders(connection), accounts: sqliteAccounts(connection), close: connection.close };
}
