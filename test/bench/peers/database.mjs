/**
 * The database of a peer: `node:sqlite`, orders in columns, keys by hash, every commit on disk. Opened by
 * `PROGRAM DATABASE`; `announce` sends the port to the parent.
 */
import { hash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";

export const PROBLEMS = {
  missing_api_key: [401, "Send your API key as 'Authorization: Bearer <API_KEY>'."],
  invalid_api_key: [401, "The API key is not valid. Check for typing errors, expiry and revocation."],
  order_not_found: [404, "There is no order with this identifier."],
  order_already_shipped: [409, "The order has already shipped."],
  order_already_cancelled: [409, "The order is already cancelled."],
  rate_limit_exceeded: [429, "Rate limit exceeded. Wait for the time in Retry-After."],
};

const [MINUTE, DAY] = [60_000, 86_400_000];

/** The Error body of a code. */
export function problem(code) {
  const [status, message] = PROBLEMS[code];
  return { code, message, status };
}

/** Opens the database that the first argument names. */
export function openDatabase(path = process.argv[2]) {
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000");
  const byKey = db.prepare(
    "SELECT account AS id, per_minute AS perMinute, per_day AS perDay FROM keys WHERE hash = ?",
  );
  const all = db.prepare("SELECT id, petId, quantity, shipDate, complete FROM orders ORDER BY id");
  const json =
    db.prepare(`SELECT '[' || coalesce(group_concat('{"id":' || id || ',"petId":' || petId || ',"quantity":' ||
    quantity || ',"shipDate":"' || shipDate || '","complete":' || iif(complete, 'true', 'false') || '}', ','), '') || ']'
    AS list FROM orders`);
  const cancel = db.prepare("UPDATE orders SET status = 'cancelled' WHERE id = ? AND status = 'pending'");
  const statusOf = db.prepare("SELECT status FROM orders WHERE id = ?");
  const count = db.prepare(`INSERT INTO windows VALUES (?, ?, 1, ?, 1) ON CONFLICT (account) DO UPDATE SET
    minute_count = iif(minute = excluded.minute, minute_count + 1, 1), minute = excluded.minute,
    day_count = iif(day = excluded.day, day_count + 1, 1), day = excluded.day
    RETURNING minute_count AS minuteCount, day_count AS dayCount`);

  return {
    /** The account of a key, or `undefined`. */
    accountOf: (key) => byKey.get(hash("sha256", key)),
    /** Counts a request in both windows, and returns the state of each. */
    count({ id, perMinute, perDay }) {
      const now = Date.now();
      const [minute, day] = [now - (now % MINUTE), now - (now % DAY)];
      // `get` would leave the statement open, so that the log is never copied back.
      const [{ minuteCount, dayCount }] = count.all(id, minute, day);
      const state = (used, max, ttl) => {
        const [remaining, ttlInSeconds] = [Math.max(0, max - used), Math.ceil(ttl / 1_000)];
        return { max, remaining, ttl, ttlInSeconds, isExceeded: used > max };
      };
      return [state(minuteCount, perMinute, minute + MINUTE - now), state(dayCount, perDay, day + DAY - now)];
    },
    /** All orders, ascending. */
    orders() {
      const rows = all.all();
      for (const row of rows) row.complete = row.complete === 1;
      return rows;
    },
    /** The same as JSON, if every order has every field. */
    ordersAsJson: () => json.get().list,
    /** Cancels an order. Returns `undefined` if it succeeded, otherwise the error code. */
    cancel(id) {
      if (cancel.run(id).changes === 1) return undefined;
      const found = statusOf.get(id);
      return found === undefined ? "order_not_found" : `order_already_${found.status}`;
    },
  };
}

/** Sends the port to the parent, and ends with the parent. */
export function announce(port) {
  process.send?.({ port });
  process.on("disconnect", () => process.exit());
}
