import { invalidInput, StoreUnavailableError } from "../../core/errors.ts";
import { CALL_TIMEOUT_MS } from "../../core/time.ts";
import { ownPools, type PostgresPool } from "./connection.ts";
import { readConnectionString, validatePoolSize } from "./connection-string.ts";
import { DEFAULT_SCHEMA } from "./schema.ts";

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

export const POOL_OPTIONS = ["connectionString", "poolSize", "pool", "schema"];

/** One is busy with admissions; the others read, or change one order. */
const DEFAULT_POOL_SIZE = 10;

/** A pool of the program, or one that is opened with the first connection. */
export function openPool({
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
