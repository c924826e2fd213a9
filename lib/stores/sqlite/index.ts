/**
 * The embedded store: one file, any number of processes, no server and no package to install.
 *
 * ```ts
 * const { orders, accounts, close } = createSqliteStore({ path: ".data/store-orders.db" });
 * ```
 *
 * Orders, accounts and keys are on disk when a call resolves (write-ahead log, `synchronous=FULL`). If the file is
 * locked for long, full, damaged, moved, replaced or migrated by a newer version, writes reject with
 * `StoreUnavailableError` and change nothing. Once the file is in order, they succeed again without a restart. A file
 * that was moved or replaced is noticed by the next durable write, and by an admission within 100 ms. Reads do not look.
 *
 * @module store-orders/sqlite
 */
import type { Store } from "../store.ts";
import { sqliteAccounts } from "./accounts.ts";
import { openConnection } from "./connection.ts";
import { toStoreError } from "./errors.ts";
import { sqliteOrders } from "./orders.ts";
import { type OpenedStore, withReconnect } from "./reconnect.ts";

export { isNewerSchema, isStoreUnavailable, NewerSchemaError, StoreUnavailableError } from "../../errors.ts";
export type { Store } from "../store.ts";
export { type BackupResult, backUpSqlite } from "./backup.ts";

/**
 * Opens a database file, and creates it if it does not exist. Throws `StoreUnavailableError` if it cannot be opened,
 * and `NewerSchemaError` if a newer version of this package wrote it.
 */
export function createSqliteStore({ path }: { readonly path: string }): Store {
  const open = (options?: { existing: boolean }): OpenedStore => {
    const connection = openConnection(path, options);
    const { db, file, close } = connection;
    try {
      return { orders: sqliteOrders(connection), accounts: sqliteAccounts(connection), file, close };
    } catch (error) {
      db.close();
      throw toStoreError(error);
    }
  };
  return withReconnect(open(), () => open({ existing: true }));
}
