/**
 * The baseline: `node:http` and SQLite with only what the responses need. It hashes the key and looks it up, counts both
 * windows in a Map, lets SQLite join the rows page by page, and commits the cancels of one turn of the event loop
 * together. It has no framework, no bans, and no persistent counters. `bare.ts DATABASE` serves our database, in which
 * orders are stored as JSON; with `columns`, that of the peers, where SQLite builds the JSON from columns.
 */
import { hash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { ERRORS, type ErrorCode } from "../../../lib/http/errors.ts";

const [path = ":memory:", schema] = process.argv.slice(2);
const SQL =
  schema === "columns"
    ? {
        caller:
          "SELECT account AS id, iif(per_minute = 60, 'free', 'enterprise') AS plan FROM keys WHERE hash = ?",
        record: `'{"id":' || id || ',"petId":' || petId || ',"quantity":' || quantity || ',"shipDate":"' || shipDate ||
          '","complete":' || iif(complete, 'true', 'false') || '}'`,
      }
    : {
        caller: "SELECT a.id, a.plan FROM api_keys k JOIN accounts a ON a.id = k.account WHERE k.hash = ?",
        record: "record",
      };

const db = new DatabaseSync(path);
db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
const callerOf = db.prepare(SQL.caller);
const range = db.prepare(
  "SELECT (SELECT min(id) FROM orders) AS first, (SELECT max(id) FROM orders) AS last",
);
const rows = db.prepare(
  `SELECT group_concat(${SQL.record}, ',') AS rows FROM orders WHERE id >= ? AND id < ?`,
);
const cancel = db.prepare("UPDATE orders SET status = 'cancelled' WHERE id = ? AND status = 'pending'");
const findOrder = db.prepare("SELECT 1 FROM orders WHERE id = ?");
const [begin, commit] = [db.prepare("BEGIN IMMEDIATE"), db.prepare("COMMIT")];

const windows = new Map<string, { count: number; readonly resets: number }>();
let cancels: { readonly id: string; readonly response: ServerResponse }[] = [];

const server = createServer((request, response) => {
  const key = request.headers.authorization?.slice("Bearer ".length) ?? "";
  const caller = callerOf.get(hash("sha256", key)) as { id: string; plan: string } | undefined;
  if (caller === undefined) return reject(response, "invalid_api_key");
  const limits = caller.plan === "free" ? [60, 1_000] : [1e9, 1e9];
  const windowStates = [
    countIn(`${caller.id} minute`, 60_000, limits[0] ?? 0),
    countIn(`${caller.id} day`, 86_400_000, limits[1] ?? 0),
  ];
  const { remaining, resets } = windowStates[0] as WindowState;
  response.setHeader("x-ratelimit-limit", `${limits[0]}`);
  response.setHeader("x-ratelimit-remaining", `${remaining}`);
  response.setHeader("x-ratelimit-reset", `${Math.ceil(resets / 1000)}`);
  if (windowStates.some((window) => window.exceeded)) {
    response.setHeader("retry-after", `${Math.max(1, Math.ceil((resets - Date.now()) / 1000))}`);
    return reject(response, "rate_limit_exceeded");
  }
  respond(request, response);
});

function respond({ method, url = "" }: IncomingMessage, response: ServerResponse): void {
  if (method === "DELETE") {
    if (cancels.length === 0) setImmediate(commitCancels);
    cancels.push({ id: url.slice(url.lastIndexOf("/") + 1), response });
    return;
  }
  void list(response);
}

/** Identifiers per page. They have no gaps here, so the next page starts at a known identifier. */
const PAGE = 500;

async function list(response: ServerResponse): Promise<void> {
  const { first, last } = range.get() as { first: number; last: number };
  const page = (from: number) => rows.get(from, from + PAGE)?.["rows"];
  if (last - first < PAGE) return send(response, 200, `[${page(first)}]`);
  response.writeHead(200, { "content-type": "application/json" });
  for (let from = first; from <= last; from += PAGE) {
    const ready = response.write(`${from === first ? "[" : ","}${page(from)}`);
    if (!ready) await once(response, "drain");
  }
  response.end("]");
}

function commitCancels(): void {
  const batch = cancels;
  cancels = [];
  begin.run();
  const done = batch.map(({ id }) => cancel.run(BigInt(id)).changes === 1);
  commit.run();
  for (const [index, { id, response }] of batch.entries()) {
    if (done[index]) response.writeHead(204).end();
    else
      reject(
        response,
        findOrder.get(BigInt(id)) === undefined ? "order_not_found" : "order_already_cancelled",
      );
  }
}

interface WindowState {
  readonly remaining: number;
  readonly resets: number;
  readonly exceeded: boolean;
}

function countIn(name: string, length: number, limit: number): WindowState {
  const now = Date.now();
  let window = windows.get(name);
  if (window === undefined || window.resets <= now) {
    window = { count: 0, resets: now - (now % length) + length };
    windows.set(name, window);
  }
  window.count += 1;
  const { count, resets } = window;
  return { remaining: Math.max(0, limit - count), resets, exceeded: count > limit };
}

function reject(response: ServerResponse, code: ErrorCode): void {
  const { status, message } = ERRORS[code];
  send(response, status, JSON.stringify({ code, message, status }));
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}

server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on("disconnect", () => process.exit());
