import { afterAll, beforeAll, describe } from "vitest";
import { testProcesses } from "../stores/test-processes.ts";
import { type PostgresServer, skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";

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
});
