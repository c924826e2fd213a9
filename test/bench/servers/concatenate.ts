/**
 * The baseline of the long list: SQLite joins the rows of a database page by page, and nothing is sent.
 * `concatenate.ts DATABASE FIRST COUNT` reports the time to its parent.
 */
import { createServer } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";

const [path = "", first = "", count = ""] = process.argv.slice(2);
const PAGE = 500;

// The same conditions as in a server: it listens, and the event loop has started.
const server = createServer().listen(0, "127.0.0.1");
const db = new DatabaseSync(path);
const join = db.prepare("SELECT group_concat(record, ',') AS rows FROM orders WHERE id >= ? AND id < ?");
await yieldToEventLoop();

const startedAt = performance.now();
const processor = process.cpuUsage();
const end = Number(first) + Number(count);
let length = 0;
for (let from = Number(first); from < end; from += PAGE) {
  length += `${join.get(from, from + PAGE)?.["rows"]}`.length;
}
const { user, system } = process.cpuUsage(processor);
process.send?.({ total: performance.now() - startedAt, processor: (user + system) / 1000, length });
server.close();
process.disconnect();
