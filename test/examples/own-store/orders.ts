import {
  isChange,
  type OrderQuery,
  type OrderStatus,
  type OrderStore,
  type OrderWithHistory,
  orderToJson,
  systemClock,
  toLine,
  transition,
  validateOrderQuery,
} from "store-orders";
import { readData, writeData } from "./data-file.ts";

const PAGE_SIZE = 500;

/** The orders in a file. No other code runs between a read and its write, so every change is atomic. */
export function ordersIn(path: string): OrderStore {
  /** One more order than the page has, if there is one. */
  function read({ after, status, order = "asc", limit }: OrderQuery): readonly OrderWithHistory[] {
    const sign = order === "asc" ? 1 : -1;
    return [...readData(path).orders.values()]
      .filter(
        ({ record }) => after === undefined || (order === "asc" ? record.id > after : record.id < after),
      )
      .filter((each) => status === undefined || each.status === status)
      .sort((a, b) => (a.record.id < b.record.id ? -sign : sign))
      .slice(0, limit + 1);
  }

  return {
    async place(placed, at = systemClock(), origin = {}) {
      const data = readData(path);
      const orders = new Map(data.orders);
      const outcomes = placed.map((order) => {
        const existing = orders.get(order.record.id);
        if (existing !== undefined) return toLine(existing) === toLine(order) ? "unchanged" : "conflict";
        orders.set(order.record.id, { ...order, history: [{ event: "place", at, ...origin }] });
        return "placed";
      });
      if (orders.size > data.orders.size) writeData(path, { ...data, orders });
      return outcomes;
    },

    find: async (id) => readData(path).orders.get(id),

    async apply(id, event, at, origin = {}) {
      const data = readData(path);
      const order = data.orders.get(id);
      if (order === undefined) return { ok: false, code: "order_not_found" };
      const result = transition(order, event, at);
      if (!result.ok || !isChange(order, event)) return result;
      const history = [...order.history, { event, at, ...origin }];
      writeData(path, { ...data, orders: new Map(data.orders).set(id, { ...result.order, history }) });
      return result;
    },

    async *list() {
      for (let after: bigint | undefined; ; ) {
        const found = read({ after, limit: PAGE_SIZE });
        const page = found.slice(0, PAGE_SIZE);
        const last = found.length <= PAGE_SIZE;
        yield { json: page.map(({ record }) => orderToJson(record)).join(","), last };
        if (last) return;
        after = page.at(-1)?.record.id;
      }
    },

    async page(query) {
      validateOrderQuery(query);
      const found = read(query);
      const orders = found.slice(0, query.limit).map(({ record, status }) => ({ record, status }));
      const last = orders.at(-1);
      return found.length > query.limit && last !== undefined ? { orders, next: last.record.id } : { orders };
    },

    async countByStatus() {
      const all = [...readData(path).orders.values()];
      const count = (status: OrderStatus) => all.filter((order) => order.status === status).length;
      return { pending: count("pending"), shipped: count("shipped"), cancelled: count("cancelled") };
    },
  };
}
