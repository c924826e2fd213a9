import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, Pool } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAccounts } from "../../lib/accounts/index.ts";
import { errorMessage, isInvalidInput, isStoreUnavailable } from "../../lib/core/errors.ts";
import { createOrders, deliverChanges, type OrderEvent } from "../../lib/orders/index.ts";
import type { PostgresConnection } from "../../lib/stores/postgres/index.ts";
import { createPostgresStore } from "../../lib/stores/postgres/index.ts";
import { MIGRATIONS, SCHEMA_VERSION } from "../../lib/stores/postgres/schema.ts";
import { codeBlocks, document } from "../documents/markdown.ts";
import { createCommandLine } from "../support/command-line.ts";
import { type PostgresServer, skipsWithoutPostgres, startPostgres } from "../support/postgres/server.ts";

const pending = (id: bigint) => ({ record: { id }, status: "pending" }) as const;
const AT = Date.UTC(2026, 10, 20, 12);

describe.skipIf(skipsWithoutPostgres("mistakes with PostgreSQL"))("on a PostgreSQL server", () => {
  const cli = createCommandLine();
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
    // Every other role needs no password.
    const file = await server.sql("SHOW hba_file");
    writeFileSync(file, `host all locked 127.0.0.1/32 scram-sha-256\n${readFileSync(file, "utf8")}`);
    await server.sql("CREATE ROLE locked LOGIN SUPERUSER PASSWORD 's3cret'");
    await server.sql("SELECT pg_reload_conf()");
  });
  afterAll(async () => {
    cli[Symbol.dispose]();
    await server.remove();
  });

  const urlOf = (user: string, database = "postgres") =>
    Object.assign(new URL(server.url(database)), {
      username: user.split(":")[0],
      password: user.split(":")[1] ?? "",
    }).href;

  test("the documented grants permit to serve, to issue keys and, once the owner has switched the outbox on, to deliver", async () => {
    const owner = createPostgresStore({ connectionString: server.url() });
    await owner.outbox?.switch(true);
    const [, grants = ""] =
      codeBlocks(document("lib/stores/postgres/README.md"), "console")
        .flatMap((block) => [/<<SQL\n(.*?)\nSQL/s.exec(block)])
        .find((found) => found !== null) ?? [];
    await server.sql(`CREATE ROLE shop LOGIN; ${grants}`);
    const store = createPostgresStore({ connectionString: urlOf("shop") });
    const accounts = createAccounts({ store: store.accounts, environment: "test" });
    await accounts.create("acme", { plan: "pro" });
    expect(await accounts.issueKey("acme")).toMatchObject({ ok: true });
    const orders = createOrders({ store: store.orders });
    await orders.place({ id: 5n });
    await orders.cancel(5n);
    const delivered: string[] = [];
    const done = Promise.withResolvers<void>();
    const delivery = deliverChanges({
      store,
      deliver: async ({ event }) => void (delivered.push(event) === 2 && done.resolve()),
    });
    await done.promise;
    await delivery.stop();
    expect(delivered).toEqual(["place", "cancel"] satisfies (OrderEvent | "place")[]);
    await owner.outbox?.switch(false);
    expect(
      await store.outbox?.switch(true).then(
        () => "switched",
        (error) => errorMessage(error),
      ),
    ).toMatch(/^Changes of orders are not recorded.*'store-orders database outbox on'.*owner/);
    writeFileSync(join(cli.directory, "secret"), `whsec_${Buffer.alloc(32, "a").toString("base64")}`);
    const flags = "--existing --port 0 --webhook https://example.com --webhook-secret-file secret";
    const served = await cli.run(["serve", ...flags.split(" "), "--postgres", urlOf("shop")]);
    expect(served).toMatchObject({ status: 2, stdout: "" });
    expect(served.stderr).toMatch(/--webhook: Changes of orders are not recorded/);
    await store.close();
    await owner.close();
  });

  test.each([true, false])(
    "a connection of the caller has to be in a transaction, whose calls follow one another, with pipeline: %s",
    async (pipeline) => {
      const store = createPostgresStore({ connectionString: server.url(), schema: `caller_${pipeline}` });
      await store.orders.place([pending(1n)]);
      const client = new Client({ connectionString: server.url(), pipeline });
      await client.connect();
      const pool = new Pool({ connectionString: server.url(), pipeline, max: 4 });
      const orders = store.orders.using(client as PostgresConnection);
      for (const each of [orders, store.orders.using(pool as unknown as PostgresConnection)])
        for (const call of [
          () => each.place([pending(2n)]),
          () => each.apply(1n, "cancel", AT),
          () => each.find(1n),
        ]) {
          const error = await call().catch((reason: unknown) => reason);
          expect(isInvalidInput(error) && error.message).toMatch(/BEGIN.*not a pool/);
        }
      const timeout = async () => (await client.query("SHOW statement_timeout")).rows[0]?.statement_timeout;
      expect(await timeout()).toBe("0");

      await client.query("BEGIN");
      const late = orders.apply(1n, "cancel", AT).catch((reason: unknown) => reason);
      await new Promise((resolve) => setImmediate(resolve));
      await client.query("COMMIT");
      expect(isInvalidInput(await late), "a COMMIT that does not wait for a call").toBe(true);
      expect((await store.orders.page({ limit: 10 })).orders).toEqual([pending(1n)]);

      await client.query("BEGIN; SET LOCAL statement_timeout = '1min'");
      const other = store.orders.using(client as PostgresConnection);
      const results = await Promise.all([
        orders.apply(1n, "cancel", AT),
        other.apply(1n, "ship", AT),
        orders.place([pending(4n)]),
        other.place([pending(4n)]),
      ]);
      expect(results).toMatchObject([{ ok: true }, { ok: false }, ["placed"], ["unchanged"]]);
      expect(await timeout()).toBe("1min");
      await client.query("COMMIT; BEGIN");
      expect((await store.orders.find(1n))?.history).toHaveLength(2);
      await client.query("SELECT 1/0").catch(() => {});
      const error = await orders.place([pending(5n)]).catch((reason: unknown) => reason);
      expect(isStoreUnavailable(error) && !error.retryable && error.message).toMatch(/ROLLBACK/);
      await client.end();
      await pool.end();
      await store.close();
    },
  );

  test.each([
    ["a wrong password", "locked:wrong", "postgres", /password/],
    ["no password", "locked", "postgres", /password/],
    ["an unknown role", "nobody", "postgres", /user.*"nobody" does not exist/],
    ["an unknown database", "postgres", "shpo", /database "shpo" does not exist/],
  ])("%s is reported by the store and by commands, at once", async (_name, user, database, expected) => {
    const url = urlOf(user, database);
    const store = createPostgresStore({ connectionString: url });
    const errors = await Promise.all(
      [store.check(), store.orders.find(1n)].map((call) => call.catch((reason: unknown) => reason)),
    );
    await store.close();
    for (const error of errors) {
      expect(isStoreUnavailable(error) && error.retryable).toBe(false);
      expect(errorMessage(error)).toMatch(/^Correct /);
    }
    for (const command of ["serve --port 0", "accounts list", "database migrate", "database check"]) {
      const start = performance.now();
      const result = await cli.run(command.split(" "), { env: { STORE_ORDERS_POSTGRES: url } });
      expect(performance.now() - start, command).toBeLessThan(30_000);
      expect({ command, ...result }).toMatchObject({ command, status: 3, stdout: "" });
      expect(result.stderr).toMatch(/Correct /);
      expect(result.stderr).toMatch(expected);
      expect(result.stderr).not.toMatch(/wrong(?! )|SASL.*at /);
    }
  });

  test("a text that the encoding of a database cannot store is invalid input, and nothing is stored", async () => {
    await server.sql("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    const store = createPostgresStore({ connectionString: server.url("latin") });
    const accounts = createAccounts({ store: store.accounts, environment: "test" });
    await accounts.create("acme", { plan: "pro" });
    expect(await accounts.issueKey("acme", { name: "José" })).toMatchObject({ ok: true });
    const error = await accounts.issueKey("acme", { name: "Łódź" }).catch((reason: unknown) => reason);
    expect(isInvalidInput(error) && error.message).toMatch(/^text: The encoding .* UTF8\.$/);
    expect((await store.accounts.find("acme"))?.keys.map(({ name }) => name)).toEqual(["José"]);
    await store.close();
  });

  test("a store recovers by itself from a password that was wrong for a while", async () => {
    const store = createPostgresStore({ connectionString: urlOf("locked:s3cret"), schema: "rotated" });
    await store.check();
    await server.sql("ALTER ROLE locked PASSWORD 'other'");
    await server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'locked'");
    await expect.poll(() => store.check().catch(errorMessage)).toMatch(/^Correct /);
    await server.sql("ALTER ROLE locked PASSWORD 's3cret'");
    await store.check();
    await store.close();
  });

  test("a mistyped schema is created only by commands that create a store, which say so", async () => {
    const url = `${server.url()}?schema=ordres`;
    const env = { STORE_ORDERS_POSTGRES: url };
    const commands = ["accounts list", "orders cancel 1", "database check", "serve --existing --port 0"];
    for (const command of commands) {
      const { status, stderr } = await cli.run(command.split(" "), { env });
      expect({ command, status }).toEqual({ command, status: 3 });
      expect(stderr).toContain('The schema "ordres" of the database has no tables');
    }
    expect(await server.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'ordres'")).toBe("0");
    const first = await cli.run(["orders", "place", "--id", "7"], { env });
    expect(first.status).toBe(0);
    expect(first.stderr).toMatch(/There was no store at .*, schema ordres, so an empty one was created\./);
    expect((await cli.run(["orders", "place", "--id", "8"], { env })).stderr).not.toContain(
      "There was no store",
    );
  });

  describe("the SQL that --print prints", () => {
    const apply = async (role: string, database: string, texts: readonly string[], ...flags: string[]) => {
      const file = join(cli.directory, `${database}.sql`);
      writeFileSync(file, texts.join("\n"));
      return server.psql([...flags, "--file", file], { database, role });
    };

    test.each([
      ["psql", (sql: string) => [sql], []],
      ["psql -1", (sql: string) => [sql], ["-1"]],
      ["a tool that has begun a transaction", (sql: string) => ["BEGIN;", sql, "COMMIT;"], []],
    ])(
      "is applied with %s by a role that owns only the schema, again and from any version",
      async (name, wrap, flags) => {
        const database = `print_${name.length}`;
        const role = `owner_of_${database}`;
        await server.sql(`CREATE DATABASE ${database}`);
        await server.sql(`CREATE ROLE ${role} LOGIN`);
        const url = `${server.url(database)}?schema=pets`;
        const printed = (await cli.run(["database", "migrate", "--print", "--postgres", url])).stdout;
        await expect(apply(role, database, wrap(printed), ...flags)).rejects.toThrow("permission denied");
        for (const version of MIGRATIONS.keys()) {
          await server.sql(
            `DROP SCHEMA IF EXISTS pets CASCADE; CREATE SCHEMA pets AUTHORIZATION ${role}; SET ROLE ${role};
           ${MIGRATIONS.slice(0, version)
             .map((script) => script("pets"))
             .join("\n")}
           ${version > 0 ? `INSERT INTO pets.settings VALUES ('schema_version', '${version}')` : ""}`,
            database,
          );
          for (let time = 0; time < 2; time++) await apply(role, database, wrap(printed), ...flags);
          const readVersion = "SELECT value FROM pets.settings WHERE name = 'schema_version'";
          expect(await server.sql(readVersion, database)).toBe(`${SCHEMA_VERSION}`);
          const store = createPostgresStore({
            connectionString: url.replace("postgres@", `${role}@`),
            existing: true,
          });
          expect(await store.orders.place([pending(1n)])).toEqual(["placed"]);
          await store.close();
        }
      },
    );
  });
});
