import type { DatabaseSync } from "node:sqlite";
import { invalidInput } from "../../core/errors.ts";
import { type Instant, nextTurn, systemClock } from "../../core/time.ts";
import {
  type ChangeOrigin,
  newChange,
  type OrderWithHistory,
  packChange,
  unpackChanges,
} from "../../orders/history.ts";
import { isInt64, MAX_INT64, MIN_INT64 } from "../../orders/int64.ts";
import { decideEvent, type OrderEvent, type StoredOrder, sumByStatus } from "../../orders/lifecycle.ts";
import type { ApplyResult, OrderCounts, OrderStore, PlaceOutcome } from "../../orders/order-store.ts";
import { orderToJson, readOrderToChange, readOrderWithHistory } from "../../orders/wire.ts";
import { listPages, readPage } from "../order-rows.ts";
import { prepareAll, type SqliteDatabase, versionCheck } from "./database.ts";
import { isConstraint, toStoreError } from "./errors.ts";
import { listPageQuery, pageReader, rangeQuery } from "./list.ts";

export type OrderQueries = ReturnType<typeof orderQueries>;

type OrderDatabase = Pick<SqliteDatabase<{ readonly orders: OrderQueries }>, "read" | "write">;

/** The orders of a SQLite store. */
export interface SqliteOrderStore extends OrderStore {
  /**
   * The same orders in a transaction that has begun on `connection`, which has the same file open: what is placed or
   * changed is committed with the caller's own rows, or not at all. Without one, calls reject with `InvalidInputError`.
   * After any rejection, roll it back. `createOrders({ store: orders.using(connection) })` validates records, this does
   * not.
   */
  using(connection: DatabaseSync): OrderStore;
}

export function createOrderStore(database: OrderDatabase): SqliteOrderStore {
  const { read, write } = database;
  return {
    place: (placed, at, origin) => write("durable", ({ orders }) => orders.place(placed, at, origin)),
    find: (id) => read(({ orders }) => orders.find(id)),
    apply: (id, event, at, origin) => write("durable", ({ orders }) => orders.apply(id, event, at, origin)),
    list: () => listPages(pageReader({ read })),
    page: (query) => readPage(query, (range) => read(({ orders }) => orders.range(range))),
    countByStatus: () => countOrders(database),
    using: (connection) => createOrderStore(databaseOf(connection)),
  };
}

/** It takes a few milliseconds, in which other requests wait. */
const MAX_COUNTED_ROWS = 10_000;

async function countOrders({ read }: OrderDatabase): Promise<OrderCounts> {
  const counted: [status: unknown, count: number][] = [];
  for (let from: bigint | undefined = MIN_INT64; from !== undefined; ) {
    const start: bigint = from;
    const rows = await read(({ orders }) => orders.countFrom(start));
    for (const [status, count] of rows) counted.push([status, Number(count)]);
    const last = rows.reduce((highest, [, , id]) => (id > highest ? id : highest), start);
    const isFull = rows.reduce((sum, [, count]) => sum + Number(count), 0) === MAX_COUNTED_ROWS;
    from = isFull && last < MAX_INT64 ? last + 1n : undefined;
    await nextTurn();
  }
  return sumByStatus(counted);
}

function databaseOf(connection: DatabaseSync): OrderDatabase {
  const checkVersion = versionCheck(connection);
  let orders: OrderQueries | undefined;
  async function read<T>(task: (queries: { readonly orders: OrderQueries }) => T): Promise<T> {
    if (!connection.isTransaction) throw invalidInput("connection", NO_TRANSACTION);
    try {
      checkVersion();
      orders ??= orderQueries(connection);
      return task({ orders });
    } catch (error) {
      throw toStoreError(error);
    }
  }
  return { read, write: (_durability, task) => read(task) };
}

const NO_TRANSACTION =
  "There is no transaction, and nothing was written. Begin one on this connection with BEGIN IMMEDIATE, and end it with COMMIT.";

type CountRow = readonly [status: string, count: bigint, lastId: bigint];

type OrderRow = readonly [status: string, record: string, history: string];

/** Without `main`, a temporary table of the caller with the same name would be used. */
export function orderQueries(db: DatabaseSync) {
  const reads = {
    select: "SELECT status, record, history FROM main.orders WHERE id = ?",
    countFrom: `SELECT status, count(*), max(id) FROM
      (SELECT id, status FROM main.orders WHERE id >= ? ORDER BY id LIMIT ?) GROUP BY status`,
  };
  const writes = {
    update: "UPDATE main.orders SET status = ?, record = ?, history = history || ? WHERE id = ?",
    updateStatus: "UPDATE main.orders SET status = ?, history = history || ? WHERE id = ?",
  };
  const { select, countFrom } = prepareAll(db, reads, "setReturnArrays", "setReadBigInts");
  const { update, updateStatus } = prepareAll(db, writes, "setReadBigInts");

  const rowOf = (id: bigint) => (isInt64(id) ? select.get(id) : undefined) as OrderRow | undefined;

  function find(id: bigint): OrderWithHistory | undefined {
    const row = rowOf(id);
    return row && readOrderWithHistory(id, row[1], row[0], () => unpackChanges(row[2]));
  }

  function apply<E extends OrderEvent>(
    id: bigint,
    event: E,
    at: Instant,
    origin?: ChangeOrigin,
  ): ApplyResult<E> {
    const row = rowOf(id);
    if (row === undefined) return { ok: false, code: "order_not_found" };
    const order = readOrderToChange(id, row[1], row[0], event);
    const { result, changed } = decideEvent(order, event, at);
    if (changed === undefined) return result;
    const { record, status } = changed;
    const change = packChange(newChange(event, at, origin));
    if (record === order.record) updateStatus.run(status, change, id);
    else update.run(status, orderToJson(record), change, id);
    return result;
  }

  return {
    find,
    apply,
    place: placeQuery(db),
    range: rangeQuery(db),
    listPage: listPageQuery(db),
    countFrom: (from: bigint) => countFrom.all(from, MAX_COUNTED_ROWS) as unknown as readonly CountRow[],
  };
}

/** Of one INSERT. More of them save nothing. */
const MAX_INSERTED_ROWS = 50;

function placeQuery(db: DatabaseSync) {
  const sql = {
    insert:
      "INSERT INTO main.orders (id, status, record, history) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
    insertRows: `INSERT INTO main.orders (id, status, record, history)
      VALUES ${Array(MAX_INSERTED_ROWS).fill("(?, ?, ?, ?)").join()}`,
    selectSame: "SELECT 1 FROM main.orders WHERE id = ? AND status = ? AND record = ?",
  };
  const { insert, insertRows, selectSame } = prepareAll(db, sql, "setReadBigInts");

  function placeOne({ record, status }: StoredOrder, history: string): PlaceOutcome {
    const wire = orderToJson(record);
    if (insert.run(record.id, status, wire, history).changes === 1n) return "placed";
    return selectSame.get(record.id, status, wire) === undefined ? "conflict" : "unchanged";
  }

  /** Places all of the orders, or none if one exists: SQLite undoes a statement that fails. */
  function placeNew(orders: readonly StoredOrder[], history: string): boolean {
    const values: (bigint | string)[] = [];
    for (const { record, status } of orders) values.push(record.id, status, orderToJson(record), history);
    try {
      insertRows.run(...values);
      return true;
    } catch (error) {
      if (isConstraint(error)) return false;
      throw error;
    }
  }

  return (orders: readonly StoredOrder[], at = systemClock(), origin?: ChangeOrigin) => {
    const history = packChange(newChange("place", at, origin));
    const outcomes: PlaceOutcome[] = [];
    for (let start = 0; start < orders.length; start += MAX_INSERTED_ROWS) {
      const some = orders.slice(start, start + MAX_INSERTED_ROWS);
      const areNew = some.length === MAX_INSERTED_ROWS && placeNew(some, history);
      for (const order of some) outcomes.push(areNew ? "placed" : placeOne(order, history));
    }
    return outcomes;
  };
}
