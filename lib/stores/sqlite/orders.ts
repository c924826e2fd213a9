import type { DatabaseSync } from "node:sqlite";
import { StoreUnavailableError } from "../../core/errors.ts";
import type { Instant } from "../../core/time.ts";
import { MAX_INT64, MIN_INT64 } from "../../orders/int64.ts";
import { type OrderEvent, type StoredOrder, transitionStoredOrder } from "../../orders/lifecycle.ts";
import { type OrderQuery, type OrderQueryPage, validateOrderQuery } from "../../orders/order-query.ts";
import type {
  ApplyResult,
  OrderCounts,
  OrderPage,
  OrderStore,
  PlaceOutcome,
} from "../../orders/order-store.ts";
import type { StoreOperation, StoreOutcome } from "../../orders/store-operation.ts";
import { readStoredOrder, toWire } from "../../orders/wire.ts";
import { isConstraint, isSqliteError } from "./errors.ts";
import type { Database } from "./transaction.ts";

/** The queries of the orders, each to be called in a read or a write of its connection. */
export type OrderQueries = ReturnType<typeof orderQueries>;

type OrderDatabase = Pick<Database<{ readonly orders: OrderQueries }>, "read" | "write">;

/** The order store over the tables `orders` and `order_counts`. */
export function sqliteOrders({ read, write }: OrderDatabase): OrderStore {
  return {
    place: (placed) => write("durable", ({ orders }) => orders.place(placed)),
    find: (id) => read(({ orders }) => orders.find(id)),
    apply: (id, event, at) => write("durable", ({ orders }) => orders.apply(id, event, at)),
    list: () => listPages({ read }, FIRST_PAGE),
    async page(query) {
      validateOrderQuery(query);
      return await read(({ orders }) => orders.page(query));
    },
    countByStatus: () => read(({ orders }) => orders.countByStatus()),
  };
}

/** The pages of the list from a start, read on demand. If a `database` is given, all are from this one. */
async function* listPages(
  { read }: Pick<OrderDatabase, "read">,
  start: PageStart | undefined,
  database?: OrderQueries,
): AsyncGenerator<OrderPage> {
  let opened = database;
  for (let next = start; next !== undefined; ) {
    const from: PageStart = next;
    const page = await read(({ orders }) => {
      opened ??= orders;
      if (opened !== orders) throw new StoreUnavailableError("The database was replaced during a list.");
      return orders.listPage(from);
    });
    next = page.next;
    yield { json: page.json, last: next === undefined };
  }
}

/**
 * Performs the operation of an admitted request in the transaction that admits it. Returns `undefined` if the order is
 * damaged: the caller performs the operation again and gets the error, and the admission counts.
 */
export function performInTransaction(
  operation: StoreOperation,
  at: Instant,
  orders: OrderQueries,
  database: Pick<OrderDatabase, "read">,
): StoreOutcome | undefined {
  if (operation.type === "list") {
    const { json, next } = orders.listPage(FIRST_PAGE);
    const first = { json, last: next === undefined };
    return { type: "list", first, rest: listPages(database, next, orders) };
  }
  try {
    return { type: "apply", result: orders.apply(operation.id, operation.event, at) };
  } catch (error) {
    if (isSqliteError(error)) throw error;
    return undefined;
  }
}

/** An array, because Node creates a hidden class for each row that is an object. */
type OrderRow = readonly [status: string, record: string];

/** Prepares the queries. */
export function orderQueries(db: DatabaseSync) {
  const select = db.prepare("SELECT status, record FROM orders WHERE id = ?");
  const update = db.prepare("UPDATE orders SET status = ?, record = ? WHERE id = ?");
  const updateStatus = db.prepare("UPDATE orders SET status = ? WHERE id = ?");
  const selectCounts = db.prepare("SELECT status, count FROM order_counts");
  for (const statement of [select, selectCounts]) statement.setReturnArrays(true);

  function find(id: bigint): StoredOrder | undefined {
    const row = select.get(id) as unknown as OrderRow | undefined;
    return row && toOrder(row);
  }

  function apply<E extends OrderEvent>(id: bigint, event: E, at: Instant): ApplyResult<E> {
    const order = find(id);
    if (order === undefined) return { ok: false, code: "order_not_found" };
    const result = transitionStoredOrder(order, event, at);
    if (!result.ok) return result;
    const { record, status } = result.order;
    if (record === order.record) updateStatus.run(status, id);
    else update.run(status, toWire(record), id);
    return result;
  }

  const countByStatus = () => Object.fromEntries(selectCounts.all() as unknown as [string, number][]);

  return {
    find,
    apply,
    place: placeQuery(db),
    page: pageQuery(db),
    listPage: listPageQuery(db),
    countByStatus: countByStatus as () => OrderCounts,
  };
}

function toOrder([status, record]: OrderRow): StoredOrder {
  return readStoredOrder(record, status);
}

/** Rows of one INSERT. More of them save nothing. */
const MAX_INSERTED_ROWS = 50;

function placeQuery(db: DatabaseSync): (orders: readonly StoredOrder[]) => readonly PlaceOutcome[] {
  const insert = db.prepare(
    "INSERT INTO orders (id, status, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const insertRows = db.prepare(
    `INSERT INTO orders (id, status, record) VALUES ${Array(MAX_INSERTED_ROWS).fill("(?, ?, ?)").join()}`,
  );
  const addToCount = db.prepare("UPDATE order_counts SET count = count + ? WHERE status = ?");
  const selectSame = db.prepare("SELECT 1 FROM orders WHERE id = ? AND status = ? AND record = ?");
  // An import runs this for every row. An object for each would fill V8's old space, about 100 bytes at a time.
  selectSame.setReturnArrays(true);

  function placeOne({ record, status }: StoredOrder): PlaceOutcome {
    const wire = toWire(record);
    if (insert.run(record.id, status, wire).changes === 1) return "placed";
    return selectSame.get(record.id, status, wire) === undefined ? "conflict" : "unchanged";
  }

  /** Places all of the orders, or none if one exists: SQLite undoes a statement that fails. */
  function placeNew(orders: readonly StoredOrder[]): boolean {
    const values: (bigint | string)[] = [];
    for (const { record, status } of orders) values.push(record.id, status, toWire(record));
    try {
      insertRows.run(...values);
      return true;
    } catch (error) {
      if (isConstraint(error)) return false;
      throw error;
    }
  }

  return (orders) => {
    const outcomes: PlaceOutcome[] = [];
    for (let start = 0; start < orders.length; start += MAX_INSERTED_ROWS) {
      const some = orders.slice(start, start + MAX_INSERTED_ROWS);
      const areNew = some.length === MAX_INSERTED_ROWS && placeNew(some);
      for (const order of some) outcomes.push(areNew ? "placed" : placeOne(order));
    }
    // A trigger would run for every row, which takes an import a third longer.
    const placed = Object.groupBy(
      orders.filter((_, index) => outcomes[index] === "placed"),
      ({ status }) => status,
    );
    for (const [status, { length }] of Object.entries(placed)) addToCount.run(length, status);
    return outcomes;
  };
}

/** Rows among which one page looks for a status. It takes a few milliseconds, in which other requests wait. */
const MAX_SCANNED_ROWS = 10_000;

function pageQuery(db: DatabaseSync): (query: OrderQuery) => OrderQueryPage {
  const prepareIn = (direction: "ASC" | "DESC") => {
    const [from, to] = direction === "ASC" ? [">=", "<="] : ["<=", ">="];
    const statements = {
      rows: db.prepare(
        `SELECT id, status, record FROM orders WHERE id ${from} ? ORDER BY id ${direction} LIMIT ?`,
      ),
      rowsWithStatus: db.prepare(
        `SELECT id, status, record FROM orders WHERE id ${from} ? AND id ${to} ? AND status = ?
         ORDER BY id ${direction} LIMIT ?`,
      ),
      skip: db.prepare(`SELECT id FROM orders WHERE id ${from} ? ORDER BY id ${direction} LIMIT 1 OFFSET ?`),
    };
    for (const statement of Object.values(statements)) {
      statement.setReturnArrays(true);
      statement.setReadBigInts(true);
    }
    return statements;
  };
  const directions = {
    asc: { ...prepareIn("ASC"), step: 1n, least: MIN_INT64, greatest: MAX_INT64 },
    desc: { ...prepareIn("DESC"), step: -1n, least: MAX_INT64, greatest: MIN_INT64 },
  };

  return ({ after, status, order = "asc", limit }) => {
    const { rows, rowsWithStatus, skip, step, least, greatest } = directions[order];
    const beyond = after === undefined ? least : after + step;
    // SQLite has no numbers outside of int64.
    if ((beyond - greatest) * step > 0n) return { orders: [] };
    const start = (beyond - least) * step < 0n ? least : beyond;
    // The last possible end of the page. Read first: an order that is added meanwhile must not move it back.
    const end =
      status === undefined
        ? undefined
        : (skip.get(start, MAX_SCANNED_ROWS - 1) as unknown as readonly [id: bigint] | undefined)?.[0];
    // One row more than the page holds tells whether there is a next one.
    const found =
      status === undefined
        ? rows.all(start, limit + 1)
        : rowsWithStatus.all(start, end ?? greatest, status, limit + 1);
    const page = (found as unknown as (readonly [id: bigint, ...OrderRow])[]).slice(0, limit);
    const orders = page.map(([, ...row]) => toOrder(row));
    const next = found.length > limit ? page.at(-1)?.[0] : end;
    return next === undefined ? { orders } : { orders, next };
  };
}

/** Rows of one page: 80 to 140 KB, which are read in a fraction of a millisecond. Larger pages take longer per row. */
const PAGE_SIZE = 1_000;
const PAGE_RANGE = BigInt(PAGE_SIZE);

/** A range with less text is sparse: each page costs as much as 6 KB of text, and 10 KB if it is sent. */
const MIN_DENSE_CHARS = 25_000;

interface PageStart {
  /** The first identifier of the page. */
  readonly id: bigint;
  /** True where a range of identifiers is expected to make a page. */
  readonly isDense: boolean;
}

const FIRST_PAGE: PageStart = { id: MIN_INT64, isDense: false };

interface ListPage {
  readonly json: string;
  /** Missing after the last page. */
  readonly next?: PageStart;
}

/** One nullable string column. */
type TextRow = readonly [json: string | null];

/** Pages of the list. SQLite joins their rows, so that one string is transferred instead of an object per row. */
function listPageQuery(db: DatabaseSync): (start: PageStart) => ListPage {
  // Most lists are short: one statement checks that there is only one page and returns it. In a WHERE clause the check
  // would run for every row.
  const wholeTable = db.prepare(
    `SELECT CASE WHEN EXISTS (SELECT 1 FROM orders LIMIT 1 OFFSET ?) THEN NULL
       ELSE (SELECT coalesce(group_concat(record, ','), '') FROM orders) END AS json`,
  );
  // A plain range is read in key order; with LIMIT or ORDER BY inside, the query takes two to five times as long.
  const rowsBetween = db.prepare(
    "SELECT group_concat(record, ',') AS json FROM orders WHERE id >= ? AND id < ?",
  );
  const rowsFrom = db.prepare("SELECT group_concat(record, ',') AS json FROM orders WHERE id >= ?");
  const skipRows = db.prepare("SELECT id FROM orders WHERE id >= ? ORDER BY id LIMIT 1 OFFSET ?");
  skipRows.setReadBigInts(true);
  for (const statement of [wholeTable, rowsBetween, rowsFrom, skipRows]) statement.setReturnArrays(true);

  const join = (from: bigint, end: bigint | undefined) => {
    const row = end === undefined ? rowsFrom.get(from) : rowsBetween.get(from, end);
    return (row as TextRow | undefined)?.[0] ?? "";
  };
  const idAfter = (from: bigint, rows: number) =>
    (skipRows.get(from, rows) as readonly [id: bigint] | undefined)?.[0];

  /** Reads exactly one page, wherever it ends. */
  function readRows(id: bigint): ListPage {
    const end = idAfter(id, PAGE_SIZE);
    const json = join(id, end);
    return end === undefined ? { json } : { json, next: { id: end, isDense: end - id < 2n * PAGE_RANGE } };
  }

  /** Reads a range of identifiers, which is at most one page. It saves skipping the rows to find their end. */
  function readRange(id: bigint): ListPage {
    const end = id + PAGE_RANGE;
    const json = join(id, end);
    const next = idAfter(end, 0);
    return next === undefined
      ? { json }
      : { json, next: { id: next, isDense: json.length >= MIN_DENSE_CHARS } };
  }

  return ({ id, isDense }) => {
    if (isDense && id <= MAX_INT64 - PAGE_RANGE) return readRange(id);
    const all = id === MIN_INT64 ? (wholeTable.get(PAGE_SIZE) as unknown as TextRow)[0] : undefined;
    return typeof all === "string" ? { json: all } : readRows(id);
  };
}
