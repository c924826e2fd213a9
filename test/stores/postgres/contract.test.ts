import { beforeAll, describe, test } from "vitest";
import { createPostgresStore, migratePostgres } from "../../../lib/stores/postgres/index.ts";
import { expectKeysOfOneAccount } from "../key-of-another.ts";
import { testContract } from "../test-contract.ts";
import { type Pglite, startPglite } from "./pglite.ts";

const schema = "contract";
/** Leaves the tables, because creating them takes PGlite far longer, and deletes their few rows, which is faster than truncating. */
const EMPTY = `SET search_path = ${schema};
  DELETE FROM outbox; DELETE FROM api_keys; DELETE FROM accounts; DELETE FROM orders;
  DELETE FROM settings WHERE name <> 'schema_version';
  DROP TRIGGER IF EXISTS outbox_placed ON orders;
  DROP TRIGGER IF EXISTS outbox_changed ON orders;
  RESET search_path`;

describe("the PostgreSQL store fulfils the store contract", () => {
  let server: Pglite;
  beforeAll(async () => {
    server = await startPglite();
    await migratePostgres({ pool: server.pool, schema });
  });

  testContract("PGlite", () => {
    const { pool, database, interrupt, loseResponse } = server;
    return {
      store: createPostgresStore({ pool, schema }),
      openAnother: () => createPostgresStore({ pool, schema }),
      interrupt: async () => interrupt(),
      loseResponse,
      damage: (id, part) =>
        database.query(`UPDATE ${schema}.orders SET ${part} = $1 WHERE id = $2`, [
          part === "record" ? '{"id":' : "?;",
          id,
        ]),
      remove: () => database.exec(EMPTY),
    };
  });

  test("a key with the hash of another account's is an error", () =>
    expectKeysOfOneAccount(createPostgresStore({ pool: server.pool, schema })));
});
