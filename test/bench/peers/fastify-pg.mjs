/**
 * Fastify with pg, keys and windows in the database: `fastify-pg.mjs URL statements` sends a statement for the key, one for
 * both windows, and one for the order. `… URL cte` cancels with one statement that does all three. Every commit waits for
 * the disk, as is the default.
 */
import { hash } from "node:crypto";
import Fastify from "fastify";
import pg from "pg";
import { announce, problem } from "./database.mjs";

const [url, variant] = process.argv.slice(2);
// Identifiers as numbers, as most services read them.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
const pool = new pg.Pool({ connectionString: url });
const query = async (name, text, ...values) => (await pool.query({ name, text, values })).rows;

const COUNT = `ON CONFLICT (account) DO UPDATE SET
  minute_count = CASE WHEN windows.minute = excluded.minute THEN windows.minute_count + 1 ELSE 1 END, minute = excluded.minute,
  day_count = CASE WHEN windows.day = excluded.day THEN windows.day_count + 1 ELSE 1 END, day = excluded.day
  RETURNING minute_count AS "minuteCount", day_count AS "dayCount"`;

const CALLER = `SELECT account, per_minute AS "perMinute", per_day AS "perDay" FROM peers.keys WHERE hash = $1`;
const WINDOWS = `INSERT INTO peers.windows AS windows (account, minute, minute_count, day, day_count) VALUES ($1, $2, 1, $3, 1) ${COUNT}`;
const CANCEL = "UPDATE peers.orders SET status = 'cancelled' WHERE id = $1 AND status = 'pending'";
const STATUS = "SELECT status FROM peers.orders WHERE id = $1";
const LIST = `SELECT id, pet_id AS "petId", quantity, ship_date AS "shipDate", complete FROM peers.orders ORDER BY id`;

const COUNTED = `WITH caller AS (SELECT account, per_minute, per_day FROM peers.keys WHERE hash = $1),
  counted AS (INSERT INTO peers.windows AS windows (account, minute, minute_count, day, day_count)
    SELECT account, $2::bigint, 1, $3::bigint, 1 FROM caller ${COUNT})`;
const CALLER_AND_WINDOWS = `account, per_minute AS "perMinute", per_day AS "perDay", "minuteCount", "dayCount"`;
const ADMIT = `${COUNTED} SELECT ${CALLER_AND_WINDOWS} FROM caller, counted`;
const ADMIT_AND_CANCEL = `${COUNTED}, cancelled AS (UPDATE peers.orders SET status = 'cancelled' FROM caller, counted
    WHERE id = $4 AND status = 'pending' AND "minuteCount" <= per_minute AND "dayCount" <= per_day RETURNING id)
  SELECT ${CALLER_AND_WINDOWS}, (SELECT id FROM cancelled) AS cancelled,
    (SELECT status FROM peers.orders WHERE id = $4) AS "statusBefore" FROM caller, counted`;

const app = Fastify();

function fail(reply, code) {
  const body = problem(code);
  reply.code(body.status).send(body);
}

const MINUTE = 60_000;
const windowsAt = (now) => [now - (now % MINUTE), now - (now % 86_400_000)];
const hashOf = ({ headers }) => hash("sha256", headers.authorization?.slice("Bearer ".length) ?? "");

/** Sets the headers of the limit. Returns false, with the reply sent, if a window is used up. */
function isWithin(reply, minute, { perMinute, perDay, minuteCount, dayCount }) {
  const resets = minute + MINUTE;
  reply.headers({
    "x-ratelimit-limit": perMinute,
    "x-ratelimit-remaining": Math.max(0, perMinute - minuteCount),
    "x-ratelimit-reset": Math.ceil(resets / 1_000),
  });
  if (minuteCount <= perMinute && dayCount <= perDay) return true;
  reply.header("retry-after", Math.max(1, Math.ceil((resets - Date.now()) / 1_000)));
  fail(reply, "rate_limit_exceeded");
  return false;
}

/** Looks the key up and counts the request. Returns false, with the reply sent, if it is not admitted. */
async function admit(request, reply) {
  const windows = windowsAt(Date.now());
  let state;
  if (variant === "cte") [state] = await query("admit", ADMIT, hashOf(request), ...windows);
  else {
    const [caller] = await query("caller", CALLER, hashOf(request));
    if (caller !== undefined) {
      const [counted] = await query("windows", WINDOWS, caller.account, ...windows);
      state = { ...caller, ...counted };
    }
  }
  if (state !== undefined) return isWithin(reply, windows[0], state);
  fail(reply, "invalid_api_key");
  return false;
}

app.get("/v1/store/orders", async (request, reply) => {
  if (await admit(request, reply)) reply.send(await query("list", LIST));
  return reply;
});

app.delete("/v1/store/orders/:id", async (request, reply) => {
  const id = Number(request.params.id);
  if (variant === "cte") {
    const windows = windowsAt(Date.now());
    const [state] = await query("admit-and-cancel", ADMIT_AND_CANCEL, hashOf(request), ...windows, id);
    if (state === undefined) fail(reply, "invalid_api_key");
    else if (isWithin(reply, windows[0], state)) {
      if (state.cancelled !== null) reply.code(204).send();
      else
        fail(reply, state.statusBefore === null ? "order_not_found" : `order_already_${state.statusBefore}`);
    }
    return reply;
  }
  if (!(await admit(request, reply))) return reply;
  const { rowCount } = await pool.query({ name: "cancel", text: CANCEL, values: [id] });
  if (rowCount === 1) return reply.code(204).send();
  const [found] = await query("status", STATUS, id);
  fail(reply, found === undefined ? "order_not_found" : `order_already_${found.status}`);
  return reply;
});

await app.listen({ port: 0, host: "127.0.0.1" });
announce(app.server.address().port);
