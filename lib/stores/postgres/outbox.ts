import { isStoreUnavailable, StoreUnavailableError } from "../../core/errors.ts";
import { CALL_TIMEOUT_MS, type Instant } from "../../core/time.ts";
import type { AcknowledgedOrder, Outbox } from "../../orders/order-store.ts";
import { MAX_CLOCK_SKEW_MS } from "../../plans/windows.ts";
import { NEVER, toWaitingOrder } from "../order-rows.ts";
import { type Database, type Work, write } from "./database.ts";
import { isForbidden } from "./errors.ts";
import { changesIn, enableAlways, OUTBOX_TRIGGERS } from "./schema.ts";
import { LOCK_WAIT_MS, takeStrongLocks } from "./strong-locks.ts";

const COLUMNS = "x.id, o.status, o.record, o.history, x.delivered, x.attempts, x.due";

/** Triggers add orders, whoever writes. Creating them waits for the transactions that have changed orders. */
export function createOutbox(database: Database): Outbox {
  const { schema, read, change } = database;
  const joined = `${schema}.outbox x JOIN ${schema}.orders o ON o.id = x.id`;

  /** Returns the orders that it has found. Each has the number of its changes, which a change raises, or waits for this. */
  async function acknowledge(
    deliveries: readonly AcknowledgedOrder[],
    locked = "",
  ): Promise<readonly string[]> {
    const values = [
      deliveries.map(({ id }) => `${id}`),
      deliveries.map(({ delivered }) => delivered),
      deliveries.map(({ lease }) => lease),
    ];
    const isFree = "(x.due >= 0 OR x.due = n.lease)";
    const locking = (condition: string) => `WITH n AS MATERIALIZED (
      SELECT n.* FROM ${schema}.outbox x JOIN unnest($1::bigint[], $2::integer[], $3::bigint[]) AS n (id, delivered, lease)
        ON n.id = x.id WHERE ${condition} FOR UPDATE OF x ${locked})`;
    // While the outbox is off, a change of an order that waits does not raise the number.
    const made = `greatest(x.changes, (SELECT ${changesIn("o.history")} FROM ${schema}.orders o WHERE o.id = x.id))`;
    const remove = `${locking(`${made} <= n.delivered AND ${isFree}`)}
      DELETE FROM ${schema}.outbox x USING n WHERE x.id = n.id RETURNING x.id`;
    const advance = `${locking("(x.delivered < n.delivered OR x.due = n.lease)")}
      UPDATE ${schema}.outbox x SET delivered = greatest(x.delivered, n.delivered),
        attempts = CASE WHEN ${isFree} THEN 0 ELSE x.attempts END, due = CASE WHEN ${isFree} THEN 0 ELSE x.due END
      FROM n WHERE x.id = n.id RETURNING x.id`;
    return change({
      durable: false,
      first: [{ text: remove, values }],
      decide: ([removed = []]) => ({
        writes: removed.length === deliveries.length ? [] : [{ text: advance, values }],
        result: (advanced = []) => [...removed, ...advanced.flat()].map(([id]) => `${id}`),
      }),
    });
  }

  return {
    isOn: async () => (await readTriggers(database)).work,

    async switch(on) {
      const since = performance.now();
      const { work: isOn, areMissing } = await readTriggers(database);
      if (on ? isOn : areMissing) return;
      const create = (name: string, event: string, tables: string) => [
        `CREATE OR REPLACE TRIGGER ${name} AFTER ${event} ON ${schema}.orders REFERENCING ${tables}
         FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.add_to_outbox()`,
        enableAlways(schema, name),
      ];
      const texts = on
        ? [
            ...create("outbox_placed", "INSERT", "NEW TABLE AS n"),
            ...create("outbox_changed", "UPDATE", "OLD TABLE AS o NEW TABLE AS n"),
          ]
        : OUTBOX_TRIGGERS.map((name) => `DROP TRIGGER IF EXISTS ${name} ON ${schema}.orders`);
      const work: Work<void> = {
        durable: true,
        maxLockWaitMs: LOCK_WAIT_MS,
        first: [{ text: "SELECT true" }],
        decide: () => ({ writes: texts.map((text) => ({ text })), result: () => undefined }),
      };
      const deadline = since + CALL_TIMEOUT_MS;
      await takeStrongLocks(() => change(work, since), { deadline }).catch((error: unknown) => {
        throw on && isStoreUnavailable(error) && isForbidden(error.cause) ? notOwner(error) : error;
      });
    },

    async lease(limit, at, lease) {
      // A store in which nothing waits needs no write transaction.
      const due = `SELECT id FROM ${schema}.outbox WHERE due BETWEEN 0 AND $1 LIMIT 1`;
      if ((await read({ text: due, values: [at] })).length === 0) return [];
      // An array: its query runs once, and each row is found by its key. A join could read all orders.
      const text = `UPDATE ${schema}.outbox x SET due = $3, since = CASE WHEN x.since > $1::bigint + ${MAX_CLOCK_SKEW_MS} THEN $1 ELSE x.since END
                    FROM ${schema}.orders o
                    WHERE o.id = x.id AND x.id = ANY (ARRAY(SELECT id FROM ${schema}.outbox WHERE due BETWEEN 0 AND $1
                      ORDER BY due, since LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING ${COLUMNS}`;
      return (await write(database, { text, values: [at, limit, lease] })).map(toWaitingOrder);
    },

    async held(after, limit) {
      const text = `SELECT id, due FROM ${schema}.outbox WHERE due < 0 UNION ALL
                    SELECT id, due FROM ${schema}.outbox WHERE due > $1 AND due < ${NEVER} LIMIT $2`;
      const rows = await read({ text, values: [after, limit] });
      return rows.map(([id, due]) => ({ id: BigInt(`${id}`), hold: Number(due) }));
    },

    async release(held) {
      const values = [held.map(({ id }) => `${id}`), held.map(({ hold }) => hold)];
      // An order that is locked has another hold soon. To wait for it with others locked could wait for ever.
      const text = `WITH n AS MATERIALIZED (
        SELECT x.id FROM ${schema}.outbox x JOIN unnest($1::bigint[], $2::bigint[]) AS n (id, hold)
          ON n.id = x.id AND n.hold = x.due FOR UPDATE OF x SKIP LOCKED)
        UPDATE ${schema}.outbox x SET due = 0 FROM n WHERE x.id = n.id RETURNING x.id`;
      await write(database, { text, values });
    },

    async acknowledge(deliveries) {
      // An order that is being changed is locked. To wait for it with others locked could wait for ever.
      const done = new Set(await acknowledge(deliveries, "SKIP LOCKED"));
      for (const each of deliveries) if (!done.has(`${each.id}`)) await acknowledge([each]);
    },

    async postpone(id, lease, due: Instant = NEVER) {
      const text = `UPDATE ${schema}.outbox SET due = $3, attempts = attempts + 1 WHERE id = $1 AND due = $2 RETURNING id`;
      await write(database, { text, values: [id, lease, due] });
    },

    async list(kind, limit) {
      const condition = `x.due ${kind === "failed" ? "=" : "<"} ${NEVER}`;
      const text = `SELECT ${COLUMNS} FROM ${joined} WHERE ${condition} ORDER BY x.since LIMIT $1`;
      return (await read({ text, values: [limit] })).map(toWaitingOrder);
    },

    async retry(id) {
      const text = `UPDATE ${schema}.outbox SET due = 0, attempts = 0
                    WHERE due > 0 AND ($1::bigint IS NULL OR id = $1) RETURNING id`;
      return (await write(database, { text, values: [id ?? null] }, true)).length;
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

/** Whether both triggers call our function in every session, and whether there is none. */
export async function readTriggers({ schema, read }: Pick<Database, "schema" | "read">) {
  const text = `SELECT count(*) FILTER (WHERE tgenabled = 'A' AND tgfoid = pg_catalog.to_regproc($3)), count(*)
    FROM pg_catalog.pg_trigger WHERE tgrelid = $1::regclass AND tgname = ANY ($2::text[])`;
  const values = [`${schema}.orders`, OUTBOX_TRIGGERS, `${schema}.add_to_outbox`];
  const [[working, all] = []] = await read({ text, values });
  return { work: Number(working) === OUTBOX_TRIGGERS.length, areMissing: Number(all) === 0 };
}

function notOwner({ cause }: StoreUnavailableError): StoreUnavailableError {
  const message =
    "Changes of orders are not recorded, so none is delivered, until the owner of the tables has switched the outbox on. " +
    "Run 'store-orders database outbox on' once as the owner.";
  return new StoreUnavailableError(message, { cause, retryable: false });
}
