#!/usr/bin/env bash
# Migrations 1 and 3 are performed, then somebody merges 2, and everything is migrated again, as two branches of one program
# do: postgrator 8.0.0, drizzle-orm 0.45.4, umzug 3.8.3, kysely 0.28.19, knex 3.3.0, node-pg-migrate 9.0.0 (npm) and
# yoyo-migrations 9.0.0 (PyPI), on PGlite 0.5.17 or SQLite.
# postgrator and drizzle never perform 2, and report success: they only compare with the newest that was performed. So a
# deployment passes without its table, while each new database, as of a test, has it. kysely and node-pg-migrate refuse, the
# others perform it.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts --legacy-peer-deps @electric-sql/pglite@0.5.17 \
  better-sqlite3@npm:libsql@0.5.29 postgrator@8.0.0 drizzle-orm@0.45.4 umzug@3.8.3 kysely@0.28.19 knex@3.3.0 \
  node-pg-migrate@9.0.0 pg@8.23.1 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check --no-compile yoyo-migrations==9.0.0
cat >main.mjs <<'JS'
import { mkdirSync, writeFileSync } from "node:fs";
import { PGlite } from "@electric-sql/pglite";
import Sqlite from "better-sqlite3";
import { drizzle } from "drizzle-orm/pglite";
import { migrate } from "drizzle-orm/pglite/migrator";
import knex from "knex";
import { Kysely, Migrator, SqliteDialect } from "kysely";
import { runner } from "node-pg-migrate";
import Postgrator from "postgrator";
import { Umzug, memoryStorage } from "umzug";

const create = (number) => `CREATE TABLE t${number} (a int);`;
const ups = (numbers, up) =>
  Object.fromEntries(numbers.map((number) => [`${number}`, { up: (db) => up(db, number), down() {} }]));
const writeAll = (numbers, name, text = create) => numbers.forEach((number) => writeFileSync(name(number), text(number)));
const postgres = new PGlite();
const sqlite = new Sqlite(":memory:");
const kysely = new Kysely({ dialect: new SqliteDialect({ database: sqlite }) });
const file = knex({ client: "better-sqlite3", connection: { filename: ":memory:" }, useNullAsDefault: true });
const storage = memoryStorage();
/** What node-pg-migrate expects of pg. */
const client = { on() {}, query: async (query, values) => {
  const text = query.text ?? query;
  return (values ? await postgres.query(text, values) : (await postgres.exec(text)).at(-1)) ?? { rows: [] };
} };
const runners = {
  async postgrator(numbers) {
    writeAll(numbers, (number) => `postgrator/${number}.do.sql`);
    const execute = { execQuery: (sql) => postgres.query(sql), execSqlScript: (sql) => postgres.exec(sql) };
    await new Postgrator({ migrationPattern: "postgrator/*", driver: "pg", ...execute }).migrate();
  },
  async drizzle(numbers) {
    writeAll(numbers, (number) => `drizzle/${number}.sql`);
    const entries = numbers.map((when, idx) => ({ idx, version: "7", when, tag: `${when}`, breakpoints: true }));
    writeFileSync("drizzle/meta/_journal.json", JSON.stringify({ version: "7", dialect: "postgresql", entries }));
    await migrate(drizzle(postgres), { migrationsFolder: "drizzle" });
  },
  async umzug(numbers) {
    const migrations = numbers.map((number) => ({ name: `${number}`, up: () => postgres.exec(create(number)) }));
    await new Umzug({ migrations, storage, logger: undefined }).up();
  },
  async kysely(numbers) {
    const all = ups(numbers, (db, number) => db.schema.createTable(`t${number}`).addColumn("a", "integer").execute());
    const { error } = await new Migrator({ db: kysely, provider: { getMigrations: async () => all } }).migrateToLatest();
    if (error) throw error;
  },
  async knex(numbers) {
    const all = ups(numbers, (db, number) => db.raw(create(number)));
    const getMigration = async (name) => all[name];
    const source = { getMigrations: async () => Object.keys(all), getMigrationName: (name) => name, getMigration };
    await file.migrate.latest({ migrationSource: source });
  },
  async "node-pg-migrate"(numbers) {
    const [dir, text] = ["node-pg-migrate", (number) => `-- Up Migration\n${create(number)}`];
    writeAll(numbers, (number) => `${dir}/170000000000${number}_t.sql`, text);
    await runner({ dbClient: client, dir, direction: "up", migrationsTable: "done", noLock: true, log() {} });
  },
};
const PG = "SELECT tablename AS name FROM pg_tables WHERE tablename ~ '^t[123]$' ORDER BY 1";
const LITE = "SELECT name FROM sqlite_schema WHERE name IN ('t1', 't2', 't3') ORDER BY 1";
for (const [name, run] of Object.entries(runners)) {
  mkdirSync(name === "drizzle" ? "drizzle/meta" : name, { recursive: true });
  await run([1, 3]);
  const end = await run([1, 2, 3]).then(() => "success", () => "refused");
  const tables = name === "kysely" ? sqlite.prepare(LITE).all() : name === "knex" ? await file.raw(LITE)
    : (await postgres.query(PG)).rows;
  console.log(`${name}: ${end},`, ...tables.map((table) => table.name));
  await postgres.exec("DROP TABLE IF EXISTS t1, t2, t3");
}
await file.destroy();
JS
{
  node main.mjs
  mkdir yoyo
  for number in 1 3 2; do
    echo "CREATE TABLE t$number (a int);" >"yoyo/$number.sql"
    if [ "$number" != 1 ]; then python/bin/yoyo apply --batch --no-config-file --database sqlite:///yoyo.db yoyo >/dev/null; fi
  done
  echo "yoyo: success, $(python3 -c 'import sqlite3
print(*sorted(name for name, in sqlite3.connect("yoyo.db").execute("SELECT name FROM sqlite_master WHERE name LIKE \"t_\"")))')"
} | tee seen
expected='postgrator: success, t1 t3
drizzle: success, t1 t3
umzug: success, t1 t2 t3
kysely: refused, t1 t3
knex: success, t1 t2 t3
node-pg-migrate: refused, t1 t3
yoyo: success, t1 t2 t3'
diff <(echo "$expected") seen
