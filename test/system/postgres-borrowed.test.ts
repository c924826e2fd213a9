import { Client, Pool, type PoolClient } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Admission } from "../../lib/accounts/admission.ts";
import { errorMessage, isStoreUnavailable } from "../../lib/core/errors.ts";
import { collect } from "../../lib/stores/contract/contract-case.ts";
import {
  createPostgresStore,
  type PostgresPool,
  type PostgresStore,
  type PostgresStoreOptions,
} from "../../lib/stores/postgres/index.ts";
import { startPgbouncer } from "../support/postgres/pgbouncer.ts";
import { type PostgresServer, skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";
import { findProgram } from "./find-program.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const HASH = "1".repeat(64);
const KEY = { accountId: "acme", hash: HASH };
const pending = (id: bigint) => ({ record: { id }, status: "pending" }) as const;

const cancel = ({ accounts }: PostgresStore, id: bigint) =>
  accounts.admit(KEY, AT, undefined, { type: "apply", id, event: "cancel" });
const isCancelled = (admission: Admission) =>
  admission.ok && admission.outcome?.type === "apply" && admission.outcome.result.ok;
const readList = async ({ orders }: Pick<PostgresStore, "orders">) =>
  (await collect(orders.list())).flatMap(({ json }) => json || []).join(",");
const reasonOf = async (call: Promise<unknown>) => {
  const error = await call.then(
    () => expect.fail("it resolved"),
    (reason: unknown) => reason,
  );
  expect(isStoreUnavailable(error)).toBe(true);
  return errorMessage(error);
};

describe.skipIf(skipsWithoutPostgres("sessions of others"))(
  "with sessions, roles and names of others",
  () => {
    let server: PostgresServer;
    let schemas = 0;
    beforeAll(async () => {
      server = await startPostgres();
      await server.sql("CREATE TABLE invoices (id bigint)");
    });
    afterAll(() => server.remove());

    /** Creates the tables with so many orders, and an account with one key. */
    async function createTables(orders = 40, database = "postgres") {
      const schema = `borrowed_${schemas++}`;
      const store = createPostgresStore({ connectionString: server.url(database), schema });
      await store.orders.place(Array.from({ length: orders }, (_, id) => pending(BigInt(id))));
      const customLimits = { perMinute: 1_000, perDay: 1_000 };
      const keys = [{ id: "acme.1", hash: HASH, createdAt: 0 }];
      await store.accounts.create({ id: "acme", plan: "enterprise", customLimits, keys });
      onTestFinished(() => store.close());
      const sql = (text: string) => server.sql(text.replaceAll("SCHEMA", schema));
      const count = async (status: string) =>
        Number(await sql(`SELECT count(*) FROM SCHEMA.orders WHERE status = '${status}'`));
      return { schema, owner: store, sql, count };
    }

    function openStore(options: PostgresStoreOptions) {
      const store = createPostgresStore(options);
      onTestFinished(() => store.close());
      return store;
    }

    function openPool(options: object) {
      const pool = new Pool({ connectionString: server.url(), ...options });
      pool.on("error", () => {});
      onTestFinished(() => pool.end());
      return pool;
    }

    /** Creates a role that may use the tables, and returns its connection string. */
    async function createRole(schema: string, name: string, options = "") {
      await server.sql(`CREATE ROLE ${name} LOGIN ${options}; GRANT USAGE ON SCHEMA ${schema} TO ${name};
      GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${name}`);
      return server.url().replace("postgres@", `${name}@`);
    }

    /** The pool of a program whose driver does not tell whether a transaction is open. */
    const withoutStatus = (pool: Pool): PostgresPool => ({
      async connect() {
        const client = await pool.connect();
        return {
          pipeline: client.pipeline,
          query: (query) => client.query(query),
          release: (close) => client.release(close),
        };
      },
    });

    const MISTAKES: Readonly<Record<string, (client: PoolClient) => unknown>> = {
      "an open transaction": async (client) => {
        await client.query("BEGIN");
        await client.query("INSERT INTO invoices VALUES (1)");
      },
      "a failed transaction": async (client) => {
        await client.query("BEGIN");
        await client.query("INSERT INTO invoices VALUES (1)");
        await client.query("SELECT 1 / 0").catch(() => {});
      },
      "a transaction that is being opened": (client) => {
        for (const text of ["BEGIN", "INSERT INTO invoices VALUES (1)"]) client.query(text).catch(() => {});
      },
      "a savepoint": async (client) => {
        for (const text of ["BEGIN", "INSERT INTO invoices VALUES (1)", "SAVEPOINT one"])
          await client.query(text);
      },
    };

    for (const [mistake, make] of Object.entries(MISTAKES))
      for (const pipeline of [true, false])
        for (const hasStatus of [true, false])
          test(`a pool lends ${mistake} (pipeline: ${pipeline}, status: ${hasStatus}): a cancel that succeeds is stored`, async () => {
            const { schema, count, sql } = await createTables();
            const pool = openPool({ max: 1, pipeline });
            const store = openStore({ pool: hasStatus ? pool : withoutStatus(pool), schema });
            expect(isCancelled(await cancel(store, 0n))).toBe(true);
            let cancelled = 1;
            for (let id = 1n; id < 6n; id++) {
              const client = await pool.connect();
              try {
                await make(client);
                throw new Error("the colleague's mistake");
              } catch {
              } finally {
                client.release();
              }
              const calls = {
                cancel: () => cancel(store, id),
                list: () => readList(store),
                place: () => store.orders.place([pending(1_000n + id)]),
              };
              const call = Object.values(calls)[Number(id % 3n)] ?? expect.fail();
              expect(await reasonOf(call())).toMatch(
                /pool has lent a connection.*A transaction was open on it. End each/,
              );
              // Its connection is closed, so the next one succeeds.
              if (isCancelled(await cancel(store, 10n + id))) cancelled++;
            }
            expect(cancelled).toBe(6);
            expect(await count("cancelled")).toBe(cancelled);
            expect(await sql("SELECT count(*) FROM invoices")).toBe("0");
            expect(pool.totalCount).toBe(1);
          });

    test("pool.query('BEGIN'), also without a status: what succeeds is stored, and the connection is usable again", async () => {
      for (const hasStatus of [true, false]) {
        const { schema, count } = await createTables();
        const pool = openPool({ max: 2, pipeline: true });
        const store = openStore({ pool: hasStatus ? pool : withoutStatus(pool), schema });
        let cancelled = 0;
        for (let id = 0n; id < 40n; id++) {
          if (id % 4n === 0n) await pool.query("BEGIN");
          const done = await cancel(store, id).then(isCancelled, () => false);
          if (done) cancelled++;
        }
        expect(await count("cancelled")).toBe(cancelled);
        expect(cancelled).toBeGreaterThanOrEqual(hasStatus ? 29 : 40);
      }
    });

    test("settings, roles and prepared statements that others leave in a session change no result and are left as they are", async () => {
      const { schema, count, owner } = await createTables(1_001);
      await server.sql("CREATE SCHEMA elsewhere; CREATE ROLE reader");
      const pool = openPool({ max: 1, pipeline: true });
      const store = openStore({ pool, schema });
      const settings = [
        "search_path = elsewhere, pg_catalog",
        "default_transaction_isolation = serializable",
        "default_transaction_deferrable = on",
        "array_nulls = off",
        "standard_conforming_strings = off",
        "client_encoding = LATIN1",
        "IntervalStyle = sql_standard",
        "DateStyle = German",
        "lock_timeout = 1",
        "row_security = on",
        "synchronous_commit = off",
        "plan_cache_mode = force_custom_plan",
      ];
      for (const setting of settings) await pool.query(`SET ${setting}`);
      await pool.query("SELECT pg_advisory_lock(1)");
      const show = async () => {
        const { rows } = await pool.query("SELECT name, setting FROM pg_settings ORDER BY name");
        return rows.filter(({ name }) => !name.startsWith("transaction_"));
      };
      const before = await show();
      expect(isCancelled(await cancel(store, 0n))).toBe(true);
      expect((await readList(store)).split(",")).toHaveLength(1_001);
      const named = { id: "acme.2", hash: "2".repeat(64), createdAt: 1, name: "Zoë’s key" };
      await store.accounts.update("acme", (account) => ({
        ok: true,
        account: { ...account, keys: [...account.keys, named] },
      }));
      expect((await owner.accounts.find("acme"))?.keys).toMatchObject([{ id: "acme.1" }, named]);
      expect((await owner.accounts.find("acme"))?.keys[0]).not.toHaveProperty("name");
      expect(await show()).toEqual(before);
      await pool.query("DISCARD ALL");
      expect(isCancelled(await cancel(store, 1n))).toBe(true);
      await pool.query("SET ROLE reader");
      expect(await reasonOf(cancel(store, 2n))).toMatch(/lacks a permission/);
      // Its connection was closed.
      expect(isCancelled(await cancel(store, 2n))).toBe(true);
      expect(await count("cancelled")).toBe(3);
    });

    test("a call in a transaction of a caller that waits too long, also for the outbox, is never committed", async () => {
      const { schema, owner, count } = await createTables(2);
      await owner.outbox?.switch(true);
      await owner.orders.place([pending(9n)]);
      const clients = [1, 2].map(() => new Client({ connectionString: server.url() }));
      for (const client of clients) {
        await client.connect();
        onTestFinished(() => client.end());
        await client.query("BEGIN");
      }
      const [holder = expect.fail(), waiting = expect.fail()] = clients;
      await holder.query(`SELECT FROM ${schema}.outbox FOR UPDATE`);
      expect(await reasonOf(owner.orders.using(waiting).apply(9n, "cancel", AT))).toMatch(
        /statement timeout/,
      );
      // The lock is still held, and the connection can be used.
      expect((await waiting.query("COMMIT")).command).toBe("ROLLBACK");
      await holder.query("ROLLBACK");
      expect(await count("cancelled")).toBe(0);
    });

    test("after the default of the database was read-only for a moment, no connection that was made then is kept", async () => {
      await server.sql("CREATE DATABASE switched");
      const { schema } = await createTables(40, "switched");
      const store = openStore({ connectionString: server.url("switched"), schema });
      await server.sql("ALTER DATABASE switched SET default_transaction_read_only = on");
      const during = await Promise.allSettled([0n, 1n, 2n].map((id) => cancel(store, id)));
      expect(during.map(({ status }) => status)).toEqual(Array(3).fill("rejected"));
      await expect(store.check()).rejects.toSatisfy(isStoreUnavailable);
      await server.sql("ALTER DATABASE switched RESET default_transaction_read_only");
      for (let id = 0n; id < 20n; id++) expect(isCancelled(await cancel(store, id))).toBe(true);
      await store.check();
    });

    test("a session with a hot standby reads and writes nothing, and is replaced once the address leads to the primary", async () => {
      const { schema } = await createTables();
      const standby = await startPostgres({ primary: server });
      onTestFinished(() => standby.remove());
      const pools = [server, standby].map((each) =>
        openPool({ connectionString: each.url(), pipeline: true }),
      );
      let leadsTo = 1;
      const lent: PoolClient[] = [];
      const kept = new Set<PoolClient>();
      const pool: PostgresPool = {
        async connect() {
          // As a pool does, it lends a connection that it has first.
          const [idle] = kept;
          const client = idle ?? (await (pools[leadsTo] ?? expect.fail()).connect());
          kept.delete(client);
          lent.push(client);
          return {
            pipeline: true,
            query: (query) => client.query(query),
            release(close) {
              if (close) client.release(true);
              else kept.add(client);
            },
          };
        },
      };
      onTestFinished(() => {
        for (const client of kept) client.release(true);
      });
      const store = openStore({ pool, schema });
      for (const call of [
        () => cancel(store, 1n),
        () => readList(store),
        () => store.orders.find(1n),
        () => store.check(),
      ])
        expect(await reasonOf(call())).toMatch(/standby|read-only transaction|during recovery/);
      leadsTo = 0;
      for (let id = 0n; id < 10n; id++) expect(isCancelled(await cancel(store, id))).toBe(true);
      expect((await readList(store)).split(",")).toHaveLength(40);
      await store.check();
    });

    test.each(["orders", "accounts", "api_keys", "settings", "outbox"])(
      "row level security of %s for another role is an outage with its reason, in every call that reads it",
      async (table) => {
        const { schema, owner, sql } = await createTables(3);
        await owner.outbox?.switch(true);
        const connectionString = await createRole(schema, `app_${schema}`);
        await sql(`ALTER TABLE SCHEMA.${table} ENABLE ROW LEVEL SECURITY`);
        const store = openStore({ connectionString, schema });
        const hidden = new RegExp(`Row level security can hide rows.*DISABLE ROW LEVEL SECURITY.*"${table}"`);
        expect(await reasonOf(store.check())).toMatch(hidden);
        const isOrders = table === "orders" || table === "settings";
        if (isOrders) {
          expect(await reasonOf(readList(store))).toMatch(hidden);
          expect(await reasonOf(store.orders.find(1n))).toMatch(hidden);
        }
        if (table !== "outbox") expect(await reasonOf(cancel(store, 1n))).toMatch(hidden);
        const client = new Client({ connectionString });
        await client.connect();
        onTestFinished(() => client.end());
        await client.query("BEGIN");
        const using = store.orders.using(client);
        const calls = [
          () => using.find(1n),
          () => readList({ orders: using as PostgresStore["orders"] }),
          () => using.apply(1n, "cancel", AT),
        ];
        for (const call of calls) {
          if (isOrders) expect(await reasonOf(call())).toMatch(/^Row level security can hide rows/);
          await client.query("ROLLBACK; BEGIN");
        }
        // One that can hide nothing, because the role bypasses it, is none.
        await sql(`ALTER ROLE app_${schema} BYPASSRLS`);
        const bypassing = openStore({ connectionString, schema });
        await bypassing.check();
        expect(isCancelled(await cancel(bypassing, 1n))).toBe(true);
      },
    );

    const TYPES = 'bigint numeric integer text boolean text[] bigint[] jsonb name xid8 "char" oid'.split(" ");
    const OPERATORS = "= <> < <= > >= || + - % * / ~ !~ -> ->>".split(" ");

    /** A schema in which each operator and each function that the store could mean does something else, and says so. */
    async function createHostileNames(): Promise<void> {
      const pairs = TYPES.flatMap((left) => TYPES.map((right) => [left, right] as const));
      const statements = ["CREATE SCHEMA hostile; CREATE TABLE hostile.calls (what text)"];
      let functions = 0;
      for (const [left, right] of pairs)
        for (const operator of OPERATORS) {
          const type = /[|+\-%*/]/.test(operator) ? left : "boolean";
          const name = `hostile.f${functions++}`;
          statements.push(`CREATE FUNCTION ${name} (a ${left}, b ${right}) RETURNS ${type} LANGUAGE plpgsql AS $$ BEGIN
            RAISE EXCEPTION 'hostile operator: % % %', '${left}', '${operator}', '${right}'; END $$;
          CREATE OPERATOR hostile.${operator} (FUNCTION = ${name}, LEFTARG = ${left}, RIGHTARG = ${right})`);
        }
      const calls = [
        "count()",
        "max(bigint)",
        "min(bigint)",
        "string_agg(text, text)",
        "length(text)",
        "replace(text, text, text)",
        "now()",
        "clock_timestamp()",
        "set_config(text, text, boolean)",
        "current_setting(text)",
        "pg_current_xact_id()",
        "pg_is_in_recovery()",
        "row_security_active(text)",
        "pg_xact_status(xid8)",
        "xid8eq(xid8, xid8)",
        "pg_postmaster_start_time()",
        "substr(text, integer)",
        "split_part(text, text, integer)",
        "format(text, name)",
        "format(text, variadic text[])",
        "json_build_array(bigint)",
      ];
      for (const call of calls)
        statements.push(`CREATE FUNCTION hostile.${call} RETURNS text LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'hostile function: ${call}'; END $$`);
      statements.push(
        "CREATE DOMAIN hostile.text AS pg_catalog.int4; CREATE DOMAIN hostile.xid8 AS pg_catalog.int4",
      );
      for (const table of ["pg_trigger", "pg_namespace", "pg_tables", "pg_class", "outbox", "n"])
        statements.push(`CREATE TABLE hostile.${table} (x int)`);
      const client = new Client({ connectionString: server.url() });
      await client.connect();
      await client.query(statements.join(";\n"));
      await client.end();
    }

    test("operators, functions, types and tables of others on the search path are never used", async () => {
      await createHostileNames();
      const { schema, owner } = await createTables(5);
      const connectionString = await createRole(schema, "hunted");
      await server.sql(`GRANT USAGE ON SCHEMA hostile TO hunted; ALTER ROLE hunted SET search_path = hostile, pg_catalog;
      ALTER TABLE ${schema}.orders OWNER TO hunted`);
      const store = openStore({ connectionString, schema });
      const outbox = store.outbox ?? expect.fail();
      const client = new Client({ connectionString });
      await client.connect();
      onTestFinished(() => client.end());
      // It works: in a session of this role, the names mean something else.
      await expect(client.query("SELECT 1::bigint <= 1::numeric")).rejects.toThrow("hostile operator");
      await expect(client.query("SELECT count()")).rejects.toThrow("hostile function");
      const { orders } = store;
      await server.sql(`GRANT CREATE ON SCHEMA ${schema} TO hunted`);
      await store.check();
      await outbox.switch(true);
      expect(await outbox.isOn()).toBe(true);
      expect(await orders.place([pending(100n), pending(1n)])).toEqual(["placed", "unchanged"]);
      expect((await orders.apply(100n, "ship", AT)).ok).toBe(true);
      expect((await orders.find(100n))?.status).toBe("shipped");
      expect(
        (await orders.page({ limit: 2, after: 1n, status: "pending", order: "desc" })).orders,
      ).toHaveLength(1);
      expect(await orders.countByStatus()).toMatchObject({ pending: 5, shipped: 1 });
      expect(await readList({ orders })).toMatch(/"id":100/);
      expect(isCancelled(await cancel(store, 0n))).toBe(true);
      expect(isCancelled(await cancel(store, 2n))).toBe(true);
      await Promise.all([
        store.accounts.admit(KEY, AT),
        store.accounts.admit(KEY, AT, undefined, { type: "list" }),
      ]);
      await store.accounts.recordRejections(KEY, 1, AT);
      expect((await owner.accounts.find("acme"))?.usage.minute.count).toBe(4);
      await store.accounts.create({
        id: "other",
        plan: "free",
        keys: [{ id: "other.1", hash: "3".repeat(64), createdAt: 0 }],
      });
      await store.accounts.update("other", (account) => ({ ok: true, account }));
      await store.accounts.resetUsage("other");
      await store.accounts.unban("other", "other.1");
      expect((await collect(store.accounts.list())).map(({ id }) => id)).toEqual(["acme", "other"]);
      await store.accounts.delete("other");
      const leased = await outbox.lease(10, AT, -1);
      expect(leased).toHaveLength(3);
      await outbox.acknowledge([{ id: 0n, delivered: 2, lease: -1 }]);
      await outbox.postpone(100n, -1, undefined);
      expect(await outbox.held(AT, 10)).toHaveLength(1);
      await outbox.release([{ id: 2n, hold: -1 }]);
      expect(await outbox.backlog()).toMatchObject({ failed: 1 });
      expect(await outbox.list("failed", 10)).toHaveLength(1);
      expect(await outbox.retry()).toBe(1);
      await client.query("BEGIN");
      const using = store.orders.using(client);
      expect(await using.place([pending(200n), pending(1n)])).toEqual(["placed", "unchanged"]);
      expect((await using.apply(200n, "cancel", AT)).ok).toBe(true);
      expect((await using.find(200n))?.status).toBe("cancelled");
      expect(
        (await using.page({ limit: 2, after: 5n, status: "pending", order: "desc" })).orders,
      ).toHaveLength(2);
      expect(await using.countByStatus()).toMatchObject({ cancelled: 3 });
      expect(await readList({ orders: using as PostgresStore["orders"] })).toMatch(/"id":200/);
      await client.query("COMMIT");
      expect((await owner.orders.find(200n))?.status).toBe("cancelled");
      // A write past the store: the trigger's function has the search path of the session.
      await client.query("CREATE TEMP TABLE outbox (id bigint PRIMARY KEY, delivered integer, since bigint)");
      await client.query(`INSERT INTO ${schema}.orders VALUES (300, 'pending', '{"id":300}', 'p5;')`);
      await client.query(
        `UPDATE ${schema}.orders SET history = history OPERATOR(pg_catalog.||) 'c6;' WHERE id OPERATOR(pg_catalog.=) 300`,
      );
      expect((await client.query("SHOW search_path")).rows).toEqual([{ search_path: "hostile, pg_catalog" }]);
      expect((await outbox.list("waiting", 10)).map(({ order }) => order?.record.id)).toContain(300n);
      expect((await client.query("TABLE pg_temp.outbox")).rowCount).toBe(0);
      expect(await server.sql("TABLE hostile.outbox")).toBe("");
    });

    /** Cancels and lists at once: more than there are connections, all of which succeed. */
    async function expectAllServed(store: PostgresStore): Promise<void> {
      const lists = Array.from({ length: 12 }, () => readList(store));
      const cancels = Array.from({ length: 12 }, (_, id) => cancel(store, BigInt(id)));
      const finds = Array.from({ length: 40 }, (_, id) => store.orders.find(BigInt(id)));
      for (const list of await Promise.all(lists)) expect(list.split(",")).toHaveLength(5_000);
      for (const admission of await Promise.all(cancels)) expect(isCancelled(admission)).toBe(true);
      expect((await Promise.all(finds)).every((order) => order !== undefined)).toBe(true);
    }

    test("a role that may open fewer connections than the pool is served in turn", async () => {
      const { schema } = await createTables(5_000);
      const connectionString = await createRole(schema, "limited", "CONNECTION LIMIT 3");
      const store = openStore({ connectionString, schema });
      await expectAllServed(store);
      await store.close();
      const others = openPool({ connectionString, max: 3 });
      const lent: PoolClient[] = [];
      // The sessions of the store take a moment to end.
      while (lent.length < 3)
        await others.connect().then(
          (client) => lent.push(client),
          () => {},
        );
      const another = openStore({ connectionString, schema });
      expect(await reasonOf(another.orders.find(1n))).toMatch(/too many connections for role/);
      for (const client of lent) client.release(true);
      expect((await another.orders.find(100n))?.status).toBe("pending");
    });

    const pgbouncer = findProgram("pgbouncer");
    test.skipIf(pgbouncer === undefined)("PgBouncer that refuses further clients is waited for", async () => {
      const { schema } = await createTables(5_000);
      const pooler = await startPgbouncer(pgbouncer ?? "", server, { max_client_conn: 3 });
      onTestFinished(() => pooler.stop());
      await expectAllServed(openStore({ connectionString: pooler.url(), schema }));
    });
  },
);
