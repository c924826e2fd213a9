import { randomUUID } from "node:crypto";
import type { Instant } from "../../clock.ts";
import { MAX_INT64, MIN_INT64 } from "../../orders/int64.ts";
import type { OrderEvent, StoredOrder } from "../../orders/lifecycle.ts";
import type { ApplyResult, OrderStore } from "../../orders/order-store.ts";
import { readStoredOrder, transitionStoredOrder } from "../../orders/stored-order.ts";
import { toWire } from "../../orders/wire.ts";
import type { Connection } from "./connection.ts";
import { orderPages } from "./order-pages.ts";
import { orderPlacer } from "./place-orders.ts";

/** Rows that `scan` reads at once. */
const SCAN_SIZE = 500;

/** The order store over the table `orders`. */
export function sqliteOrders({ db, read, write }: Connection): OrderStore {
  const place = orderPlacer(db);
  const select = db.prepare("SELECT status, record FROM orders WHERE id = ?");
  select.setReturnArrays(true);
  const update = db.prepare("UPDATE orders SET status = ?, record = ? WHERE id = ?");
  const updateStatus = db.prepare("UPDATE orders SET status = ? WHERE id = ?");
  const selectPage = db.prepare("SELECT status, record FROM orders WHERE id >= ? ORDER BY id LIMIT ?");
  selectPage.setReturnArrays(true);

  // SQLite counts the commits of other connections and the rows that this one changed, both since it was opened.
  const connectionId = randomUUID();
  const dataVersion = db.prepare("PRAGMA data_version");
  const ownChanges = db.prepare("SELECT total_changes() AS count");

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

  return {
    place: (orders) => write("durable", () => place(orders)),
    find: (id) => read(() => find(id)),
    apply: (id, event, at) => write("durable", () => apply(id, event, at)),
    list: orderPages({ db, read }),

    async *scan(after, limit = SCAN_SIZE) {
      const pageSize = Math.min(limit, SCAN_SIZE);
      let from = after === undefined ? MIN_INT64 : after + 1n;
      while (from <= MAX_INT64) {
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

/** An array, because Node creates a hidden class for each row that is an object. */
type OrderRow = readonly [status: string, record: string];

function toOrder([status, record]: OrderRow): StoredOrder {
  return readStoredOrder(record, status);
}
