import { sumByStatus } from "../../orders/lifecycle.ts";
import type { OrderCounts } from "../../orders/order-store.ts";
import type { FoundRange, ListPage, OrderRange } from "../order-rows.ts";
import { type Database, IS } from "./database.ts";
import type { Rows, Statement } from "./statement.ts";

/** Rows of one page of the list: 80 to 140 KB. */
const PAGE_SIZE = 1_000;

export function listPageStatement(schema: string, after?: bigint): Statement {
  return {
    text: `SELECT pg_catalog.count(*), pg_catalog.max(id), pg_catalog.string_agg(record, ',' ORDER BY id) FROM (
             SELECT id, record FROM ${schema}.orders ${after === undefined ? "" : "WHERE id OPERATOR(pg_catalog.>) $1"}
             ORDER BY id LIMIT ${PAGE_SIZE}) page`,
    values: after === undefined ? [] : [after],
  };
}

export function toListPage(rows: Rows): ListPage<bigint> {
  const [count, last, json] = rows[0] ?? [];
  return { json: `${json ?? ""}`, ...(Number(count) < PAGE_SIZE ? {} : { next: BigInt(last as string) }) };
}

export const pageReader =
  ({ schema, read }: Pick<Database, "schema" | "read">) =>
  async (after?: bigint) =>
    toListPage(await read(listPageStatement(schema, after)));

/** Rows among which one page looks for a status. */
const MAX_SCANNED_ROWS = 50_000;

export async function readRange(
  { schema, read }: Pick<Database, "schema" | "read">,
  { from, isDescending, status, limit }: OrderRange,
): Promise<FoundRange> {
  const start = `id OPERATOR(pg_catalog.${isDescending ? "<=" : ">="}) $1`;
  const sequence = `ORDER BY id ${isDescending ? "DESC" : "ASC"}`;
  const [bound, filter] =
    status === undefined
      ? ["NULL::bigint", ""]
      : [
          `(SELECT id FROM ${schema}.orders WHERE ${start} ${sequence} LIMIT 1 OFFSET ${MAX_SCANNED_ROWS - 1})`,
          `AND status ${IS} '${status}'
             AND (b.id IS NULL OR o.id OPERATOR(pg_catalog.${isDescending ? ">=" : "<="}) b.id)`,
        ];
  const found = await read({
    text: `SELECT true, b.id, o.id, o.status, o.record FROM (SELECT ${bound} AS id) b LEFT JOIN LATERAL (
             SELECT id, status, record FROM ${schema}.orders o WHERE ${start.replace("id", "o.id")} ${filter}
             ${sequence.replace("id", "o.id")} LIMIT ${limit}) o ON true`,
    values: [from],
    isRare: true,
  });
  const rows = found.flatMap(([, , id, state, record]) =>
    id === null ? [] : [[BigInt(id as string), `${state}`, `${record}`] as const],
  );
  const end = found[0]?.[1] ?? null;
  return { rows, end: end === null ? undefined : BigInt(end as string) };
}

/** The server reads every order. */
export async function countOrders({ schema, read }: Pick<Database, "schema" | "read">): Promise<OrderCounts> {
  const text = `SELECT status, pg_catalog.count(*) FROM ${schema}.orders GROUP BY status`;
  return sumByStatus((await read({ text })).map(([status, count]) => [status, Number(count)]));
}
