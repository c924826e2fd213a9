#!/usr/bin/env bash
# PGlite 0.5.17, PostgreSQL in the process of Node.
# A bigint is a number or a BigInt by its value: an identifier up to 2^53-1 is a number, the next one a BigInt. One column has
# both, and so has one array. JSON.stringify() works until the first large identifier. Within json the same identifier is
# rounded. A statement_timeout can be set and shown, and never ends a statement. So a test on PGlite passes with code that
# fails on a server, where pg returns a string for each bigint.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts @electric-sql/pglite@0.5.17 >/dev/null
cat >main.mjs <<'JS'
import { PGlite } from "@electric-sql/pglite";

const db = await PGlite.create();
const { rows } = await db.query("SELECT id FROM (VALUES (9007199254740991), (9007199254740992)) AS orders (id)");
console.log("one column:", rows.map(({ id }) => `${typeof id} ${id}`).join(", "));
const { rows: [row] } = await db.query(
  "SELECT ARRAY[1::bigint, 9223372036854775807] AS ids, json_build_object('id', 9223372036854775807) AS object",
);
console.log("one array:", row.ids.map((id) => `${typeof id} ${id}`).join(", "));
console.log("in json:", `${typeof row.object.id} ${row.object.id}`);
console.log("as JSON:", JSON.stringify(rows[0]), (() => {
  try {
    return JSON.stringify(rows[1]);
  } catch (error) {
    return error.name;
  }
})());
await db.exec("SET statement_timeout = '1ms'");
const start = performance.now();
await db.query("SELECT count(*) FROM generate_series(1, 1000000)");
const { rows: [{ statement_timeout: timeout }] } = await db.query("SHOW statement_timeout");
console.log(`a statement_timeout of ${timeout}:`, performance.now() - start > 10 ? "a longer statement ends" : "nothing seen");
JS
node main.mjs | tee seen
expected='one column: number 9007199254740991, bigint 9007199254740992
one array: number 1, bigint 9223372036854775807
in json: number 9223372036854776000
as JSON: {"id":9007199254740991} TypeError
a statement_timeout of 1ms: a longer statement ends'
diff <(echo "$expected") seen
