import type { DatabaseSync } from "node:sqlite";
import type { Outbox } from "../../orders/order-store.ts";
import { MAX_CLOCK_SKEW_MS } from "../../plans/windows.ts";
import { NEVER, toWaitingOrder } from "../order-rows.ts";
import { prepareAll, type SqliteDatabase } from "./database.ts";

/**
 * Each write of an order adds it to the outbox, also that of a process which opened the database before there were
 * triggers. The number of semicolons is the number of changes; see `packChange`.
 */
export const TRIGGERS = {
  outbox_placed: `AFTER INSERT ON orders BEGIN
    INSERT INTO outbox (id, delivered, since) VALUES (new.id, 0, CAST(substr(new.history, 2) AS INTEGER));
  END`,
  outbox_changed: `AFTER UPDATE OF history ON orders WHEN length(new.history) > length(old.history) BEGIN
    INSERT INTO outbox (id, delivered, since)
    VALUES (new.id, length(old.history) - length(replace(old.history, ';', '')),
            CAST(substr(new.history, length(old.history) + 2) AS INTEGER)) ON CONFLICT DO NOTHING;
  END`,
};

export function switchTriggers(db: DatabaseSync, on: boolean): void {
  for (const [name, body] of Object.entries(TRIGGERS))
    db.exec(on ? `CREATE TRIGGER IF NOT EXISTS ${name} ${body}` : `DROP TRIGGER IF EXISTS ${name}`);
}

type OutboxStatements = ReturnType<typeof outboxStatements>;

/** Most writes need not survive a power failure: a delivery is then repeated. */
export function createOutbox({ read, write }: SqliteDatabase<{ readonly outbox: OutboxStatements }>): Outbox {
  return {
    switch: (on) => write("durable", ({ outbox: { db } }) => switchTriggers(db, on)),

    isOn: () => read(({ outbox }) => outbox.selectTriggers.all().length === Object.keys(TRIGGERS).length),

    async lease(limit, at, lease) {
      // A store in which nothing waits needs no write transaction.
      const isDue = await read(({ outbox }) => outbox.due.get(at, 1) !== undefined);
      if (!isDue) return [];
      return write("relaxed", ({ outbox: { due, setLease } }) => {
        const found = toWaitingOrders(due.all(at, limit));
        for (const { id } of found) setLease.run(lease, at, at, id);
        return found.map(({ due: _due, ...waiting }) => ({ ...waiting, lease }));
      });
    },

    held: (after, limit) =>
      read(({ outbox }) =>
        outbox.selectHeld.all(after, limit).map(({ id, due }) => ({ id: id as bigint, hold: Number(due) })),
      ),

    release: (held) =>
      write("relaxed", ({ outbox: { release } }) => {
        for (const { id, hold } of held) release.run(id, hold);
      }),

    acknowledge: (deliveries) =>
      write("relaxed", ({ outbox: { remove, advance } }) => {
        for (const { id, delivered, lease } of deliveries)
          if (remove.run(id, lease, delivered).changes === 0n)
            advance.run(delivered, lease, lease, id, delivered, lease);
      }),

    postpone: (id, lease, due = NEVER) =>
      write("relaxed", ({ outbox }) => void outbox.postpone.run(due, id, lease)),

    list: (kind, limit) => read(({ outbox }) => toWaitingOrders(outbox[kind].all(limit))),

    retry: (id) => write("durable", ({ outbox }) => Number(outbox.retry.run(id ?? null).changes)),

    backlog: () =>
      read(({ outbox }) => {
        const { waiting, failed, oldest = null } = outbox.count.get() ?? {};
        const counts = { waiting: Number(waiting), failed: Number(failed) };
        return oldest === null ? counts : { ...counts, oldest: Number(oldest) };
      }),
  };
}

const toWaitingOrders = (rows: unknown) => (rows as readonly unknown[][]).map(toWaitingOrder);

const select = (condition: string) =>
  `SELECT o.id, o.status, o.record, o.history, x.delivered, x.attempts, x.due
  FROM outbox x JOIN orders o ON o.id = x.id WHERE ${condition} LIMIT ?`;

export function outboxStatements(db: DatabaseSync) {
  const orders = {
    due: select("x.due BETWEEN 0 AND ? ORDER BY x.due, x.since"),
    waiting: select(`x.due < ${NEVER} ORDER BY x.since`),
    failed: select(`x.due = ${NEVER} ORDER BY x.since`),
  };
  const others = {
    setLease: `UPDATE outbox SET due = ?, since = iif(since > ? + ${MAX_CLOCK_SKEW_MS}, ?, since) WHERE id = ?`,
    selectHeld: `SELECT id, due FROM outbox WHERE due < 0 UNION ALL
      SELECT id, due FROM outbox WHERE due > ? AND due < ${NEVER} LIMIT ?`,
    release: "UPDATE outbox SET due = 0 WHERE id = ? AND due = ?",
    remove: `DELETE FROM outbox WHERE id = ? AND (due >= 0 OR due = ?) AND
      (SELECT length(history) - length(replace(history, ';', '')) FROM orders o WHERE o.id = outbox.id) <= ?`,
    advance: `UPDATE outbox SET delivered = max(delivered, ?), attempts = iif(due >= 0 OR due = ?, 0, attempts),
      due = iif(due >= 0 OR due = ?, 0, due) WHERE id = ? AND (delivered < ? OR due = ?)`,
    postpone: "UPDATE outbox SET due = ?, attempts = attempts + 1 WHERE id = ? AND due = ?",
    retry: "UPDATE outbox SET due = 0, attempts = 0 WHERE due > 0 AND coalesce(id = ?, TRUE)",
    count: `SELECT count(*) FILTER (WHERE due < ${NEVER}) AS waiting, count(*) FILTER (WHERE due = ${NEVER}) AS failed,
      min(since) FILTER (WHERE due < ${NEVER}) AS oldest FROM outbox`,
    selectTriggers: `SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND name IN ('${Object.keys(TRIGGERS).join("', '")}')`,
  };
  return {
    db,
    ...prepareAll(db, orders, "setReturnArrays", "setReadBigInts"),
    ...prepareAll(db, others, "setReadBigInts"),
  };
}
