import { beforeAll, expect, test } from "vitest";
import type { ApiKey } from "../../../lib/accounts/account.ts";
import { DEFAULT_BAN_POLICY } from "../../../lib/accounts/admission.ts";
import {
  createPostgresStore,
  type PooledConnection,
  type PostgresPool,
} from "../../../lib/stores/postgres/index.ts";
import { expectDocumentedWrites } from "../documented-writes.ts";
import { answeredBy, type Pglite, startPglite } from "./pglite.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const KEY: ApiKey = { id: "acme.1", hash: "1".repeat(64), createdAt: AT };
const PRESENTED = { accountId: "acme", hash: KEY.hash };

const AS_THEY_ARE = { getTypeParser: () => (value: string) => value };

let server: Pglite;
/** What PostgreSQL waits for at each commit. */
const commits: unknown[] = [];

beforeAll(async () => {
  server = await startPglite();
});

/** A pool that reads `synchronous_commit` at the end of each transaction. */
const observed = (pool: PostgresPool) =>
  answeredBy(pool, async (sent, run) => {
    if (sent.text === "COMMIT") {
      const mode = "SELECT current_setting('synchronous_commit') AS mode";
      commits.push((await server.database.query<{ mode: string }>(mode)).rows[0]?.mode);
    }
    return run(sent);
  });

async function openStore(schema: string) {
  const store = createPostgresStore({ pool: observed(server.pool), schema });
  await store.accounts.create({ id: "acme", plan: "free", keys: [KEY] });
  return store;
}

test("each kind of write waits for the disk or not, as documented, and each other call commits nothing", async () => {
  const { orders, check, close, ...ports } = createPostgresStore({
    ...{ pool: observed(server.pool), schema: "kinds" },
  });
  await check();
  const query = (connection: PooledConnection, text: string) =>
    connection.query({ text, rowMode: "array", types: AS_THEY_ARE });
  // The caller decides in its own transaction.
  const using = async () => {
    const connection = await server.pool.connect();
    await query(connection, "BEGIN");
    await orders.using(connection).place([{ record: { id: 2n }, status: "pending" }]);
    await query(connection, "ROLLBACK");
    connection.release();
  };
  const takeWrites = () => commits.splice(0).map((mode) => (mode === "on" ? "durable" : "relaxed"));
  await expectDocumentedWrites({ orders, ...ports }, takeWrites, {
    "orders.using": [using, "writes nothing"],
    // It writes a row as it is.
    check: [check, "relaxed"],
  });
  await close();
});

test("a cancel in one statement waits for the disk on a database with synchronous_commit = off", async () => {
  const { orders, accounts, close } = await openStore("one_statement");
  await orders.place([1n, 2n].map((id) => ({ record: { id }, status: "pending" as const })));
  // Read in the transaction, after everything else.
  await server.database.exec(`SET synchronous_commit = off; CREATE TABLE modes (mode text);
    CREATE FUNCTION note_mode() RETURNS trigger LANGUAGE plpgsql SET search_path = public AS $$ BEGIN
      INSERT INTO modes VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
    CREATE TRIGGER noted AFTER UPDATE ON one_statement.orders FOR EACH ROW EXECUTE FUNCTION note_mode();`);
  for (const id of [1n, 2n])
    await accounts.admit(PRESENTED, AT, DEFAULT_BAN_POLICY, { type: "apply", id, event: "cancel" });
  await server.database.exec("RESET synchronous_commit");
  expect((await server.database.query("SELECT mode FROM modes")).rows).toEqual([
    { mode: "on" },
    { mode: "on" },
  ]);
  await close();
});

test.each([
  ["off", "on"],
  ["local", "local"],
  ["remote_apply", "remote_apply"],
])(
  "a placed order on a database with synchronous_commit = %s is committed with %s",
  async (mode, expected) => {
    const { orders, close } = await openStore(`mode_${mode}`);
    await server.database.exec(`SET synchronous_commit = ${mode}`);
    commits.length = 0;
    await orders.place([{ record: { id: 1n }, status: "pending" }]);
    await server.database.exec("RESET synchronous_commit");
    expect(commits).toEqual([expected]);
    await close();
  },
);
