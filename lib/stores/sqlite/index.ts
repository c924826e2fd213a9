/**
 * The embedded store: one file, any number of processes, nothing to install.
 *
 * ```ts
 * const { orders, accounts, close } = createSqliteStore({ path: ".data/store-orders.db" });
 * ```
 *
 * Orders, accounts and keys are on disk when a call resolves (write-ahead log, `synchronous=FULL`). A file that is
 * locked for long, full, damaged, moved, replaced or migrated by a newer program makes calls reject, with nothing done;
 * once it is in order again they resolve, with no restart.
 *
 * @module store-orders/sqlite
 */

import type { Store } from "../store.ts";
import { sqliteAccounts } from "./accounts.ts";
import { openConnection } from "./connection.ts";
import { toStoreError } from "./errors.ts";
import { sqliteOrders } from "./orders.ts";
import { type OpenedStore, withReconnect } from "./reconnect.ts";

/**
 * Opens a database, which is made where there is none. Throws `StoreUnavailableError` where it cannot be opened,
 * `NewerSchemaError` where a newer version wrote it.
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
