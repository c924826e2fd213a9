/**
 * The embedded store: one file, any number of processes, no server and no package to install.
 *
 * ```ts
 * const { orders, accounts, close } = createSqliteStore({ path: ".data/store-orders.db" });
 * ```
 *
 * If the file cannot be used, writes reject with `StoreUnavailableError` and change nothing. One that was moved or
 * replaced is noticed by the next durable write, and by an admission within 100 ms. Reads do not check.
 *
 * @module store-orders/sqlite
 */
import type { DatabaseSync } from "node:sqlite";
import { assertOptions, invalidInput } from "../../core/errors.ts";
import { type Store, withReadOnlyMethods } from "../store.ts";
import { accountStatements, createAccountStore } from "./accounts.ts";
import { admissionStatements } from "./admission.ts";
import { openDatabase } from "./database.ts";
import { createOrderStore, orderQueries, type SqliteOrderStore } from "./orders.ts";
import { createOutbox, outboxStatements } from "./outbox.ts";

export type { AccountStore } from "../../accounts/account-store.ts";
export {
  isNewerSchema,
  isStoreUnavailable,
  NewerSchemaError,
  StoreUnavailableError,
} from "../../core/errors.ts";
export type { OrderStore, Outbox } from "../../orders/order-store.ts";
export type { Store } from "../store.ts";
export { type BackupResult, backUpSqlite } from "./backup.ts";
export type { SqliteOrderStore } from "./orders.ts";

/** A store in a SQLite file. */
export interface SqliteStore extends Store {
  readonly orders: SqliteOrderStore;
}

/** Options of the SQLite store. */
export interface SqliteStoreOptions {
  /** The database file, or `:memory:`. */
  readonly path: string;
  /** True if a missing or empty database is an error instead of being created. @default false */
  readonly existing?: boolean | undefined;
  /** True to read a database that cannot be written, as on a read-only volume; every write rejects. @default false */
  readonly readOnly?: boolean | undefined;
}

/** Creates a missing file. Throws `StoreUnavailableError`, and `NewerSchemaError` if a newer version wrote the file. */
export function createSqliteStore(options: SqliteStoreOptions): SqliteStore {
  assertOptions(options, ["path", "existing", "readOnly"]);
  const { path, existing = false, readOnly = false } = options;
  if (typeof path !== "string" || path === "")
    throw invalidInput("path", "Give the path of a file, or :memory:.");
  const prepare = (db: DatabaseSync) => ({
    orders: orderQueries(db),
    outbox: outboxStatements(db),
    accounts: accountStatements(db),
    admission: admissionStatements(db),
  });
  const database = openDatabase(path, prepare, { existing, readOnly });
  const { check, close } = database;
  const orders = withReadOnlyMethods(createOrderStore(database));
  return {
    orders,
    accounts: { ...createAccountStore(database), isLocal: true, performsOn: orders },
    outbox: createOutbox(database),
    check,
    close,
  };
}
