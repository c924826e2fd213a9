import { MAX_INT64, MIN_INT64 } from "../../orders/int64.ts";
import type { OrderPage } from "../../orders/order-store.ts";
import type { Connection } from "./connection.ts";

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

interface Page {
  readonly json: string;
  /** Missing after the last page. */
  readonly next?: PageStart;
}

/** A row of one text, or of NULL. An array, because Node creates a hidden class for each row that is an object. */
type TextRow = readonly [json: string | null];

/**
 * Creates the list of all orders. SQLite joins the rows of a page, so that one string is transferred instead of an
 * object per row.
 */
export function orderPages({ db, read }: Pick<Connection, "db" | "read">): () => AsyncIterable<OrderPage> {
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

  function readPage({ id, isDense }: PageStart): Page {
    if (isDense && id <= MAX_INT64 - PAGE_RANGE) return readRange(id);
    const all = id === MIN_INT64 ? (wholeTable.get(PAGE_SIZE) as unknown as TextRow)[0] : undefined;
    return typeof all === "string" ? { json: all } : readRows(id);
  }

  /** Reads exactly one page, wherever it ends. */
  function readRows(id: bigint): Page {
    const end = idAfter(id, PAGE_SIZE);
    const json = join(id, end);
    return end === undefined ? { json } : { json, next: { id: end, isDense: end - id < 2n * PAGE_RANGE } };
  }

  /** Reads a range of identifiers, which is at most one page. It saves skipping the rows to find their end. */
  function readRange(id: bigint): Page {
    const end = id + PAGE_RANGE;
    const json = join(id, end);
    const next = idAfter(end, 0);
    return next === undefined
      ? { json }
      : { json, next: { id: next, isDense: json.length >= MIN_DENSE_CHARS } };
  }

  return async function* list() {
    for (let start: PageStart | undefined = { id: MIN_INT64, isDense: false }; start !== undefined; ) {
      const from: PageStart = start;
      const { json, next } = await read(() => readPage(from));
      yield { json, last: next === undefined };
      start = next;
    }
  };
}
