import type { DatabaseSync } from "node:sqlite";
import { StoreUnavailableError } from "../../core/errors.ts";
import { MAX_INT64, MIN_INT64 } from "../../orders/int64.ts";
import type { FoundRange, ListPage, OrderRange } from "../order-rows.ts";
import { prepareAll, type SqliteDatabase } from "./database.ts";

interface ListQueries {
  listPage(start: PageStart): ListPage<PageStart>;
}

/** All pages are from one connection: that of `queries`, if they are given. */
export function pageReader(
  { read }: Pick<SqliteDatabase<{ readonly orders: ListQueries }>, "read">,
  queries?: ListQueries,
): (from?: PageStart) => Promise<ListPage<PageStart>> {
  let opened = queries;
  return (from = FIRST_PAGE) =>
    read(({ orders }) => {
      opened ??= orders;
      if (opened !== orders) throw new StoreUnavailableError("The database was replaced during a list.");
      return orders.listPage(from);
    });
}

/** Rows among which one page looks for a status. It takes a few milliseconds, in which other requests wait. */
const MAX_SCANNED_ROWS = 10_000;

export function rangeQuery(db: DatabaseSync): (range: OrderRange) => FoundRange {
  const prepareIn = (direction: "ASC" | "DESC") => {
    const [from, to] = direction === "ASC" ? [">=", "<="] : ["<=", ">="];
    const sql = {
      rows: `SELECT id, status, record FROM main.orders WHERE id ${from} ? ORDER BY id ${direction} LIMIT ?`,
      rowsWithStatus: `SELECT id, status, record FROM main.orders WHERE id ${from} ? AND id ${to} ? AND status = ?
        ORDER BY id ${direction} LIMIT ?`,
      skip: `SELECT id FROM main.orders WHERE id ${from} ? ORDER BY id ${direction} LIMIT 1 OFFSET ?`,
    };
    return prepareAll(db, sql, "setReturnArrays", "setReadBigInts");
  };
  const directions = { asc: prepareIn("ASC"), desc: prepareIn("DESC") };

  return ({ from, isDescending, status, limit }) => {
    const { rows, rowsWithStatus, skip } = directions[isDescending ? "desc" : "asc"];
    const toRows = (found: unknown) => found as FoundRange["rows"];
    if (status === undefined) return { rows: toRows(rows.all(from, limit)) };
    // The last possible end of the page. Read first: an order that is added meanwhile must not move it back.
    const [end] = (skip.get(from, MAX_SCANNED_ROWS - 1) ?? []) as unknown as readonly [end?: bigint];
    const last = end ?? (isDescending ? MIN_INT64 : MAX_INT64);
    return { rows: toRows(rowsWithStatus.all(from, last, status, limit)), end };
  };
}

/** 80 to 140 KB, which are read in a fraction of a millisecond. Larger pages take longer per row. */
const PAGE_SIZE = 1_000;
const PAGE_RANGE = BigInt(PAGE_SIZE);

/** A range with less text is sparse: each page costs as much as 6 KB of text, and 10 KB if it is sent. */
const MIN_DENSE_CHARS = 25_000;

export interface PageStart {
  readonly id: bigint;
  /** True where a range of identifiers is expected to make a page. */
  readonly isDense: boolean;
}

export const FIRST_PAGE: PageStart = { id: MIN_INT64, isDense: false };

type TextRow = readonly [json: string | null];

/** SQLite joins the rows of a page, so that one string is transferred instead of an object per row. */
export function listPageQuery(db: DatabaseSync): (start: PageStart) => ListPage<PageStart> {
  const sql = {
    // Most lists are short: one statement checks that there is one page and returns it. In WHERE, it would check each row.
    wholeTable: `SELECT CASE WHEN EXISTS (SELECT 1 FROM main.orders LIMIT 1 OFFSET ?) THEN NULL
      ELSE (SELECT coalesce(group_concat(record, ','), '') FROM main.orders) END AS json`,
    // A plain range is read in key order; with LIMIT or ORDER BY inside, the query takes two to five times as long.
    rowsBetween: "SELECT group_concat(record, ',') AS json FROM main.orders WHERE id >= ? AND id < ?",
    rowsFrom: "SELECT group_concat(record, ',') AS json FROM main.orders WHERE id >= ?",
    skipRows: "SELECT id FROM main.orders WHERE id >= ? ORDER BY id LIMIT 1 OFFSET ?",
  };
  const options = ["setReturnArrays", "setReadBigInts"] as const;
  const { wholeTable, rowsBetween, rowsFrom, skipRows } = prepareAll(db, sql, ...options);

  const join = (from: bigint, end: bigint | undefined) => {
    const row = end === undefined ? rowsFrom.get(from) : rowsBetween.get(from, end);
    return (row as unknown as TextRow)[0] ?? "";
  };
  const idAfter = (from: bigint, rows: number) =>
    (skipRows.get(from, rows) as readonly [id: bigint] | undefined)?.[0];

  function readRows(id: bigint): ListPage<PageStart> {
    const end = idAfter(id, PAGE_SIZE);
    const json = join(id, end);
    return end === undefined ? { json } : { json, next: { id: end, isDense: end - id < 2n * PAGE_RANGE } };
  }

  /** Reads a range of identifiers, which is at most one page. It saves skipping the rows to find their end. */
  function readRange(id: bigint): ListPage<PageStart> {
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
