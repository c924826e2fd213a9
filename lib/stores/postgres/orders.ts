import { StoreUnavailableError } from "../../core/errors.ts";
import { systemClock } from "../../core/time.ts";
import { newChange, packChange, unpackChanges } from "../../orders/history.ts";
import { isInt64 } from "../../orders/int64.ts";
import { decideEvent, type StoredOrder } from "../../orders/lifecycle.ts";
import type { ApplyResult, OrderStore, PlaceOutcome } from "../../orders/order-store.ts";
import { orderToJson, readOrderToChange, readOrderWithHistory } from "../../orders/wire.ts";
import { listPages, readPage } from "../order-rows.ts";
import type { PostgresConnection } from "./connection.ts";
import { type Database, IS, TEXTS, writeNothing } from "./database.ts";
import { countOrders, pageReader, readRange } from "./list.ts";
import { databaseOf } from "./own-transaction.ts";
import type { Rows, Statement } from "./statement.ts";

/** The orders of a PostgreSQL store. */
export interface PostgresOrderStore extends OrderStore {
  /**
   * The same orders in a transaction that has begun on `connection`, a client of `pg`: what is placed or changed is
   * committed with the caller's own rows, or not at all. Without one, or with a pool, calls reject with
   * `InvalidInputError`. After any rejection, roll it back. `createOrders({ store: orders.using(client) })` validates
   * records, this does not.
   */
  using(connection: PostgresConnection): OrderStore;
}

export function createOrderStore(database: Database): PostgresOrderStore {
  const { schema, read, change } = database;
  return {
    place: (placed, at = systemClock(), origin) =>
      change({ durable: true, ...placeOrders(schema, placed, packChange(newChange("place", at, origin))) }),

    async find(id) {
      if (!isInt64(id)) return undefined;
      const text = `SELECT record, status, history FROM ${schema}.orders WHERE id ${IS} $1`;
      const [row] = await read({ text, values: [id] });
      return row && readOrderWithHistory(id, `${row[0]}`, `${row[1]}`, () => unpackChanges(`${row[2]}`));
    },

    async apply(id, event, at, origin) {
      if (!isInt64(id)) return { ok: false, code: "order_not_found" };
      const text = `SELECT record, status FROM ${schema}.orders WHERE id ${IS} $1 FOR NO KEY UPDATE`;
      const added = packChange(newChange(event, at, origin));
      return change<ApplyResult<typeof event>>({
        durable: true,
        first: [{ text, values: [id] }],
        decide([rows = []]) {
          const [row] = rows;
          if (row === undefined) return { result: () => ({ ok: false, code: "order_not_found" }) };
          const order = readOrderToChange(id, `${row[0]}`, `${row[1]}`, event);
          const { result, changed: after } = decideEvent(order, event, at);
          const updates = after === undefined ? [] : [{ id, before: order, after, added }];
          return { writes: updates.map((update) => updateOrders(schema, [update])), result: () => result };
        },
      });
    },

    list: () => listPages(pageReader(database)),
    page: (query) => readPage(query, (range) => readRange(database, range)),

    countByStatus: () => countOrders(database),

    using: (connection) => createOrderStore(databaseOf(database, connection)),
  };
}

export interface OrderUpdate {
  readonly id: bigint;
  readonly before: StoredOrder;
  readonly after: StoredOrder;
  readonly added: string;
}

/** Updates orders, which the transaction has locked. A record that has not changed stays as it is, also a damaged one. */
export function updateOrders(schema: string, updates: readonly OrderUpdate[]): Statement {
  return {
    // An empty record stands for the one that is there: NULL in an array depends on a setting of the session.
    text: `UPDATE ${schema}.orders o SET status = n.status,
             record = CASE WHEN n.record ${IS} '' THEN o.record ELSE n.record END,
             history = o.history OPERATOR(pg_catalog.||) n.added
           FROM unnest($1::bigint[], $2::${TEXTS}, $3::${TEXTS}, $4::${TEXTS}) AS n (id, status, record, added)
           WHERE o.id ${IS} n.id`,
    values: [
      updates.map(({ id }) => `${id}`),
      updates.map(({ after }) => after.status),
      updates.map(({ before, after }) => (after.record === before.record ? "" : orderToJson(after.record))),
      updates.map(({ added }) => added),
    ],
  };
}

/** Adds the orders that do not exist. Then reads the others: the first statement does not see them. */
function placeOrders(schema: string, placed: readonly StoredOrder[], history: string) {
  const insert: Statement = {
    // In the order of the identifiers, so that two transactions never wait for each other.
    text: `INSERT INTO ${schema}.orders (id, status, record, history)
           SELECT id, status, record, $4 FROM unnest($1::bigint[], $2::${TEXTS}, $3::${TEXTS}) WITH ORDINALITY
             AS n (id, status, record, position) ORDER BY id, position
           ON CONFLICT DO NOTHING RETURNING id`,
    selected: "pg_catalog.count(*), pg_catalog.string_agg(id::pg_catalog.text, ',')",
    values: [
      placed.map(({ record }) => `${record.id}`),
      placed.map(({ status }) => status),
      placed.map(({ record }) => orderToJson(record)),
      history,
    ],
  };
  return {
    first: [insert] as const,
    decide([added = []]: readonly Rows[]) {
      const ids = new Set(`${added[0]?.[1] ?? ""}`.split(","));
      const isPlaced = placed.map(({ record }) => ids.delete(`${record.id}`));
      const others = placed.filter((_, index) => !isPlaced[index]);
      const text = `SELECT id, status, record FROM ${schema}.orders WHERE id ${IS} ANY($1::bigint[])`;
      const found = { text, values: [others.map(({ record }) => `${record.id}`)] };
      const writes = others.length === 0 ? [] : [found, writeNothing(schema)];
      return {
        writes,
        result(rows: readonly Rows[] | undefined): readonly PlaceOutcome[] {
          if (rows === undefined)
            throw new StoreUnavailableError("The orders were placed, but the response was lost.");
          const stored = new Map(rows[0]?.map(([id, status, record]) => [`${id}`, { status, record }]));
          return placed.map(({ record, status }, index) => {
            if (isPlaced[index]) return "placed";
            const found = stored.get(`${record.id}`);
            const isSame = found?.status === status && found.record === orderToJson(record);
            return isSame ? "unchanged" : "conflict";
          });
        },
      };
    },
  };
}
