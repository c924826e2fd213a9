import { afterAll, beforeAll, describe } from "vitest";
import { testProcesses } from "../stores/test-processes.ts";
import { startPgbouncer } from "../support/postgres/pgbouncer.ts";
import { type PostgresServer, skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";
import { findProgram } from "./find-program.ts";

describe.skipIf(skipsWithoutPostgres("processes on PostgreSQL"))("processes on one PostgreSQL server", () => {
  let server: PostgresServer;
  let schemas = 0;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.remove());

  testProcesses(
    "PostgreSQL",
    () => ({ kind: "postgres", connectionString: server.url(), schema: `processes_${schemas++}` }),
    { races: 2_000 },
  );

  const pgbouncer = findProgram("pgbouncer");
  describe.skipIf(pgbouncer === undefined)("behind PgBouncer in transaction mode", () => {
    let pooler: Awaited<ReturnType<typeof startPgbouncer>>;
    beforeAll(async () => {
      pooler = await startPgbouncer(pgbouncer ?? "", server);
    });
    afterAll(() => pooler.stop());

    testProcesses(
      "PgBouncer",
      () => ({ kind: "postgres", connectionString: pooler.url(), schema: `pooled_${schemas++}` }),
      { races: 1_000 },
    );
  });
});
