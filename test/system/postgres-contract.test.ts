import { Pool } from "pg";
import { afterAll, beforeAll, describe } from "vitest";
import { createPostgresStore } from "../../lib/stores/postgres/index.ts";
import type { Store } from "../../lib/stores/store.ts";
import { testContract } from "../stores/test-contract.ts";
import { startPgbouncer } from "../support/postgres/pgbouncer.ts";
import { type PostgresProxy, startPostgresProxy } from "../support/postgres/proxy.ts";
import { type PostgresServer, skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";
import { openStore } from "../support/store-address.ts";
import { findProgram } from "./find-program.ts";

describe.skipIf(skipsWithoutPostgres("PostgreSQL contract"))("on a PostgreSQL server", () => {
  let server: PostgresServer;
  let proxy: PostgresProxy;
  let schemas = 0;
  beforeAll(async () => {
    server = await startPostgres();
    proxy = await startPostgresProxy(server.port);
  });
  afterAll(async () => {
    await proxy.close();
    await server.remove();
  });

  const damageIn = (schema: string) => (id: bigint, part: "record" | "history") =>
    server.sql(
      `UPDATE ${schema}.orders SET ${part} = '${part === "record" ? '{"id":' : "?;"}' WHERE id = ${id}`,
    );

  /** Tests a way to open the store. Each case has a schema of its own. */
  function testOpening(
    name: string,
    open: (url: string, schema: string) => Store | Promise<Store>,
    urlOf = () => server.url(),
  ): void {
    testContract(name, async (needs) => {
      const schema = `case_${schemas++}`;
      const isFaulty = needs === "interrupt" || needs === "loseResponse";
      const openAnother = () => open(isFaulty ? proxy.url(urlOf()) : urlOf(), schema);
      return {
        store: await openAnother(),
        openAnother,
        async interrupt() {
          proxy.inject("refuse");
          return () => proxy.inject("none");
        },
        loseResponse: () => proxy.inject("lose response"),
        damage: damageIn(schema),
      };
    });
  }

  describe("the store fulfils the contract", () => {
    testOpening("PostgreSQL", (connectionString, schema) =>
      openStore({ kind: "postgres", connectionString, schema }),
    );
  });

  describe("the store fulfils the contract with a pool of the program, which sends one statement after another", () => {
    testOpening("a pool without pipelining", (connectionString, schema) => {
      const pool = new Pool({ connectionString, max: 4 });
      pool.on("error", () => {});
      const store = createPostgresStore({ pool, schema });
      return { ...store, close: async () => pool.end() };
    });
  });

  const pgbouncer = findProgram("pgbouncer");
  describe.skipIf(pgbouncer === undefined)(
    "the store fulfils the contract behind PgBouncer in transaction mode",
    () => {
      let pooler: Awaited<ReturnType<typeof startPgbouncer>>;
      beforeAll(async () => {
        pooler = await startPgbouncer(pgbouncer ?? "", server);
      });
      afterAll(() => pooler.stop());
      const skipped = "PgBouncer is between the proxy and the server; the server itself runs these cases";
      testContract(
        "PgBouncer",
        async () => {
          const schema = `pooled_${schemas++}`;
          const open = () => openStore({ kind: "postgres", connectionString: pooler.url(), schema });
          return { store: await open(), openAnother: open, damage: damageIn(schema) };
        },
        { interrupt: skipped, loseResponse: skipped },
      );
    },
  );
});
