import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, Pool } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { errorMessage, isStoreUnavailable } from "../../lib/core/errors.ts";
import {
  createPostgresStore,
  migratePostgres,
  postgresMigrationSql,
} from "../../lib/stores/postgres/index.ts";
import { MIGRATION_LOCK, MIGRATIONS, SCHEMA_VERSION } from "../../lib/stores/postgres/schema.ts";
import { createCommandLine, waitForExit } from "../support/command-line.ts";
import { type PostgresServer, skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";

const AT = Date.UTC(2026, 10, 20, 12);
const pending = (id: bigint) => ({ record: { id }, status: "pending" }) as const;
const ids = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => BigInt(first + index));
/** A request waits for an attempt to lock the tables, which takes a second and a half, on a machine with other work. */
const MAX_REQUEST_MS = 3_500;

describe.skipIf(skipsWithoutPostgres("migrations of PostgreSQL"))("beside other sessions on a server", () => {
  const cli = createCommandLine();
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({
      settings: {
        max_prepared_transactions: "5",
        // A vacuum of a small table takes as long as one of a large table.
        ...{
          autovacuum_naptime: "1s",
          autovacuum_vacuum_cost_delay: "100ms",
          autovacuum_vacuum_cost_limit: "1",
        },
      },
    });
  });
  afterAll(async () => {
    cli[Symbol.dispose]();
    await server.remove();
  });

  const urlOf = (role: string) => server.url().replace("postgres@", `${role}@`);

  /** Begins a transaction in another session, which ends with the test or with the returned function. */
  async function begin(text: string, role = "postgres") {
    const client = new Client({ connectionString: urlOf(role), application_name: "report" });
    await client.connect();
    let ended: Promise<void> | undefined;
    const end = () => {
      ended ??= client.end();
      return ended;
    };
    onTestFinished(end);
    const pid = Number((await client.query("SELECT pg_backend_pid() AS pid")).rows[0]?.pid);
    await client.query(`BEGIN; ${text}`);
    return { pid, end };
  }

  async function createSecondVersion(schema: string, orders = 20): Promise<void> {
    const scripts = MIGRATIONS.slice(0, 2).map((script) => script(schema));
    await server.sql(`CREATE SCHEMA ${schema}; ${scripts.join("\n")}
      INSERT INTO ${schema}.settings VALUES ('schema_version', '2');
      ALTER TABLE ${schema}.orders SET (autovacuum_enabled = off);
      INSERT INTO ${schema}.orders SELECT n, 'pending', '{"id":' || n || '}', 'p5;' FROM generate_series(1, ${orders}) AS n`);
  }

  function openStore(schema: string, role = "postgres") {
    const store = createPostgresStore({ connectionString: urlOf(role), schema });
    onTestFinished(() => store.close());
    return store;
  }

  async function timeOf(request: () => Promise<unknown>): Promise<number> {
    const start = performance.now();
    await request();
    return performance.now() - start;
  }

  const migrate = (schema: string, ...flags: string[]) => {
    const child = cli.spawn([
      "database",
      "migrate",
      "--postgres",
      `${server.url()}?schema=${schema}`,
      ...flags,
    ]);
    child.stdin.end();
    const output = { stderr: "" };
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      output.stderr += text;
    });
    return { output, exit: waitForExit(child) };
  };

  /** Runs the query of a message while something waits, and returns what it finds: pids and the starts of queries. */
  async function findBlockers(message: string): Promise<string> {
    const [, query = ""] = /with: (SELECT DISTINCT .*) \\+watch 1/.exec(message) ?? expect.fail(message);
    return server.sql(query.replace("usename, state, xact_start, query", "left(query, 40)"));
  }

  test.each([[], ["--json"]])(
    "a migration behind a session that has read the settings says once how to find it, and requests go on (%s)",
    async (...flags) => {
      const schema = `behind_${flags.length}`;
      await createSecondVersion(schema);
      const reader = await begin(`SELECT value FROM ${schema}.settings`);
      const { output, exit } = migrate(schema, ...flags);
      const pool = new Pool({ connectionString: server.url() });
      onTestFinished(() => pool.end());
      const found = new Set<string>();
      // What a service of the second version does, before the first attempt, during it and afterwards.
      let slowest = 0;
      for (let made = 0, after = 0; after < 20; made++) {
        const request = async () => {
          const { rows } = await pool.query(
            `WITH q AS (UPDATE ${schema}.orders SET status = 'cancelled', history = history || 'c6;' WHERE id = $1 RETURNING id)
             SELECT q.id, value FROM q, ${schema}.settings WHERE name = 'schema_version'`,
            [1 + (made % 20)],
          );
          expect(rows).toMatchObject([{ value: "2" }]);
        };
        const requested = timeOf(request);
        if (output.stderr !== "") {
          after++;
          found.add(await findBlockers(output.stderr));
        }
        slowest = Math.max(slowest, await requested);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      expect(slowest).toBeLessThan(MAX_REQUEST_MS);
      await reader.end();
      const { status, stdout } = await exit;
      expect({ status, stderr: output.stderr }).toMatchObject({ status: 0 });
      const lines = output.stderr.trim().split("\n");
      expect(lines, output.stderr).toHaveLength(1);
      // Also while requests wait behind the attempt, which wait for the migration.
      found.delete("");
      expect([...found]).toEqual([`${reader.pid}|BEGIN; SELECT value FROM ${schema}.settin`]);
      if (flags.length === 0)
        return expect(lines[0]).toMatch(/^Waiting for other sessions to release locks\. While/);
      expect(JSON.parse(lines[0] ?? "")).toMatchObject({ code: "blocked", message: expect.any(String) });
      expect(JSON.parse(stdout)).toMatchObject({ from: 2, to: SCHEMA_VERSION });
    },
  );

  test("a store that creates its tables waits for the lock of a migration within its time", async () => {
    const holder = await begin(`COMMIT; SELECT pg_advisory_lock(${MIGRATION_LOCK})`);
    const { orders } = openStore("locked_out");
    const start = performance.now();
    const error = await orders.place([pending(1n)]).catch((reason: unknown) => reason);
    expect(performance.now() - start).toBeLessThan(5_000);
    expect(isStoreUnavailable(error) && errorMessage(error)).toMatch(/^Other sessions hold locks /);
    const placed = orders.place([pending(1n)]);
    const find = () => findBlockers(errorMessage(error));
    await expect.poll(find, { interval: 10 }).toMatch(new RegExp(`^${holder.pid}.BEGIN; COMMIT; SELECT`));
    await holder.end();
    expect(await placed).toEqual(["placed"]);
    // Tables of this version need no lock.
    await begin(`SELECT pg_advisory_lock(${MIGRATION_LOCK})`);
    const again = { connectionString: server.url(), schema: "locked_out", onlyIfEmpty: true };
    expect(await migratePostgres(again)).toMatchObject({ from: SCHEMA_VERSION });
  });

  test("a migration does not wait for autovacuum, which gives way", async () => {
    await createSecondVersion("vacuumed", 50_000);
    await server.sql("UPDATE vacuumed.orders SET status = 'shipped'");
    await server.sql("ALTER TABLE vacuumed.orders RESET (autovacuum_enabled)");
    const vacuums = () =>
      server.sql(
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'autovacuum: VACUUM%vacuumed.orders%'",
      );
    await expect.poll(vacuums, { timeout: 60_000 }).toBe("1");
    const onBlocked = (message: string) => expect.fail(message);
    const start = performance.now();
    await migratePostgres({ connectionString: server.url(), schema: "vacuumed", onBlocked });
    expect(performance.now() - start).toBeLessThan(15_000);
  });

  test("the SQL that is printed gives up soon, changes nothing, and says to run it again", async () => {
    await createSecondVersion("printed");
    const reader = await begin("SELECT FROM printed.api_keys");
    const file = join(cli.directory, "printed.sql");
    writeFileSync(file, postgresMigrationSql({ schema: "printed" }));
    const apply = () => server.psql(["--file", file], { database: "postgres", role: "postgres" });
    const start = performance.now();
    await expect(apply()).rejects.toThrow(/Nothing was changed\. Run this again\.[\s\S]*pg_blocking_pids/);
    expect(performance.now() - start).toBeLessThan(5_000);
    const version = () => server.sql("SELECT value FROM printed.settings");
    expect(await version()).toBe("2");
    await reader.end();
    await apply();
    expect(await version()).toBe(`${SCHEMA_VERSION}`);
  });

  test.each([
    [
      "a session that has written",
      true,
      "INSERT INTO switched_true.orders VALUES (0, 'pending', '{\"id\":0}')",
    ],
    ["a session that has read", false, "SELECT FROM switched_false.orders"],
  ])(
    "switching the outbox behind %s lets requests go on, and says how to find it",
    async (_name, on, text) => {
      const schema = `switched_${on}`;
      const { orders, outbox = expect.fail() } = openStore(schema);
      await orders.place(ids(1, 20).map(pending));
      if (!on) await outbox.switch(true);
      const other = await begin(text);
      const start = performance.now();
      const switched = outbox.switch(on).catch((reason: unknown) => reason);
      let slowest = 0;
      for (const id of ids(1, 20)) {
        const cancel = async () => expect(await orders.apply(id, "cancel", AT)).toMatchObject({ ok: true });
        slowest = Math.max(slowest, await timeOf(cancel));
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      expect(slowest).toBeLessThan(MAX_REQUEST_MS);
      const error = await switched;
      expect(performance.now() - start).toBeLessThan(slowest + 5_000);
      expect(isStoreUnavailable(error) && errorMessage(error)).toMatch(/nothing was changed/);
      expect(await outbox.isOn()).toBe(!on);
      const again = outbox.switch(on);
      const find = () => findBlockers(errorMessage(error));
      await expect.poll(find, { interval: 10 }).toMatch(new RegExp(`^${other.pid}.BEGIN; `));
      await other.end();
      await again;
      expect(await outbox.isOn()).toBe(on);
    },
  );

  test("switching the outbox on does not wait for readers, and for a prepared transaction", async () => {
    const { orders, outbox = expect.fail() } = openStore("prepared");
    await orders.place([pending(1n)]);
    await begin("SELECT FROM prepared.orders");
    await server.sql("BEGIN; UPDATE prepared.orders SET status = 'shipped'; PREPARE TRANSACTION 'it''s';");
    const error = await outbox.switch(true).catch((reason: unknown) => reason);
    expect(errorMessage(error)).toMatch(/pid 0.*\(canceling statement due to lock timeout\)$/);
    const again = outbox.switch(true);
    await expect.poll(() => findBlockers(errorMessage(error)), { interval: 10 }).toBe("0|");
    await server.sql("ROLLBACK PREPARED 'it''s'");
    await again;
  });

  test("a schema that is renamed keeps its outbox, also if another has its old name", async () => {
    const store = openStore("before");
    await store.outbox?.switch(true);
    await store.orders.place([pending(1n)]);
    await server.sql("ALTER SCHEMA before RENAME TO after");
    const renamed = openStore("after");
    expect(await renamed.orders.apply(1n, "cancel", AT)).toMatchObject({ ok: true });
    // The connections of the store that was there before know the function by both names.
    await openStore("before").check();
    await store.outbox?.switch(true);
    await store.orders.place([pending(2n), pending(3n)]);
    expect(await renamed.orders.place([pending(4n)])).toEqual(["placed"]);
    const waiting = async (schema: string) =>
      server.sql(`SELECT string_agg(id::text, ',' ORDER BY id) FROM ${schema}.outbox`);
    expect([await waiting("after"), await waiting("before")]).toEqual(["1,4", "2,3"]);
    for (const schema of ["after", "before"]) {
      const url = `${server.url()}?schema=${schema}`;
      const { stdout } = await cli.run(["database", "check", "--postgres", url, "--json"]);
      expect(JSON.parse(stdout)).toMatchObject({ findings: 0 });
    }
    await server.sql("DROP SCHEMA before CASCADE");
  });
});
