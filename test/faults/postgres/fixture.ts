/** A database on a PostgreSQL server, and the service over it in its own process, as a role that may change only rows. */

import { startPostgresProxy } from "../../support/postgres/proxy.ts";
import type { PostgresServer } from "../../support/postgres/server.ts";
import { openStore, type StoreAddress } from "../../support/store-address.ts";
import { createRequester } from "../requester.ts";
import { fillStore, startService } from "../service.ts";

let databases = 0;

/** Creates a database with orders, and starts the service over it. */
export async function servePostgres(server: PostgresServer, orders: number) {
  const database = `orders_${databases++}`;
  const role = `service_of_${database}`;
  /** Runs SQL in the database, as the administrator. */
  const sql = (text: string) => server.sql(text, database);
  await server.sql(`CREATE DATABASE ${database}`);
  await server.sql(`CREATE ROLE ${role} LOGIN`);
  const direct: StoreAddress = { kind: "postgres", connectionString: server.url(database) };
  const key = await fillStore(direct, orders);
  await sql(`GRANT USAGE ON SCHEMA store_orders TO ${role}`);
  await sql(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA store_orders TO ${role}`);
  const proxy = await startPostgresProxy(server.port);
  const url = Object.assign(new URL(proxy.url(server.url(database))), { username: role }).href;
  const service = await startService({ kind: "postgres", connectionString: url });
  // Instances of the store as the administrator and past the proxy, and exactly as the service has it.
  const [store, asRole] = [
    await openStore(direct),
    await openStore({ kind: "postgres", connectionString: url }),
  ];
  return {
    ...{ server, process: service.process, database, role, proxy, store, asRole, sql, key },
    send: createRequester(service.url, key),
    async endSessions() {
      await server.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`);
    },
    async [Symbol.asyncDispose]() {
      await service.stop();
      await asRole.close();
      await proxy.close();
      await store.close();
    },
  };
}

export type ServedPostgres = Awaited<ReturnType<typeof servePostgres>>;
