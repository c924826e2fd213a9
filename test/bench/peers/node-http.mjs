/**
 * Bare `node:http`, with only what the responses need: the key by its hash, both windows in memory, the list as JSON that
 * SQLite builds. `node-http.mjs DATABASE`.
 */
import { createServer } from "node:http";
import { announce, openDatabase, problem } from "./database.mjs";

const PATH = "/v1/store/orders";
const database = openDatabase();
const windows = new Map();

/** Counts a request in a window, and returns its state. */
function count(id, lengthMs, max, now) {
  const start = now - (now % lengthMs);
  const name = `${id} ${lengthMs}`;
  const last = windows.get(name);
  const used = last?.start === start ? last.used + 1 : 1;
  windows.set(name, { start, used });
  return { max, remaining: Math.max(0, max - used), resetsAt: start + lengthMs, isExceeded: used > max };
}

function send(response, status, body = "") {
  response.writeHead(status, body === "" ? undefined : { "content-type": "application/json" }).end(body);
}

function refuse(response, code) {
  const body = problem(code);
  send(response, body.status, JSON.stringify(body));
}

const server = createServer((request, response) => {
  const account = database.accountOf(request.headers.authorization?.slice("Bearer ".length) ?? "");
  if (account === undefined) return refuse(response, "invalid_api_key");
  const now = Date.now();
  const minute = count(account.id, 60_000, account.perMinute, now);
  const day = count(account.id, 86_400_000, account.perDay, now);
  response.setHeader("x-ratelimit-limit", minute.max);
  response.setHeader("x-ratelimit-remaining", minute.remaining);
  response.setHeader("x-ratelimit-reset", minute.resetsAt / 1_000);
  if (minute.isExceeded || day.isExceeded) {
    response.setHeader("retry-after", Math.max(1, Math.ceil((minute.resetsAt - now) / 1_000)));
    return refuse(response, "rate_limit_exceeded");
  }
  if (request.method === "GET") return send(response, 200, database.ordersAsJson());
  const failure = database.cancel(Number(request.url.slice(PATH.length + 1)));
  return failure === undefined ? send(response, 204) : refuse(response, failure);
});

server.listen(0, "127.0.0.1", () => announce(server.address().port));
