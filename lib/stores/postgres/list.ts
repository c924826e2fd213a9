import { MAX_INT64, MIN_INT64 } from "../../orders/int64.ts";
import { sumByStatus } from "../../orders/lifecycle.ts";
import type { OrderQuery, OrderQueryPage } from "../../orders/order-query.ts";
import type { OrderCounts, OrderPage } from "../../orders/order-store.ts";
import type { StoreOutcome } from "../../orders/store-operation.ts";
import { readOrders } from "../order-rows.ts";
import { type Database, IS, type Rows, type Statement } from "./database.ts";

/** Rows of one page of the list: 80 to 140 KB. */
const PAGE_SIZE = 1_000;

/** The statement that reads the first page of the list, or that beyond an identifier. The server joins the rows. */
export function listPageStatement(schema: string, after?: bigint): Statement {
  return {
    text: `SELECT pg_catalog.count(*), pg_catalog.max(id), pg_catalog.string_agg(record, ',' ORDER BY id) FROM (
             SELECT id, record FROM ${schema}.orders ${after === undefined ? "" : "WHERE id OPERATOR(pg_catalog.>) $1"}
             ORDER BY id LIMIT ${PAGE_SIZE}) page`,
    values: after === undefined ? [] : [after],
  };
}

interface ListPage {
  readonly json: string;
  /** The last identifier. Missing on the last page. */
  readonly next?: bigint;
}

function toListPage(rows: Rows): ListPage {
  const [count, last, json] = rows[0] ?? [];
  return { json: `${json ?? ""}`, ...(Number(count) < PAGE_SIZE ? {} : { next: toBigInt(last) }) };
}

function toBigInt(value: unknown): bigint {
  return BigInt(value as string);
}

/** The list, page by page. The next page is read while the consumer works on one. */
export async function* listPages(database: Database, start?: bigint): AsyncGenerator<OrderPage> {
  const read = async (after?: bigint) =>
    toListPage(await database.read(listPageStatement(database.schema, after)));
  for (let after = start; ; ) {
    const { json, next } = await read(after);
    yield { json, last: next === undefined };
    if (next === undefined) return;
    after = next;
  }
}

/** The outcome of a list whose first page was read in the transaction that admitted the request. */
export function listOutcome(database: Database, rows: Rows): StoreOutcome {
  const { json, next } = toListPage(rows);
  const rest = next === undefined ? noPages() : listPages(database, next);
  return { type: "list", first: { json, last: next === undefined }, rest };
}

async function* noPages(): AsyncGenerator<OrderPage> {}

/** Rows among which one page looks for a status. */
const MAX_SCANNED_ROWS = 50_000;

/** Reads one page of a query. */
export async function readPage(
  { schema, read: readRows }: Pick<Database, "schema" | "read">,
  { after, status, order = "asc", limit }: OrderQuery,
): Promise<OrderQueryPage> {
  const isAscending = order === "asc";
  // No order is beyond the greatest identifier, and every one is beyond a number below the least.
  const isBeyondAll = after !== undefined && (isAscending ? after >= MAX_INT64 : after <= MIN_INT64);
  if (isBeyondAll) return { orders: [] };
  const isBeforeAll = after === undefined || (isAscending ? after < MIN_INT64 : after > MAX_INT64);
  const start = isBeforeAll ? "true" : `id OPERATOR(pg_catalog.${isAscending ? ">" : "<"}) $1`;
  const sequence = `ORDER BY id ${isAscending ? "ASC" : "DESC"}`;
  const [bound, filter] =
    status === undefined
      ? ["NULL::bigint", ""]
      : [
          `(SELECT id FROM ${schema}.orders WHERE ${start} ${sequence} LIMIT 1 OFFSET ${MAX_SCANNED_ROWS - 1})`,
          `AND status ${IS} '${status}'
             AND (b.id IS NULL OR o.id OPERATOR(pg_catalog.${isAscending ? "<=" : ">="}) b.id)`,
        ];
  // One row more than the page holds tells whether there is a next one.
  const rows = await readRows({
    text: `SELECT true, b.id, o.id, o.status, o.record FROM (SELECT ${bound} AS id) b LEFT JOIN LATERAL (
             SELECT id, status, record FROM ${schema}.orders o WHERE ${start.replace("id", "o.id")} ${filter}
             ${sequence.replace("id", "o.id")} LIMIT ${limit + 1}) o ON true`,
    values: isBeforeAll ? [] : [after],
    isRare: true,
  });
  const found = rows.filter(([, , id]) => id !== null);
  const page = found.slice(0, limit);
  const read = readOrders(page.map(([, , id, state, record]) => [toBigInt(id), `${state}`, `${record}`]));
  const next = found.length > limit ? page.at(-1)?.[2] : rows[0]?.[1];
  return next === undefined || next === null ? read : { ...read, next: toBigInt(next) };
}

/** Counts the orders by status. The server reads every order. */
export async function countOrders({ schema, read }: Pick<Database, "schema" | "read">): Promise<OrderCounts> {
  const text = `SELECT status, pg_catalog.count(*) FROM ${schema}.orders GROUP BY status`;
  return sumByStatus((await read({ text })).map(([status, count]) => [status, Number(count)]));
}
