import { randomUUID } from "node:crypto";
import type { Instant } from "../../clock.ts";
import { type OrderEvent, type OrderStatus, type StoredOrder, transition } from "../../orders/lifecycle.ts";
import type { ApplyResult, OrderStore } from "../../orders/order-store.ts";
import { fromWire, toWire } from "../../orders/wire.ts";
import type { Connection } from "./connection.ts";
import { orderPlacer } from "./place-orders.ts";

/** Rows of one page: 40 to 70 KB, so that reading a page blocks the event loop only briefly. */
const PAGE_SIZE = 500;
const MIN_ID = -(2n ** 63n);
const MAX_ID = 2n ** 63n - 1n;

/** The order store over the table `orders`. */
export function sqliteOrders({ db, read, write }: Connection): OrderStore {
  const place = orderPlacer(db);
  const select = db.prepare("SELECT status, record FROM orders WHERE id = ?");
  const update = db.prepare("UPDATE orders SET status = ?, record = ? WHERE id = ?");
  const updateStatus = db.prepare("UPDATE orders SET status = ? WHERE id = ?");
  const selectPage = db.prepare("SELECT status, record FROM orders WHERE id >= ? ORDER BY id LIMIT ?");
  // SQLite joins the rows, so that one string is transferred instead of an object per row. A plain range is read in key
  // order; with LIMIT or ORDER BY inside, the query takes two to five times as long.
  const rowsBetween = db.prepare(
    "SELECT group_concat(record, ',') AS json FROM orders WHERE id >= ? AND id < ?",
  );
  const rowsFrom = db.prepare("SELECT group_concat(record, ',') AS json FROM orders WHERE id >= ?");
  const nextPageStart = db.prepare("SELECT id FROM orders WHERE id >= ? ORDER BY id LIMIT 1 OFFSET ?");
  nextPageStart.setReadBigInts(true);

  // Most lists are short: one statement checks that there is only one page and returns it. In a WHERE clause the check
  // would run for every row.
  const wholeTable = db.prepare(
    `SELECT CASE WHEN EXISTS (SELECT 1 FROM orders LIMIT 1 OFFSET ?) THEN NULL
       ELSE (SELECT coalesce(group_concat(record, ','), '') FROM orders) END AS json`,
  );

  // SQLite counts the commits of other connections and the rows that this one changed, both since it was opened.
  const connectionId = randomUUID();
  const dataVersion = db.prepare("PRAGMA data_version");
  const ownChanges = db.prepare("SELECT total_changes() AS count");

  function readPage(from: bigint): { readonly json: string; readonly next: bigint | undefined } {
    const all = from === MIN_ID ? wholeTable.get(PAGE_SIZE)?.["json"] : undefined;
    if (typeof all === "string") return { json: all, next: undefined };
    const next = nextPageStart.get(from, PAGE_SIZE)?.["id"] as bigint | undefined;
    const joined = next === undefined ? rowsFrom.get(from) : rowsBetween.get(from, next);
    return { json: (joined?.["json"] ?? "") as string, next };
  }

  function find(id: bigint): StoredOrder | undefined {
    const row = select.get(id) as unknown as OrderRow | undefined;
    return row && toOrder(row);
  }

  function apply<E extends OrderEvent>(id: bigint, event: E, at: Instant): ApplyResult<E> {
    const order = find(id);
    if (order === undefined) return { ok: false, code: "order_not_found" };
    const result = transition(order, event, at);
    if (!result.ok) return result;
    const { record, status } = result.order;
    if (record === order.record) updateStatus.run(status, id);
    else update.run(status, toWire(record), id);
    return result;
  }

  return {
    place: (orders) => write("durable", () => place(orders)),
    find: (id) => read(() => find(id)),
    apply: (id, event, at) => write("durable", () => apply(id, event, at)),

    async *list() {
      let from: bigint | undefined = MIN_ID;
      while (from !== undefined) {
        const start: bigint = from;
        const page = await read(() => readPage(start));
        from = page.next;
        yield { json: page.json, last: from === undefined };
      }
    },

    async *scan(after, limit = PAGE_SIZE) {
      const pageSize = Math.min(limit, PAGE_SIZE);
      let from = after === undefined ? MIN_ID : after + 1n;
      while (from <= MAX_ID) {
        const start = from;
        const page = (await read(() => selectPage.all(start, pageSize) as unknown as OrderRow[])).map(
          toOrder,
        );
        if (page.length > 0) yield page;
        const lastOrder = page.length < pageSize ? undefined : page.at(-1);
        if (lastOrder === undefined) return;
        from = lastOrder.record.id + 1n;
      }
    },

    revision: () =>
      read(() => `${connectionId} ${dataVersion.get()?.["data_version"]} ${ownChanges.get()?.["count"]}`),
  };
}

interface OrderRow {
  readonly status: OrderStatus;
  readonly record: string;
}

function toOrder({ status, record }: OrderRow): StoredOrder {
  return { record: fromWire(record), status };
}
