import type { Instant } from "../../clock.ts";
import { type OrderEvent, type OrderStatus, type StoredOrder, transition } from "../../orders/lifecycle.ts";
import type { AppliedEvent, OrderStore, PlaceOutcome } from "../../orders/order-store.ts";
import { fromWire, toWire } from "../../orders/wire.ts";
import type { Connection } from "./connection.ts";

/** Rows of one page: some 50 KB, little enough that a page never holds up the event loop. */
const PAGE = 500;
const FIRST = -(2n ** 63n);
const LAST = 2n ** 63n - 1n;

/** Orders in the table `orders`. */
export function sqliteOrders({ db, read, write }: Connection): OrderStore {
  const insert = db.prepare(
    "INSERT INTO orders (id, status, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const same = db.prepare("SELECT 1 FROM orders WHERE id = ? AND status = ? AND record = ?");
  // Rows as objects are made in V8's old memory, a hundred bytes for each row; a million of them are noticed.
  same.setReturnArrays(true);
  const select = db.prepare("SELECT status, record FROM orders WHERE id = ?");
  const update = db.prepare("UPDATE orders SET status = ?, record = ? WHERE id = ?");
  const pageOfOrders = db.prepare("SELECT status, record FROM orders WHERE id >= ? ORDER BY id LIMIT ?");
  // SQLite joins the rows: one string comes over instead of an object a row. A plain range in one table is read in
  // the order of its key; with LIMIT or ORDER BY inside, the same takes two to five times as long.
  const rowsBetween = db.prepare(
    "SELECT group_concat(record, ',') AS rows FROM orders WHERE id >= ? AND id < ?",
  );
  const rowsToTheEnd = db.prepare("SELECT group_concat(record, ',') AS rows FROM orders WHERE id >= ?");
  const startOfNext = db.prepare("SELECT id FROM orders WHERE id >= ? ORDER BY id LIMIT 1 OFFSET ?");
  startOfNext.setReadBigInts(true);

  // Most lists are short: one statement tells that there is no second page, and gives the first. In a WHERE the same
  // condition would be looked at again for every row.
  const rowsOfOnePage = db.prepare(
    `SELECT CASE WHEN EXISTS (SELECT 1 FROM orders LIMIT 1 OFFSET ?) THEN NULL
       ELSE (SELECT coalesce(group_concat(record, ','), '') FROM orders) END AS rows`,
  );

  function readPage(from: bigint): { readonly rows: string; readonly next: bigint | undefined } {
    const all = from === FIRST ? rowsOfOnePage.get(PAGE)?.["rows"] : undefined;
    if (typeof all === "string") return { rows: all, next: undefined };
    const next = startOfNext.get(from, PAGE)?.["id"] as bigint | undefined;
    const joined = next === undefined ? rowsToTheEnd.get(from) : rowsBetween.get(from, next);
    return { rows: (joined?.["rows"] ?? "") as string, next };
  }

  function find(id: bigint): StoredOrder | undefined {
    const row = select.get(id) as unknown as OrderRow | undefined;
    return row && toOrder(row);
  }

  function placeOne(order: StoredOrder): PlaceOutcome {
    const { record, status } = order;
    const wire = toWire(record);
    if (insert.run(record.id, status, wire).changes === 1) return "placed";
    return same.get(record.id, status, wire) === undefined ? "conflict" : "unchanged";
  }

  function apply<E extends OrderEvent>(id: bigint, event: E, at: Instant): AppliedEvent<E> {
    const order = find(id);
    if (order === undefined) return { ok: false, code: "order_not_found" };
    const result = transition(order, event, at);
    if (result.ok) update.run(result.order.status, toWire(result.order.record), id);
    return result;
  }

  return {
    place: (orders) => write("durable", () => orders.map(placeOne)),
    find: (id) => read(() => find(id)),
    apply: (id, event, at) => write("durable", () => apply(id, event, at)),

    async *list() {
      let from: bigint | undefined = FIRST;
      while (from !== undefined) {
        const start: bigint = from;
        const page = await read(() => readPage(start));
        from = page.next;
        yield { json: page.rows, last: from === undefined };
      }
    },

    async *scan(after) {
      let from = after === undefined ? FIRST : after + 1n;
      while (from <= LAST) {
        const start = from;
        const page = (await read(() => pageOfOrders.all(start, PAGE) as unknown as OrderRow[])).map(toOrder);
        if (page.length > 0) yield page;
        const last = page.length < PAGE ? undefined : page.at(-1);
        if (last === undefined) return;
        from = last.record.id + 1n;
      }
    },
  };
}

interface OrderRow {
  readonly status: OrderStatus;
  readonly record: string;
}

function toOrder({ status, record }: OrderRow): StoredOrder {
  return { record: fromWire(record), status };
}
