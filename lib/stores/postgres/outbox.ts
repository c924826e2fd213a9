import type { Instant } from "../../core/time.ts";
import { unpackChanges } from "../../orders/history.ts";
import type { Outbox, WaitingOrder } from "../../orders/order-store.ts";
import { readStoredOrder } from "../../orders/wire.ts";
import type { Database, Rows, Statement } from "./database.ts";

/** The time at which a change that was set aside is due. */
const NEVER = Number.MAX_SAFE_INTEGER;

const COLUMNS = "x.id, o.status, o.record, o.history, x.delivered, x.attempts, x.due";

/**
 * The outbox over the table `outbox`. While the triggers are there, each statement that writes orders adds them to it,
 * whoever writes; creating them waits for the transactions that have changed orders.
 */
export function createOutbox({ schema, read, change }: Database): Outbox {
  const joined = `${schema}.outbox x JOIN ${schema}.orders o ON o.id = x.id`;

  async function isOn(): Promise<boolean> {
    const text = `SELECT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'outbox_changed' AND tgrelid = $1::regclass)`;
    const [row] = await read({ text, values: [`${schema}.orders`] });
    return row?.[0] === true || row?.[0] === "t";
  }

  /** Runs one statement that writes, and returns its rows. */
  const write = (statement: Statement, durable = false): Promise<Rows> =>
    change({
      durable,
      first: [statement],
      decide: ([rows = []]) => ({ writes: [], result: () => rows }),
    });

  return {
    isOn,

    async switch(on) {
      if ((await isOn()) === on) return;
      const create = (name: string, event: string, tables: string) =>
        `CREATE OR REPLACE TRIGGER ${name} AFTER ${event} ON ${schema}.orders REFERENCING ${tables}
         FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.add_to_outbox()`;
      const texts = on
        ? [
            create("outbox_placed", "INSERT", "NEW TABLE AS n"),
            create("outbox_changed", "UPDATE", "OLD TABLE AS o NEW TABLE AS n"),
          ]
        : ["outbox_placed", "outbox_changed"].map(
            (name) => `DROP TRIGGER IF EXISTS ${name} ON ${schema}.orders`,
          );
      await change({
        durable: true,
        first: [{ text: "SELECT true" }],
        decide: () => ({ writes: texts.map((text) => ({ text })), result: () => undefined }),
      });
    },

    async lease(limit, at, until) {
      // A store in which nothing waits is only read.
      const due = { text: `SELECT id FROM ${schema}.outbox WHERE due <= $1 LIMIT 1`, values: [at] };
      if ((await read(due)).length === 0) return [];
      return change<readonly WaitingOrder[]>({
        durable: false,
        first: [
          {
            text: `SELECT ${COLUMNS} FROM ${joined} WHERE x.due <= $1 ORDER BY x.due, x.since LIMIT $2
                   FOR UPDATE OF x SKIP LOCKED`,
            values: [at, limit],
          },
        ],
        decide([rows = []]) {
          const text = `UPDATE ${schema}.outbox SET due = $2 WHERE id = ANY ($1::bigint[])`;
          const leased = rows.map((row) => ({ ...toWaitingOrder(row), due: until }));
          return { writes: [{ text, values: [rows.map(([id]) => id), until] }], result: () => leased };
        },
      });
    },

    async acknowledge(id, delivered) {
      // Locked, so that an event is either before this and counted, or after it and adds the order again.
      const lock = `SELECT id, length(history) - length(replace(history, ';', '')) FROM ${schema}.orders
                    WHERE id = $1 FOR NO KEY UPDATE`;
      await change({
        durable: false,
        first: [{ text: lock, values: [id] }],
        decide([rows = []]) {
          const isAll = rows.every(([, changes]) => Number(changes) <= delivered);
          const text = isAll
            ? `DELETE FROM ${schema}.outbox WHERE id = $1`
            : `UPDATE ${schema}.outbox SET delivered = $2, attempts = 0, due = 0 WHERE id = $1 AND delivered < $2`;
          return { writes: [{ text, values: isAll ? [id] : [id, delivered] }], result: () => undefined };
        },
      });
    },

    async postpone(id, lease, due: Instant = NEVER) {
      const text = `UPDATE ${schema}.outbox SET due = $3, attempts = attempts + 1 WHERE id = $1 AND due = $2 RETURNING id`;
      await write({ text, values: [id, lease, due] });
    },

    async list(kind, limit) {
      const condition = `x.due ${kind === "failed" ? "=" : "<"} ${NEVER}`;
      const text = `SELECT ${COLUMNS} FROM ${joined} WHERE ${condition} ORDER BY x.since LIMIT $1`;
      return (await read({ text, values: [limit] })).map(toWaitingOrder);
    },

    async retry(id) {
      const text = `UPDATE ${schema}.outbox SET due = 0, attempts = 0
                    WHERE due = ${NEVER} AND ($1::bigint IS NULL OR id = $1) RETURNING id`;
      return (await write({ text, values: [id ?? null] }, true)).length;
    },

    async backlog() {
      const waiting = `FILTER (WHERE due < ${NEVER})`;
      const text = `SELECT count(*), count(*) ${waiting}, min(since) ${waiting} FROM ${schema}.outbox`;
      const [[all, some, oldest] = []] = await read({ text });
      const counts = { waiting: Number(some), failed: Number(all) - Number(some) };
      return oldest === null ? counts : { ...counts, oldest: Number(oldest) };
    },
  };
}

function toWaitingOrder([
  ,
  status,
  record,
  history,
  delivered,
  attempts,
  due,
]: readonly unknown[]): WaitingOrder {
  return {
    order: { ...readStoredOrder(`${record}`, `${status}`), history: unpackChanges(`${history}`) },
    delivered: Number(delivered),
    attempts: Number(attempts),
    ...(Number(due) < NEVER && { due: Number(due) }),
  };
}
