/**
 * The floor of the long list: SQLite joins the rows of a database, page by page, and nobody is sent anything.
 * `concatenate.ts DATABASE FIRST COUNT` tells its parent how long that took.
 */
import { createServer } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as turn } from "node:timers/promises";

const [path = "", first = "", count = ""] = process.argv.slice(2);
const PAGE = 500;

// The same conditions as in a server: one is listening, and the event loop has turned.
const server = createServer().listen(0, "127.0.0.1");
const db = new DatabaseSync(path);
const join = db.prepare("SELECT group_concat(record, ',') AS rows FROM orders WHERE id >= ? AND id < ?");
await turn();

const began = performance.now();
const processor = process.cpuUsage();
const end = Number(first) + Number(count);
let length = 0;
for (let from = Number(first); from < end; from += PAGE) {
  length += `${join.get(from, from + PAGE)?.["rows"]}`.length;
}
const { user, system } = process.cpuUsage(processor);
process.send?.({ total: performance.now() - began, processor: (user + system) / 1000, length });
server.close();
process.disconnect();
