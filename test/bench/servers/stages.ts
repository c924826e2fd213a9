import { chmodSync, cpSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { createDynamodbStore, createDynamodbTables } from "../../../lib/stores/dynamodb/index.ts";
import { createPostgresStore } from "../../../lib/stores/postgres/index.ts";
import { createSqliteStore } from "../../../lib/stores/sqlite/index.ts";
import type { Store } from "../../../lib/stores/store.ts";
import { clientFor, EMULATED, startEmulator } from "../../support/dynamodb/emulator.ts";
import { fillOrders } from "../../support/dynamodb/fill.ts";
import { findPostgres, startPostgres } from "../../support/postgres/server.ts";
import {
  createAccountWithKey,
  createShops,
  ENTERPRISE,
  OUT_OF_REACH,
  orderAt,
  placeOrders,
} from "../fixture.ts";
import { type Candidates, EARLIER, onDynamodb, type SqliteFiles } from "./candidates.ts";
import { sourcesOf } from "./sources.ts";

export interface Bench {
  /** The job's own folder, on the measured disk. */
  readonly folder: string;
  readonly rounds: number;
  /** Smaller data: checks that everything works, with rough figures. */
  readonly quick: boolean;
  log(line: string): void;
}

export interface Contents {
  readonly orders: number;
  /** @default 1 */
  readonly accounts?: number;
}

export interface Stage {
  readonly keys: readonly string[];
  /** The key of an account on the free plan, of 60 requests a minute. In SQLite only. */
  readonly freeKey?: string;
  /** Returns the candidates on a fresh copy. Nothing uses the one before it any more. */
  candidates(): Promise<Candidates>;
  remove(): Promise<void>;
}

export type OpenStage = (folder: string, contents: Contents) => Promise<Stage>;

/** SQLite databases: ours, and one in the schema of a service written by hand. */
export function onSqlite(candidatesOn: (files: SqliteFiles) => Candidates): OpenStage {
  return async (folder, { orders, accounts = 1 }) => {
    const filesIn = (place: string) => ({
      ours: join(place, "ours.db"),
      earlier: join(place, "earlier.db"),
      peers: join(place, "peers.db"),
    });
    const [filled, copied] = [filesIn(folder), filesIn(join(folder, "copy"))];
    // The layout may have changed since. The current version migrates it.
    const { createSqliteStore: createEarlierStore } = await import(
      pathToFileURL(join(sourcesOf(EARLIER), "lib/stores/sqlite/index.ts")).href
    );
    const store: Store = createEarlierStore({ path: filled.earlier });
    await placeOrders(store, orders);
    const keys = await createShops(store, accounts, 1);
    const freeKey = await createAccountWithKey(store, "free", { plan: "free" });
    await store.close();
    cpSync(filled.earlier, filled.ours);
    await createSqliteStore({ path: filled.ours }).close();
    copyToPeerSchema(filled);
    return {
      keys,
      freeKey,
      async candidates() {
        // The log that a server left behind belongs to the previous copy.
        rmSync(join(folder, "copy"), { recursive: true, force: true });
        mkdirSync(join(folder, "copy"));
        for (const name of ["ours", "earlier", "peers"] as const) cpSync(filled[name], copied[name]);
        return candidatesOn(copied);
      },
      remove: async () => {},
    };
  };
}

function copyToPeerSchema({ ours, peers }: SqliteFiles): void {
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
    INSERT INTO keys SELECT hash, account, iif(plan = 'free', 60, ${OUT_OF_REACH}), iif(plan = 'free', 1000, ${OUT_OF_REACH})
      FROM ours.api_keys k JOIN ours.accounts a ON a.id = k.account;
    CREATE TABLE windows (
      account TEXT PRIMARY KEY, minute INTEGER NOT NULL, minute_count INTEGER NOT NULL, day INTEGER NOT NULL,
      day_count INTEGER NOT NULL
    ) WITHOUT ROWID;`);
  db.close();
}

/** A PostgreSQL server, as Debian configures it, with our tables and those of a service written by hand. */
export function onPostgres(candidatesOn: (url: string) => Candidates): OpenStage {
  return async (folder, { orders, accounts = 1 }) => {
    if (findPostgres() === undefined)
      throw new Error("There is no PostgreSQL. Install it with: apt-get install postgresql");
    // The server runs as another user, who has to reach its files.
    chmodSync(dirname(folder), 0o711);
    const server = await startPostgres({ folder, settings: { fsync: "on", shared_buffers: "128MB" } });
    await server.sql("CREATE DATABASE filled");
    const store = createPostgresStore({ connectionString: server.url("filled") });
    await placeOrders(store, orders);
    const keys = await createShops(store, accounts, 1);
    await store.close();
    await server.sql(POSTGRES_PEER_SCHEMA, "filled");
    return {
      keys,
      async candidates() {
        await server.sql("DROP DATABASE IF EXISTS copied WITH (FORCE)");
        await server.sql("CREATE DATABASE copied TEMPLATE filled");
        await server.sql("VACUUM ANALYZE", "copied");
        await server.sql("CHECKPOINT");
        return candidatesOn(server.url("copied"));
      },
      remove: server.remove,
    };
  };
}

const POSTGRES_PEER_SCHEMA = `
  CREATE SCHEMA peers;
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
  ) WITH (fillfactor = 50)`;

/** A DynamoDB emulator, in memory. */
export const onEmulator: OpenStage = async (_folder, { orders }) => {
  const { key, environment, stop } = await startFilledEmulator(orders);
  return { keys: [key], candidates: async () => onDynamodb(PREFIX, environment), remove: stop };
};

export const PREFIX = "bench";

/** Starts a DynamoDB emulator with orders and an account. `environment` is that of a process that uses it. */
export async function startFilledEmulator(orders: number) {
  const { endpoint, stop } = await startEmulator("all-old");
  const client = clientFor(endpoint);
  await createDynamodbTables({ prefix: PREFIX, client });
  await fillOrders(client, PREFIX, orders, orderAt);
  const key = await createAccountWithKey(createDynamodbStore({ prefix: PREFIX, client }), "shop", ENTERPRISE);
  client.destroy();
  const environment = {
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: EMULATED.region,
    AWS_ACCESS_KEY_ID: EMULATED.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: EMULATED.credentials.secretAccessKey,
  };
  return { key, environment, stop };
}
