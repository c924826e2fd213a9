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

import { assertOptions, invalidInput, StoreUnavailableError } from "../../core/errors.ts";
import { CALL_TIMEOUT_MS } from "../../core/time.ts";
import { type Store, withReadOnlyMethods } from "../store.ts";
import { createAccountStore } from "./accounts.ts";
import { ownPools, type PostgresPool } from "./connection.ts";
import { readConnectionString, validatePoolSize } from "./connection-string.ts";
import { type Database, migrateTables, openDatabase } from "./database.ts";
import { createOrderStore, type PostgresOrderStore } from "./orders.ts";
import { createOutbox } from "./outbox.ts";
import { DEFAULT_SCHEMA, type MigrationResult } from "./schema.ts";

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
export { type MigrationResult, postgresMigrationSql } from "./schema.ts";

/** The server: a pool of the program, or a connection string (`postgres://user:password@host:5432/database`). */
export type PostgresServer =
  | {
      /** A `Pool` of `pg`, which is not closed. With `pipeline: true` a call takes two round trips, else one a statement. */
      readonly pool: PostgresPool;
      readonly connectionString?: undefined;
      readonly poolSize?: undefined;
    }
  | {
      readonly connectionString: string;
      /** The most connections that are open at once. @default 10 */
      readonly poolSize?: number | undefined;
      readonly pool?: undefined;
    };

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

const POOL_OPTIONS = ["connectionString", "poolSize", "pool", "schema"];

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

/** One is busy with admissions; the others read, or change one order. */
const DEFAULT_POOL_SIZE = 10;

function openPool({
  pool,
  connectionString: text,
  poolSize,
  schema: chosen,
}: PostgresServer & { readonly schema?: string | undefined }) {
  if ((pool === undefined) === (text === undefined))
    throw invalidInput("pool", "Give either a pool or a connectionString.");
  if (pool !== undefined) {
    if (typeof pool?.connect !== "function")
      throw invalidInput("pool", "Give a Pool of pg, or an object with its method connect().");
    if (poolSize !== undefined)
      throw invalidInput("poolSize", "A pool has a size of its own. Give poolSize with a connectionString.");
    return { pool, opened: () => pool, schema: chosen ?? DEFAULT_SCHEMA, close: async () => {} };
  }
  const { connectionString, schema = chosen ?? DEFAULT_SCHEMA } = readConnectionString(text);
  if (chosen !== undefined && chosen !== schema)
    throw invalidInput("schema", "The connectionString names another schema. Give one of them.");
  const max = poolSize === undefined ? DEFAULT_POOL_SIZE : poolSize;
  validatePoolSize(max);
  let opening: Promise<OwnPool> | undefined;
  let opened: OwnPool | undefined;
  const ownPool: PostgresPool = {
    async connect() {
      opening ??= createPool(connectionString, max);
      opened ??= await opening;
      return opened.connect();
    },
  };
  ownPools.add(ownPool);
  return {
    schema,
    pool: ownPool,
    opened: () => opened,
    close: async () => (await opening?.catch(() => undefined))?.end(),
  };
}

type OwnPool = PostgresPool & { end(): Promise<void> };

async function createPool(connectionString: string, max: number): Promise<OwnPool> {
  // Loaded here, so that a program with another driver needs no pg.
  const { Pool } = await import("pg").catch((cause: unknown) => {
    throw new StoreUnavailableError(NO_DRIVER, { cause, retryable: false });
  });
  const pool = new Pool({
    connectionString,
    max,
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: CALL_TIMEOUT_MS,
    fallback_application_name: "store-orders",
  });
  // An idle connection is lost when the server stops. The pool opens another one.
  pool.on("error", () => {});
  // The server can end a session in the moment in which the pool hands it over, and nobody else listens.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

const NO_DRIVER =
  "The driver cannot be loaded. Run 'npm install pg'. In a bundle of ES modules, leave pg external, or define require with " +
  "createRequire of node:module in a banner.";

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
