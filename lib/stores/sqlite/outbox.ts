import type { DatabaseSync } from "node:sqlite";
import type { Instant } from "../../core/time.ts";
import type {
  AcknowledgedOrder,
  HeldOrder,
  Outbox,
  OutboxBacklog,
  WaitingOrder,
} from "../../orders/order-store.ts";
import { MAX_CLOCK_SKEW_MS } from "../../plans/windows.ts";
import { NEVER, toWaitingOrder } from "../order-rows.ts";
import { type SqliteDatabase, statementsOf } from "./database.ts";

/**
 * While there are these triggers, each write of an order adds it to the outbox, whoever writes. So a process that opened
 * the database before they were created does, too, and nothing is written while there are none. The number of semicolons
 * is the number of changes; see `packChange`.
 */
const TRIGGERS = {
  outbox_placed: `AFTER INSERT ON orders BEGIN
    INSERT INTO outbox (id, delivered, since) VALUES (new.id, 0, CAST(substr(new.history, 2) AS INTEGER));
  END`,
  outbox_changed: `AFTER UPDATE OF history ON orders WHEN length(new.history) > length(old.history) BEGIN
    INSERT INTO outbox (id, delivered, since)
    VALUES (new.id, length(old.history) - length(replace(old.history, ';', '')),
            CAST(substr(new.history, length(old.history) + 2) AS INTEGER)) ON CONFLICT DO NOTHING;
  END`,
};

type OutboxQueries = ReturnType<typeof outboxQueries>;

/** The outbox over the table `outbox`. Its writes need not survive a power failure: a delivery is then repeated. */
export function createOutbox({
  read,
  write,
}: Pick<SqliteDatabase<{ readonly outbox: OutboxQueries }>, "read" | "write">): Outbox {
  return {
    switch: (on) => write("durable", ({ outbox }) => outbox.switch(on)),
    isOn: () => read(({ outbox }) => outbox.isOn()),
    async lease(limit, at, lease) {
      // A store in which nothing waits is only read.
      const isDue = await read(({ outbox }) => outbox.due(at, 1).length > 0);
      return isDue ? write("relaxed", ({ outbox }) => outbox.lease(limit, at, lease)) : [];
    },
    held: (after, limit) => read(({ outbox }) => outbox.held(after, limit)),
    release: (held) => write("relaxed", ({ outbox }) => outbox.release(held)),
    acknowledge: (deliveries) => write("relaxed", ({ outbox }) => outbox.acknowledge(deliveries)),
    postpone: (id, lease, due) => write("relaxed", ({ outbox }) => outbox.postpone(id, lease, due)),
    list: (kind, limit) => read(({ outbox }) => outbox.list(kind, limit)),
    retry: (id) => write("durable", ({ outbox }) => outbox.retry(id)),
    backlog: () => read(({ outbox }) => outbox.backlog()),
  };
}

export function outboxQueries(db: DatabaseSync) {
  const { write } = statementsOf(db);
  const select = (condition: string) => {
    const statement = db.prepare(
      `SELECT o.id, o.status, o.record, o.history, x.delivered, x.attempts, x.due
       FROM outbox x JOIN orders o ON o.id = x.id WHERE ${condition} LIMIT ?`,
    );
    statement.setReadBigInts(true);
    statement.setReturnArrays(true);
    return (...values: readonly number[]) =>
      (statement.all(...values) as unknown as unknown[][]).map(toWaitingOrder);
  };
  const selectDue = select("x.due BETWEEN 0 AND ? ORDER BY x.due, x.since");
  const selectKind = {
    waiting: select(`x.due < ${NEVER} ORDER BY x.since`),
    failed: select(`x.due = ${NEVER} ORDER BY x.since`),
  };
  const setLease = write(
    `UPDATE outbox SET due = ?, since = iif(since > ? + ${MAX_CLOCK_SKEW_MS}, ?, since) WHERE id = ?`,
  );
  const selectHeld = db.prepare(`SELECT id, due FROM outbox WHERE due < 0 UNION ALL
    SELECT id, due FROM outbox WHERE due > ? AND due < ${NEVER} LIMIT ?`);
  selectHeld.setReadBigInts(true);
  const release = write("UPDATE outbox SET due = 0 WHERE id = ? AND due = ?");
  const remove = write(`DELETE FROM outbox WHERE id = ? AND (due >= 0 OR due = ?) AND
       (SELECT length(history) - length(replace(history, ';', '')) FROM orders o WHERE o.id = outbox.id) <= ?`);
  const advance =
    write(`UPDATE outbox SET delivered = max(delivered, ?), attempts = iif(due >= 0 OR due = ?, 0, attempts),
       due = iif(due >= 0 OR due = ?, 0, due) WHERE id = ? AND (delivered < ? OR due = ?)`);
  const update = write("UPDATE outbox SET due = ?, attempts = attempts + 1 WHERE id = ? AND due = ?");
  const retry = write(`UPDATE outbox SET due = 0, attempts = 0 WHERE due > 0 AND coalesce(id = ?, TRUE)`);
  const count = db.prepare(
    `SELECT count(*) FILTER (WHERE due < ${NEVER}) AS waiting, count(*) FILTER (WHERE due = ${NEVER}) AS failed,
            min(since) FILTER (WHERE due < ${NEVER}) AS oldest FROM outbox`,
  );
  const selectTriggers = db.prepare(
    "SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND name = 'outbox_changed'",
  );

  return {
    due: (at: Instant, limit: number) => selectDue(at, limit),

    switch(on: boolean): void {
      for (const [name, body] of Object.entries(TRIGGERS))
        db.exec(on ? `CREATE TRIGGER IF NOT EXISTS ${name} ${body}` : `DROP TRIGGER IF EXISTS ${name}`);
    },

    isOn: () => selectTriggers.get() !== undefined,

    lease(limit: number, at: Instant, lease: number): readonly WaitingOrder[] {
      const found = selectDue(at, limit);
      for (const { id } of found) setLease.run(lease, at, at, id);
      return found.map(({ due: _due, ...waiting }) => ({ ...waiting, lease }));
    },

    held: (after: Instant, limit: number): readonly HeldOrder[] =>
      selectHeld.all(after, limit).map(({ id, due }) => ({ id: id as bigint, hold: Number(due) })),

    release(held: readonly HeldOrder[]): void {
      for (const { id, hold } of held) release.run(id, hold);
    },

    acknowledge(deliveries: readonly AcknowledgedOrder[]): void {
      for (const { id, delivered, lease } of deliveries)
        if (remove.run(id, lease, delivered).changes === 0n)
          advance.run(delivered, lease, lease, id, delivered, lease);
    },

    postpone: (id: bigint, lease: number, due = NEVER) => void update.run(due, id, lease),

    list: (kind: "waiting" | "failed", limit: number) => selectKind[kind](limit),

    retry: (id?: bigint) => Number(retry.run(id ?? null).changes),

    backlog(): OutboxBacklog {
      const { waiting, failed, oldest } = count.get() as Record<"waiting" | "failed" | "oldest", number>;
      return { waiting, failed, ...(oldest !== null && { oldest }) };
    },
  };
}
