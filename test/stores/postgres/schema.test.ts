import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createAccounts } from "../../../lib/accounts/index.ts";
import { errorMessage, isInvalidInput, isNewerSchema, isStoreUnavailable } from "../../../lib/core/errors.ts";
import { CALL_TIMEOUT_MS } from "../../../lib/core/time.ts";
import { createHandler } from "../../../lib/http/index.ts";
import { deliverChanges } from "../../../lib/orders/index.ts";
import {
  createPostgresStore,
  migratePostgres,
  postgresMigrationSql,
} from "../../../lib/stores/postgres/index.ts";
import { inspectPostgres } from "../../../lib/stores/postgres/inspect.ts";
import { MIGRATIONS, migrate, quoteSchema, SCHEMA_VERSION } from "../../../lib/stores/postgres/schema.ts";
import { answeredBy, type Pglite, startPglite } from "./pglite.ts";

let server: Pglite;
beforeAll(async () => {
  server = await startPglite();
});

const ORDER = { record: { id: 1n }, status: "pending" } as const;
const open = (schema: string, options = {}) => createPostgresStore({ pool: server.pool, schema, ...options });

const migrateSchema = (schema: string) => migratePostgres({ pool: server.pool, schema });

/** What the error of a call says, if it says that the store is not available. */
async function problemOf(call: Promise<unknown>) {
  const error = await call.catch((reason: unknown) => reason);
  return isStoreUnavailable(error) && errorMessage(error);
}

const errorsOf = async (calls: readonly Promise<unknown>[]): Promise<readonly unknown[]> =>
  Promise.all(calls.map((call) => call.catch((error: unknown) => error)));

async function asRole<T>(role: string, work: () => Promise<T>): Promise<T> {
  await server.database.exec(`SET ROLE ${role}`);
  return work().finally(() => server.database.exec("RESET ROLE"));
}

async function versionIn(schema: string): Promise<unknown> {
  const text = `SELECT value FROM "${schema}".settings WHERE name = 'schema_version'`;
  return (await server.database.query<{ value: string }>(text)).rows[0]?.value;
}

/** Creates the tables of an older version. */
async function migrateFrom(version: number, schema: string): Promise<void> {
  const name = quoteSchema(schema);
  const scripts = MIGRATIONS.slice(0, version).map((script) => script(name));
  await server.database.exec(
    `CREATE SCHEMA ${name}; ${scripts.join("\n")} INSERT INTO ${name}.settings VALUES ('schema_version', '${version}')`,
  );
}

describe("the tables of an empty database", () => {
  test("are created once, in a schema with any name, by the first calls of several instances", async () => {
    const schema = `Pets "1" 'ä'`;
    const stores = [open(schema), open(schema), open(schema)];
    const placed = await Promise.all(stores.map(({ orders }) => orders.place([ORDER])));
    expect(placed.flat().toSorted()).toEqual(["placed", "unchanged", "unchanged"]);
    expect(await migrateSchema(schema)).toEqual({ from: SCHEMA_VERSION, to: SCHEMA_VERSION });
  });

  test("are created by a migration, and by the SQL that it prints", async () => {
    expect(await migrateSchema("migrated")).toEqual({ from: 0, to: SCHEMA_VERSION });
    await server.database.exec(postgresMigrationSql({ schema: "printed" }));
    for (const schema of ["migrated", "printed"]) {
      expect(await open(schema, { existing: true }).orders.place([ORDER])).toEqual(["placed"]);
      expect(await versionIn(schema)).toBe(`${SCHEMA_VERSION}`);
    }
  });

  test("of this version and of a newer one are not changed by that SQL", async () => {
    const { database } = server;
    const sql = postgresMigrationSql({ schema: "reprinted" });
    await database.exec(sql);
    await database.exec("DROP TABLE reprinted.outbox");
    await database.exec(sql);
    await database.exec("UPDATE reprinted.settings SET value = '99' WHERE name = 'schema_version'");
    const message = "The tables have schema version 99, and this is for version";
    await expect(database.exec(sql)).rejects.toThrow(message);
    await database.exec("DELETE FROM reprinted.settings");
    await expect(database.exec(sql)).rejects.toThrow("query returned no rows");
    expect(await versionIn("reprinted")).toBeUndefined();
    const { rows } = await database.query("SELECT FROM pg_tables WHERE schemaname = 'reprinted'");
    expect(rows).toHaveLength(4);
  });

  test("are not created by an existing store or an inspection, whose error names the command", async () => {
    const store = open("missing", { existing: true });
    for (const error of await errorsOf([
      store.orders.find(1n),
      store.check(),
      store.accounts.unban("acme", "acme.1"),
      inspectPostgres(server.pool, "missing").inspect(() => {}),
    ])) {
      const message = 'The schema "missing" of the database has no tables';
      expect(isStoreUnavailable(error) && error.message).toContain(message);
      expect(`${error}`).toContain("'store-orders database migrate --postgres URL'");
    }
  });

  test("are not created by a role that may not, whose error names the command", async () => {
    const { database } = server;
    await database.exec("CREATE ROLE app");
    const store = open("forbidden");
    expect(await problemOf(asRole("app", () => store.check()))).toMatch(
      /^The role may not create tables\. Run 'store-orders .*\(permission denied for database .*\)$/,
    );
    // The same store, once the role may.
    await store.check();
  });

  test("are not created again by a program that has used them, and are used once they are back", async () => {
    const store = open("restored");
    const handler = createHandler({ store });
    const accounts = createAccounts({ store: store.accounts, environment: "test" });
    await accounts.create("acme", { plan: "free" });
    const issued = await accounts.issueKey("acme");
    const headers = { Authorization: `Bearer ${issued.ok && issued.key}` };
    const list = async () =>
      (await handler(new Request("http://pets.example/v1/store/orders", { headers }))).status;
    expect(await list()).toBe(200);
    await server.database.exec("ALTER SCHEMA restored RENAME TO restored_before");
    expect(await list()).toBe(503);
    const onError = vi.fn();
    await deliverChanges({ store, deliver: () => {}, onError, untilEmpty: true }).ended;
    expect(onError).toHaveBeenCalledOnce();
    const problem = '"restored" of the database has no tables';
    for (const call of [Promise.reject(onError.mock.calls[0]?.[0]), store.check(), store.orders.find(1n)])
      expect(await problemOf(call)).toContain(problem);
    await server.database.exec("ALTER SCHEMA restored_before RENAME TO restored");
    expect(await list()).toBe(200);
  });

  test("are created by a role that owns the schema, and may create no other", async () => {
    await server.database.exec("CREATE ROLE owner; CREATE SCHEMA owned AUTHORIZATION owner");
    expect(await asRole("owner", () => open("owned").orders.place([ORDER]))).toEqual(["placed"]);
  });

  test("are used by a role that may read and write rows, and nothing else", async () => {
    const { database } = server;
    const admin = open("granted");
    await admin.accounts.create({ id: "acme", plan: "free", keys: [] });
    await database.exec(`CREATE ROLE service; GRANT USAGE ON SCHEMA granted TO service;
      GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA granted TO service;
      GRANT DELETE ON granted.accounts, granted.api_keys, granted.outbox TO service`);
    await admin.outbox?.switch(true);
    await asRole("service", async () => {
      const store = open("granted");
      await store.check();
      const key = { id: "acme.1", hash: "1".repeat(64), createdAt: 0 };
      await store.accounts.update("acme", (account) => ({ ok: true, account: { ...account, keys: [key] } }));
      expect(await store.orders.place([ORDER])).toEqual(["placed"]);
      const operation = { type: "apply", id: 1n, event: "cancel" } as const;
      const presented = { accountId: "acme", hash: key.hash };
      const admission = await store.accounts.admit(presented, 0, undefined, operation);
      expect(admission).toMatchObject({ ok: true, outcome: { result: { ok: true } } });
      const { outbox = expect.fail() } = store;
      expect(await outbox.lease(1, 1, -2)).toMatchObject([{ delivered: 0 }]);
      await outbox.acknowledge([{ id: 1n, delivered: 2, lease: -2 }]);
      expect(await outbox.backlog()).toEqual({ waiting: 0, failed: 0 });
      await outbox.switch(true);
      const message = "Only the owner of the tables can switch the outbox";
      await expect(outbox.switch(false)).rejects.toThrow(message);
    });
    const rights = ["UPDATE ON granted.accounts", "SELECT ON granted.settings", "USAGE ON SCHEMA granted"];
    for (const right of rights) {
      await database.exec(`REVOKE ${right} FROM service`);
      const migrated = { pool: server.pool, schema: "granted", onlyIfEmpty: true };
      const errors = await asRole("service", () =>
        errorsOf([open("granted").check(), migratePostgres(migrated)]),
      );
      // A migration reads only the settings.
      for (const error of right.startsWith("UPDATE") ? errors.slice(0, 1) : errors) {
        expect(isStoreUnavailable(error) && errorMessage(error), right).toMatch(
          /GRANT it .*permission denied for/,
        );
        expect(`${error}`).not.toContain("migrate");
      }
    }
  });
});

describe("tables of another version", () => {
  const setVersion = (schema: string, version: number) =>
    server.database.exec(
      `UPDATE "${schema}".settings SET value = '${version}' WHERE name = 'schema_version'`,
    );

  test("are noticed by every call, also while the store is open, and nothing is changed", async () => {
    const store = open("versions");
    await store.orders.place([ORDER]);
    const calls = () => [
      store.orders.find(1n),
      store.orders.apply(1n, "cancel", 0),
      store.orders.page({ limit: 1 }),
      store.orders.list()[Symbol.asyncIterator]().next(),
      store.accounts.find("acme"),
      store.accounts.admit({ accountId: "acme", hash: "x" }, 0),
      store.check(),
    ];
    await setVersion("versions", 99);
    for (const error of await errorsOf(calls())) {
      expect(isStoreUnavailable(error) && !error.retryable && isNewerSchema(error.cause)).toBe(true);
      expect(errorMessage(error)).toBe(
        "A newer version has migrated the database. Upgrade store-orders. (The database has schema version 99; " +
          `this version supports up to ${SCHEMA_VERSION}. Upgrade store-orders.)`,
      );
    }
    await expect(migrateSchema("versions")).rejects.toThrow("Upgrade");
    for (const change of ["value = '0'", "value = 'x'", "name = 'none'"]) {
      await server.database.exec(`UPDATE versions.settings SET ${change} WHERE name = 'schema_version'`);
      for (const error of await errorsOf([...calls(), migrateSchema("versions")]))
        expect(`${error}`).toContain("The table settings has no number above 0 as its schema_version.");
    }
    await server.database.exec("UPDATE versions.settings SET name = 'schema_version' WHERE name = 'none'");
    await setVersion("versions", SCHEMA_VERSION);
    expect(await store.orders.find(1n)).toMatchObject(ORDER);
  });

  test("are migrated as a whole or not at all, and keep their rows", async () => {
    const store = open("migrations");
    await store.orders.place([ORDER]);
    const execute = async (text: string) => {
      const results = await server.database.exec(text, { rowMode: "array" });
      return (results.at(-1)?.rows ?? []) as unknown as readonly (readonly unknown[])[];
    };
    const inTransaction = async (...scripts: string[]) => {
      const all = [...MIGRATIONS, ...scripts.map((script) => () => script)];
      await execute("BEGIN");
      const migrated = migrate(execute, "migrations", { scripts: all });
      const result = await migrated.catch((error: unknown) => `${error}`);
      await execute(typeof result === "string" ? "ROLLBACK" : "COMMIT");
      return result;
    };
    const note = "ALTER TABLE migrations.orders ADD COLUMN note text;";
    const invalid = "ALTER TABLE migrations.missing ADD COLUMN note text;";
    expect(await inTransaction(note, invalid)).toContain("missing");
    expect(await versionIn("migrations")).toBe(`${SCHEMA_VERSION}`);
    expect(await store.orders.find(1n)).toMatchObject(ORDER);
    expect(await inTransaction(note)).toEqual({ from: SCHEMA_VERSION, to: SCHEMA_VERSION + 1 });
    expect(await execute("SELECT record, note FROM migrations.orders")).toEqual([['{"id":1}', null]]);
    await expect(store.orders.find(1n)).rejects.toThrow("Upgrade store-orders.");
    const to = SCHEMA_VERSION + 1;
    expect(await inTransaction(note)).toEqual({ from: to, to });
    expect(await inTransaction()).toContain("A newer version has migrated the database.");
  });

  test("are migrated by a migration, unless only an empty database may be", async () => {
    const [first = expect.fail()] = MIGRATIONS;
    await server.database.exec(`CREATE SCHEMA older; ${first("older")}
      INSERT INTO older.settings VALUES ('schema_version', '1')`);
    const options = { pool: server.pool, schema: "older" };
    await expect(migratePostgres({ ...options, onlyIfEmpty: true })).rejects.toThrow(
      `The database has schema version 1, and this version needs ${SCHEMA_VERSION}. Run 'store-orders`,
    );
    expect(await migratePostgres(options)).toEqual({ from: 1, to: SCHEMA_VERSION });
    expect(await open("older").orders.place([ORDER])).toEqual(["placed"]);
  });

  test("of the second version get triggers that fire in every session, and a function that is not tied to the name", async () => {
    const { database } = server;
    await migrateFrom(2, "second");
    await database.exec(`CREATE TRIGGER outbox_placed AFTER INSERT ON second.orders REFERENCING NEW TABLE AS n
        FOR EACH STATEMENT EXECUTE FUNCTION second.add_to_outbox();
      CREATE TRIGGER outbox_changed AFTER UPDATE ON second.orders REFERENCING OLD TABLE AS o NEW TABLE AS n
        FOR EACH STATEMENT EXECUTE FUNCTION second.add_to_outbox()`);
    const triggers = async () => {
      const text = "SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'second.orders'::regclass";
      return (await database.query<{ tgenabled: string }>(text)).rows.map(({ tgenabled }) => tgenabled);
    };
    expect(await triggers()).toEqual(["O", "O"]);
    expect(await migrateSchema("second")).toEqual({ from: 2, to: SCHEMA_VERSION });
    expect(await triggers()).toEqual(["A", "A"]);
    await database.exec("ALTER SCHEMA second RENAME TO renamed; SET session_replication_role = replica");
    onTestFinished(async () => void (await database.exec("RESET session_replication_role")));
    const { orders, outbox } = open("renamed", { existing: true });
    await orders.place([ORDER]);
    await orders.apply(1n, "cancel", 0);
    expect(await outbox?.lease(1, 1, 2)).toMatchObject([{ order: { status: "cancelled" }, delivered: 0 }]);
  });

  test("in which two accounts have the same key are an error that finds them, and stay as they are", async () => {
    await migrateFrom(2, "twice");
    await server.database.exec(`INSERT INTO twice.accounts (id, plan) VALUES ('a', 'free'), ('b', 'free');
      INSERT INTO twice.api_keys (account, hash, id, position, created_at) VALUES ('a', 'x', 'a.1', 1, 0), ('b', 'x', 'b.1', 1, 0)`);
    const error = await migrateSchema("twice").catch((reason: unknown) => reason);
    expect(isStoreUnavailable(error) && error.message).toContain("Two accounts have the same key.");
    const query = /SELECT account.*(?=\.$)/.exec((error as Error).message)?.[0] ?? "";
    expect((await server.database.query(query)).rows).toMatchObject([{ account: "a" }, { account: "b" }]);
    expect(await versionIn("twice")).toBe("2");
  });

  test("may take minutes to migrate, an empty database as long as a call", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const timeouts: unknown[] = [];
    const pool = answeredBy(server.pool, (query, run) => {
      timeouts.push(query.query_timeout);
      return run(query);
    });
    for (const [onlyIfEmpty, expected] of [
      [true, CALL_TIMEOUT_MS],
      [false, 10 * 60_000],
    ] as const) {
      await migratePostgres({ pool, schema: `limited_${onlyIfEmpty}`, onlyIfEmpty });
      expect([...new Set(timeouts.splice(0))]).toEqual([expected]);
    }
  });

  test.each([
    ["DROP TABLE partly.outbox", "lacks tables: outbox."],
    ["DROP TABLE partly.settings", "lacks tables: settings."],
    ["ALTER TABLE partly.settings RENAME value TO text", "A table or a column is missing."],
    ["TRUNCATE partly.settings", "no number above 0 as its schema_version."],
  ])("after %s are an error that says what is missing, and how to go on", async (sql, problem) => {
    const store = open("partly");
    await store.check();
    await server.database.exec(sql);
    const inspecting = inspectPostgres(server.pool, "partly").inspect(() => {});
    for (const error of await errorsOf([store.check(), migrateSchema("partly"), inspecting]))
      expect(isStoreUnavailable(error) && error.message).toContain(
        `${problem} Restore a backup or, if another program has these tables,`,
      );
    await server.database.exec("DROP SCHEMA partly CASCADE");
  });
});

test.each([
  ["x$store_orders_$store_orders$", "on"],
  [`a$$b $1 %I %s q"u'o\\te`, "on"],
  // A backslash at the end of a string is what the setting is about.
  [`q"u'o\\te\\`, "off"],
])(
  "%j is a schema whose tables are created, migrated, checked and used with standard_conforming_strings = %s",
  async (name, setting) => {
    const { database, pool } = server;
    await database.exec(`SET standard_conforming_strings = ${setting}; SET escape_string_warning = off`);
    onTestFinished(async () => void (await database.exec("RESET standard_conforming_strings")));
    await migrateFrom(2, `${name} 2`);
    expect(await migrateSchema(`${name} 2`)).toMatchObject({ from: 2 });
    expect(await migrateSchema(name)).toMatchObject({ from: 0 });
    await database.exec(postgresMigrationSql({ schema: `${name} 3` }));
    for (const schema of [`${name} 2`, name, `${name} 3`]) {
      const { orders, accounts, outbox = expect.fail() } = open(schema, { existing: true });
      await outbox.switch(true);
      await orders.place([ORDER, { ...ORDER, record: { id: 2n } }]);
      const hash = "1".repeat(64);
      await accounts.create({ id: "acme", plan: "free", keys: [{ id: "acme.1", hash, createdAt: 0 }] });
      // Together, so that they share a transaction.
      const cancel = (id: bigint) =>
        accounts.admit({ accountId: "acme", hash }, 0, undefined, { type: "apply", id, event: "cancel" });
      for (const cancelled of await Promise.all([cancel(1n), cancel(2n)]))
        expect(cancelled).toMatchObject({ ok: true, outcome: { result: { ok: true } } });
      expect(await outbox.backlog()).toMatchObject({ waiting: 2 });
      const findings: unknown[] = [];
      await inspectPostgres(pool, schema).inspect((...finding) => findings.push(finding));
      expect(findings).toEqual([]);
      await database.exec(`DROP SCHEMA ${quoteSchema(schema)} CASCADE`);
    }
  },
);

test("the SQL that is printed leaves the settings of a transaction around it as they were", async () => {
  const { database } = server;
  const settings = async () =>
    (await database.query("SELECT current_setting('search_path'), current_setting('lock_timeout') AS wait"))
      .rows;
  await database.exec("BEGIN; SET LOCAL lock_timeout = '7s'; SET LOCAL search_path = public");
  const before = await settings();
  for (let time = 0; time < 2; time++) {
    await database.exec(postgresMigrationSql({ schema: "surrounded" }));
    expect(await settings()).toEqual(before);
  }
  await database.exec("COMMIT");
});

test.each(["", "pg_shop", "a\0b", "ä".repeat(32), "a".repeat(64), 5])(
  "%j is not the name of a schema",
  (schema) => {
    expect(() => open(schema as string)).toThrow(expect.toSatisfy(isInvalidInput));
  },
);

test.each(["a", "apg_", "a".repeat(63), `${"ä".repeat(31)}a`])("%j is the name of a schema", (schema) => {
  expect(postgresMigrationSql({ schema })).toContain(`CREATE SCHEMA "${schema}";`);
  expect(() => postgresMigrationSql({ shema: schema } as never)).toThrow("Did you mean 'schema'?");
});
