/**
 * The baseline of the long list: `node:http` with only what the response needs, on the database of the peers. It hashes
 * the key and looks it up, and lets SQLite join the orders page by page. It serves no other request meanwhile, and relies
 * on identifiers without gaps. `page-sql.ts DATABASE`.
 */
import { hash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";

const PAGE = 500;
const RECORD = `'{"id":' || id || ',"petId":' || petId || ',"quantity":' || quantity || ',"shipDate":"' || shipDate ||
  '","complete":' || iif(complete, 'true', 'false') || '}'`;

const db = new DatabaseSync(process.argv[2] ?? "");
const callerOf = db.prepare("SELECT account FROM keys WHERE hash = ?");
const range = db.prepare("SELECT min(id) AS first, max(id) AS last FROM orders");
const page = db.prepare(`SELECT group_concat(${RECORD}, ',') AS orders FROM orders WHERE id >= ? AND id < ?`);

const server = createServer(async (request, response) => {
  const key = request.headers.authorization?.slice("Bearer ".length) ?? "";
  if (callerOf.get(hash("sha256", key)) === undefined) return response.writeHead(401).end();
  if (request.method !== "GET") return response.writeHead(404).end();
  const { first, last } = range.get() as { first: number; last: number };
  response.writeHead(200, { "content-type": "application/json" });
  for (let from = first; from <= last; from += PAGE) {
    const orders = page.get(from, from + PAGE)?.["orders"];
    if (!response.write(`${from === first ? "[" : ","}${orders}`)) await once(response, "drain");
  }
  return response.end("]");
});

server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on("disconnect", () => process.exit());
