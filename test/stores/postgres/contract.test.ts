import { afterAll, beforeAll, describe } from "vitest";
import { createPostgresStore } from "../../../lib/stores/postgres/index.ts";
import { testContract } from "../test-contract.ts";
import { type Pglite, startPglite } from "./pglite.ts";

describe("the PostgreSQL store fulfils the store contract", () => {
  let server: Pglite;
  let cases = 0;
  beforeAll(async () => {
    server = await startPglite();
  });
  afterAll(() => server.database.close());

  testContract("PGlite", () => {
    const { pool, database, interrupt, loseResponse } = server;
    const schema = `contract_${cases++}`;
    return {
      store: createPostgresStore({ pool, schema }),
      openAnother: () => createPostgresStore({ pool, schema }),
      interrupt: async () => interrupt(),
      loseResponse,
      remove: () => database.exec(`DROP SCHEMA IF EXISTS ${schema} CASCADE`),
    };
  });
});
