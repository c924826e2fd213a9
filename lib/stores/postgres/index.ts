/**
 * The store on PostgreSQL, version 14 or later: any number of processes, on the database that a team already runs.
 *
 * ```ts
 * const { orders, accounts, close } = createPostgresStore({ connectionString: process.env.DATABASE_URL });
 * ```
 *
 * It keeps its tables in a schema of its own, and creates them with the first call if the role may. Orders, accounts and
 * keys are on disk when a call resolves. While the server is down, does not respond or can only be read, calls reject
 * with `StoreUnavailableError` within 5 seconds, and succeed again without a restart.
 *
 * @module store-orders/postgres
 */
import { assertOptions } from "../../core/errors.ts";
import { CALL_TIMEOUT_MS } from "../../core/time.ts";
import { type Store, withReadOnlyMethods } from "../store.ts";
import { createAccountStore } from "./accounts.ts";
import { type Database, migrateTables, openDatabase } from "./database.ts";
import { createOrderStore, type PostgresOrderStore } from "./orders.ts";
import { createOutbox } from "./outbox.ts";
import { openPool, POOL_OPTIONS, type PostgresServer } from "./pool.ts";
import type { MigrationResult } from "./schema.ts";

export type { AccountStore } from "../../accounts/account-store.ts";
export {
  InvalidInputError,
  isInvalidInput,
  isStoreUnavailable,
  NewerSchemaError,
  StoreUnavailableError,
} from "../../core/errors.ts";
export type { OrderStore, Outbox } from "../../orders/order-store.ts";
export type { Store } from "../store.ts";
export type { PooledConnection, PostgresConnection, PostgresPool, PostgresQuery } from "./connection.ts";
export type { PostgresNotice } from "./errors.ts";
export type { PostgresOrderStore } from "./orders.ts";
export type { PostgresServer } from "./pool.ts";
export { type MigrationResult, postgresMigrationSql } from "./schema.ts";

/** Options of `createPostgresStore`. */
export type PostgresStoreOptions = PostgresServer & {
  /** The schema that has the tables. @default `?schema=` of the connection string, or store_orders */
  readonly schema?: string | undefined;
  /** True if missing tables are an error instead of being created, as they are once the store has found them. @default false */
  readonly existing?: boolean | undefined;
};

/** A store on PostgreSQL. */
export interface PostgresStore extends Store {
  readonly orders: PostgresOrderStore;
  /** The connections of the pool that are busy or idle, and the calls that wait for one. */
  connections(): { readonly busy: number; readonly idle: number; readonly waiting: number };
}

/** Opens the store. Nothing is sent before the first call. Throws `InvalidInputError` for options that cannot be used. */
export function createPostgresStore(given: PostgresStoreOptions): PostgresStore {
  assertOptions(given, [...POOL_OPTIONS, "existing"]);
  const { existing = false, ...options } = given;
  const { pool, opened, schema, close } = openPool(options);
  const database = openDatabase(pool, { schema, existing });
  let closing: Promise<void> | undefined;
  const orders = withReadOnlyMethods(createOrderStore(database));
  return {
    orders,
    accounts: { ...createAccountStore(database), performsOn: orders },
    outbox: createOutbox(database),
    check: () => check(database),
    connections() {
      const { totalCount: total = 0, idleCount: idle = 0, waitingCount: waiting = 0 } = opened() ?? {};
      return { busy: total - idle, idle, waiting };
    },
    close() {
      closing ??= database.close().then(close);
      return closing;
    },
  };
}

/** Options of `migratePostgres`. */
export type PostgresMigrationOptions = PostgresServer & {
  /** @default `?schema=` of the connection string, or store_orders */
  readonly schema?: string | undefined;
  /** True if tables of an older version are an error. @default false */
  readonly onlyIfEmpty?: boolean | undefined;
  /** Called once if the migration has to wait for other sessions, with how to find them. Requests go on meanwhile. */
  readonly onBlocked?: ((message: string) => void) | undefined;
};

/** Creates or migrates the tables in one transaction. Rejects if it cannot lock them within ten minutes. */
export async function migratePostgres(given: PostgresMigrationOptions): Promise<MigrationResult> {
  assertOptions(given, [...POOL_OPTIONS, "onlyIfEmpty", "onBlocked"]);
  const { onlyIfEmpty = false, onBlocked, ...options } = given;
  const { pool, schema, close } = openPool(options);
  try {
    const deadline = performance.now() + (onlyIfEmpty ? CALL_TIMEOUT_MS : MIGRATION_TIMEOUT_MS);
    return await migrateTables(pool, { schema, onlyIfEmpty, deadline, onBlocked });
  } finally {
    await close();
  }
}

/** It can read a whole table. */
const MIGRATION_TIMEOUT_MS = 10 * 60_000;

/** Writes a row as it is, and needs every table and the permissions to change them. */
async function check({ schema, change }: Database): Promise<void> {
  const tables = ["orders", "accounts", "api_keys", "outbox"].map((table) => `${schema}.${table}`);
  await change({
    durable: false,
    first: [
      { text: `UPDATE ${schema}.settings SET value = value WHERE name = 'schema_version' RETURNING name` },
      { text: `SELECT 1 FROM ${tables.join(", ")} WHERE false FOR NO KEY UPDATE` },
    ],
    decide: () => ({ result: () => undefined }),
  });
}
