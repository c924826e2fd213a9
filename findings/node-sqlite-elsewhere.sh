#!/usr/bin/env bash
# The module node:sqlite of Deno 2.9.6 and Bun 1.4.5 (npm), compared with that of Node 24.
# Deno returns a string only up to its first NUL, although all of it is stored. After an iterator that was left in the
# middle, all() returns the rest of the rows. The errors of exec() have no errcode, so a program cannot tell a locked
# database from a wrong statement. In both, an ArrayBuffer becomes NULL without an error, where Node 24 stores its bytes. A
# test of the same program on Node shows none of it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error deno@2.9.6 bun@1.4.5 >/dev/null
cat >main.mjs <<'JS'
import { DatabaseSync } from "node:sqlite";

const db = new DatabaseSync(":memory:");
db.exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT); INSERT INTO orders (id) VALUES (1), (2), (3)");

const statement = db.prepare("SELECT id FROM orders ORDER BY id");
statement.iterate().next();
const rows = statement.all().map(({ id }) => id);

db.prepare("UPDATE orders SET note = ? WHERE id = 1").run("two\0lines");
const { note, bytes } = db.prepare("SELECT note, length(CAST(note AS BLOB)) AS bytes FROM orders WHERE id = 1").get();

const errors = [() => db.exec("INSERT INTO orders (id) VALUES (1)"), () => db.prepare("INSERT INTO orders (id) VALUES (1)").run()];
const [ofExec, ofRun] = errors.map((fail) => {
  try {
    return fail();
  } catch ({ errcode }) {
    return errcode ?? "none";
  }
});
const { type } = db.prepare("SELECT typeof(?) AS type").get(new ArrayBuffer(2));
console.log(`rows ${rows}; ${note.length} of ${bytes} characters; errcode ${ofExec}, ${ofRun}; an ArrayBuffer is a ${type}`);
JS
{
  node --no-warnings main.mjs
  npx --no-install deno run --quiet main.mjs
  npx --no-install bun main.mjs
} | tee seen
expected='rows 1,2,3; 9 of 9 characters; errcode 1555, 1555; an ArrayBuffer is a blob
rows 2,3; 3 of 9 characters; errcode none, 1555; an ArrayBuffer is a null
rows 1,2,3; 9 of 9 characters; errcode 1555, 1555; an ArrayBuffer is a null'
diff <(echo "$expected") seen
