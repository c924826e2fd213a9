import { chmodSync } from "node:fs";
import { dirname } from "node:path";
import { createPostgresStore } from "../../../lib/stores/postgres/index.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres/server.ts";
import { createShops, OUT_OF_REACH, placeOrders } from "../fixture.ts";
import { ours, POSTGRES_PEERS, type Program, postgresPeer } from "./server-process.ts";

/** Candidates on a PostgreSQL server, which have the same orders, accounts and keys. */
export interface PostgresBench {
  /** Keys of enterprise accounts, one each. */
  readonly keys: readonly string[];
  /** Returns the address of a fresh copy of the database. Nothing uses the one before it any more. */
  freshDatabase(): Promise<string>;
  /** Returns the candidates on a fresh copy of the database. */
  freshPrograms(): Promise<Readonly<Record<string, Program>>>;
  remove(): Promise<void>;
}

/** A peer whose counts do not wait for the disk. Reported, but not compared. */
export const RELAXED = "3 statements, counts relaxed";

const TEMPLATE = "filled";
const COPY = "copied";

/** Starts a server with files in `folder`, as Debian configures it, and fills a database. */
export async function startPostgresBench(
  folder: string,
  orders: number,
  accounts = 1,
): Promise<PostgresBench> {
  // The server runs as another user, who has to reach its files.
  chmodSync(dirname(folder), 0o711);
  const server = await startPostgres({ folder, settings: { fsync: "on", shared_buffers: "128MB" } });
  await server.sql(`CREATE DATABASE ${TEMPLATE}`);
  const store = createPostgresStore({ connectionString: server.url(TEMPLATE) });
  await placeOrders(store, orders);
  const keys = await createShops(store, accounts, 1);
  await store.close();
  await copyToPeerSchema(server);
  async function freshDatabase(): Promise<string> {
    await server.sql(`DROP DATABASE IF EXISTS ${COPY} WITH (FORCE)`);
    await server.sql(`CREATE DATABASE ${COPY} TEMPLATE ${TEMPLATE}`);
    await server.sql("VACUUM ANALYZE", COPY);
    await server.sql("CHECKPOINT");
    return server.url(COPY);
  }

  return {
    keys,
    freshDatabase,
    async freshPrograms() {
      const url = await freshDatabase();
      return {
        ours: ours({ postgres: url, clockStep: 2 }),
        ...Object.fromEntries(POSTGRES_PEERS.map((name) => [name, postgresPeer(name, url)])),
        [RELAXED]: postgresPeer("3 statements", url, "relaxed"),
      };
    },
    remove: server.remove,
  };
}

/** Copies our tables into those of a service written by hand, in the same database. */
async function copyToPeerSchema(server: PostgresServer): Promise<void> {
  await server.sql(
    `CREATE SCHEMA peers;
     CREATE TABLE peers.orders (
       id bigint PRIMARY KEY, status text NOT NULL, pet_id bigint, quantity integer, ship_date text, complete boolean
     ) WITH (fillfactor = 90);
     INSERT INTO peers.orders SELECT id, status, (record::json ->> 'petId')::bigint, (record::json ->> 'quantity')::integer,
       record::json ->> 'shipDate', (record::json ->> 'complete')::boolean FROM store_orders.orders;
     CREATE TABLE peers.keys (hash text PRIMARY KEY, account text NOT NULL, per_minute integer NOT NULL, per_day integer NOT NULL);
     INSERT INTO peers.keys SELECT hash, account, ${OUT_OF_REACH}, ${OUT_OF_REACH} FROM store_orders.api_keys;
     CREATE TABLE peers.windows (
       account text PRIMARY KEY, minute bigint NOT NULL, minute_count integer NOT NULL, day bigint NOT NULL,
       day_count integer NOT NULL
     ) WITH (fillfactor = 50)`,
    TEMPLATE,
  );
}
