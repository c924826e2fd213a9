#!/usr/bin/env bash
# PostgreSQL 18.7 as PGlite 0.5.17 (npm); PostgreSQL 15.18 of Debian bookworm does the same: CREATE OR REPLACE TRIGGER.
# It keeps the trigger's name and its place in the order, but not whether it fires: a trigger that was ENABLE ALWAYS,
# ENABLE REPLICA or disabled fires like a new one afterwards. A migration that only changes the function therefore ends
# what a replica relied on, or starts what an operator had stopped.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts @electric-sql/pglite@0.5.17 >/dev/null
cat >main.mjs <<'JS'
import { PGlite } from "@electric-sql/pglite";
const db = new PGlite();
const [{ server_version }] = (await db.query("SHOW server_version")).rows;
console.error(`PostgreSQL ${server_version}`);
const show = async () => {
  const { rows } = await db.query("SELECT tgname, tgenabled FROM pg_trigger ORDER BY tgname");
  for (const { tgname, tgenabled } of rows) console.log(`${tgname}|${tgenabled}`);
};
const define = (verb) =>
  ["always", "replica", "stopped"]
    .map((name) => `${verb} TRIGGER ${name} BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();`)
    .join("\n");
await db.exec(`CREATE TABLE t (v int);
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
${define("CREATE")}
ALTER TABLE t ENABLE ALWAYS TRIGGER always, ENABLE REPLICA TRIGGER replica, DISABLE TRIGGER stopped;`);
await show();
await db.exec(define("CREATE OR REPLACE"));
await show();
await db.close();
JS
node main.mjs | tee seen
expected='always|A
replica|R
stopped|D
always|O
replica|O
stopped|O'
diff <(echo "$expected") seen
