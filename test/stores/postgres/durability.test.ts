import { beforeAll, expect, test } from "vitest";
import type { ApiKey } from "../../../lib/accounts/account.ts";
import { DEFAULT_BAN_POLICY } from "../../../lib/accounts/admission.ts";
import { collect } from "../../../lib/stores/contract/contract-case.ts";
import { createPostgresStore, type PostgresPool } from "../../../lib/stores/postgres/index.ts";
import { type Pglite, startPglite } from "./pglite.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const KEY: ApiKey = { id: "acme.1", hash: "1".repeat(64), createdAt: AT };
const LEASE = -60_000;
const PRESENTED = { accountId: "acme", hash: KEY.hash };

const AS_THEY_ARE = { getTypeParser: () => (value: string) => value };

let server: Pglite;
/** What PostgreSQL waits for at each commit. */
const commits: unknown[] = [];

beforeAll(async () => {
  server = await startPglite();
});

/** A pool that reads `synchronous_commit` at the end of each transaction. */
function observed(pool: PostgresPool): PostgresPool {
  return {
    async connect() {
      const connection = await pool.connect();
      return {
        ...connection,
        async query(sent) {
          if (sent.text === "COMMIT") {
            const { rows } = await server.database.query<{ mode: string }>(
              "SELECT current_setting('synchronous_commit') AS mode",
            );
            commits.push(rows[0]?.mode);
          }
          return connection.query(sent);
        },
      };
    },
  };
}

async function openStore(schema: string) {
  const store = createPostgresStore({ pool: observed(server.pool), schema });
  await store.accounts.create({ id: "acme", plan: "free", keys: [KEY] });
  return store;
}

test("each kind of write waits for the disk or not, as documented, and each other call commits nothing", async () => {
  const { orders, accounts, outbox = expect.fail(), check, close } = await openStore("kinds");
  const drain = async (pages: AsyncIterable<unknown>) => void (await collect(pages));
  const cancel = { type: "apply", id: 1n, event: "cancel" } as const;
  const calls: Record<string, readonly [call: () => Promise<unknown>, ...expected: readonly string[]]> = {
    "orders.place": [() => orders.place([{ record: { id: 1n }, status: "pending" }]), "on"],
    "orders.apply": [() => orders.apply(1n, "ship", AT), "on"],
    "orders.find": [() => orders.find(1n)],
    "orders.list": [() => drain(orders.list())],
    "orders.page": [() => orders.page({ limit: 1 })],
    // The caller decides in its own transaction.
    "orders.using": [
      async () => {
        const connection = await server.pool.connect();
        await connection.query({ text: "BEGIN", rowMode: "array", types: AS_THEY_ARE });
        await orders.using(connection).place([{ record: { id: 2n }, status: "pending" }]);
        await connection.query({ text: "ROLLBACK", rowMode: "array", types: AS_THEY_ARE });
        connection.release();
      },
    ],
    "orders.countByStatus": [() => orders.countByStatus()],
    "accounts.recordEnvironment": [() => accounts.recordEnvironment("test"), "on"],
    "accounts.create": [() => accounts.create({ id: "other", plan: "free", keys: [] }), "on"],
    "accounts.find": [() => accounts.find("acme")],
    "accounts.list": [() => drain(accounts.list())],
    "accounts.update": [() => accounts.update("acme", (account) => ({ ok: true, account })), "on"],
    "accounts.delete": [() => accounts.delete("other"), "on"],
    "accounts.resetUsage": [() => accounts.resetUsage("acme"), "on"],
    "accounts.unban": [() => accounts.unban("acme", KEY.id), "on"],
    "accounts.admit": [() => accounts.admit(PRESENTED, AT), "off"],
    "accounts.admit with a list": [
      () => accounts.admit(PRESENTED, AT, DEFAULT_BAN_POLICY, { type: "list" }),
      "off",
    ],
    // The order is shipped, so the statement for cancels changes nothing, and a group decides.
    "accounts.admit with an event": [
      () => accounts.admit(PRESENTED, AT, DEFAULT_BAN_POLICY, cancel),
      ...["on", "on"],
    ],
    "accounts.recordRejections": [() => accounts.recordRejections(PRESENTED, 1, AT), "off"],
    "outbox.switch": [() => outbox.switch(true), "on"],
    "outbox.isOn": [() => outbox.isOn()],
    "an order with the outbox on": [() => orders.place([{ record: { id: 3n }, status: "pending" }]), "on"],
    "outbox.lease": [() => outbox.lease(1, AT, LEASE), "off"],
    "outbox.lease of nothing": [() => outbox.lease(1, AT, LEASE)],
    "outbox.held": [() => outbox.held(AT, 10)],
    "outbox.release": [() => outbox.release([{ id: 3n, hold: AT }]), "off"],
    "outbox.postpone": [() => outbox.postpone(3n, LEASE, undefined), "off"],
    "outbox.list": [() => outbox.list("failed", 1)],
    "outbox.retry": [() => outbox.retry(undefined), "on"],
    "outbox.acknowledge": [() => outbox.acknowledge([{ id: 3n, delivered: 1, lease: -1 }]), "off"],
    "outbox.backlog": [() => outbox.backlog()],
    // It writes a row as it is.
    check: [check, "off"],
  };
  for (const [name, [call, ...expected]] of Object.entries(calls)) {
    commits.length = 0;
    await call();
    expect(commits, name).toEqual(expected);
  }
  const methods = Object.entries({ orders, accounts, outbox }).flatMap(([port, methodsOfPort]) =>
    Object.entries(methodsOfPort).flatMap(([name, method]) =>
      typeof method === "function" ? [`${port}.${name}`] : [],
    ),
  );
  expect(methods.filter((name) => !(name in calls))).toEqual([]);
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
