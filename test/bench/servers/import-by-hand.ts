/**
 * An import written in ten minutes: lines, `JSON.parse`, and inserts in transactions of a thousand. It validates nothing,
 * and cannot read numbers above 2^53. `import-by-hand.ts FILE DATABASE`.
 */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";

const [file = "", path = ""] = process.argv.slice(2);
const db = new DatabaseSync(path);
db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, petId INTEGER, quantity INTEGER, shipDate TEXT, complete INTEGER)`);
const insert = db.prepare("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)");

let lines = 0;
for await (const line of createInterface({ input: createReadStream(file) })) {
  if (lines % 1_000 === 0) db.exec(lines === 0 ? "BEGIN" : "COMMIT; BEGIN");
  const { id, status, petId, quantity, shipDate, complete } = JSON.parse(line);
  insert.run(id, status, petId, quantity, shipDate, complete ? 1 : 0);
  lines++;
}
db.exec("COMMIT");
