import {
  DamagedOrderError,
  decideEvent,
  newChange,
  type OrderQuery,
  type OrderStatus,
  type OrderStore,
  orderToJson,
  systemClock,
  toLine,
  validateOrderQuery,
} from "store-orders";
import { type Data, readData, writeData } from "./data-file.ts";

const PAGE_SIZE = 500;

/** The orders in a file. No other code runs between a read and its write, so every change is atomic. */
export function ordersIn(path: string): OrderStore {
  /** The identifiers of a page, also of damaged orders, whatever their status was. One more if another page follows. */
  function idsOf({ orders, damaged }: Data, { after, status, order = "asc", limit }: OrderQuery) {
    const sign = order === "asc" ? 1 : -1;
    return [...orders.keys(), ...damaged.keys()]
      .filter((id) => after === undefined || (order === "asc" ? id > after : id < after))
      .filter((id) => status === undefined || (orders.get(id)?.status ?? status) === status)
      .sort((a, b) => (a < b ? -sign : sign))
      .slice(0, limit + 1);
  }

  /** The file, if this order in it can be read. */
  function readDataOf(id: bigint): Data {
    const data = readData(path);
    if (data.damaged.has(id)) throw new DamagedOrderError(problemOf(id));
    return data;
  }

  return {
    async place(placed, at = systemClock(), origin) {
      const data = readData(path);
      const orders = new Map(data.orders);
      const outcomes = placed.map((order) => {
        if (data.damaged.has(order.record.id)) return "conflict";
        const existing = orders.get(order.record.id);
        if (existing !== undefined) return toLine(existing) === toLine(order) ? "unchanged" : "conflict";
        orders.set(order.record.id, { ...order, history: [newChange("place", at, origin)] });
        return "placed";
      });
      if (orders.size > data.orders.size) writeData(path, { ...data, orders });
      return outcomes;
    },

    find: async (id) => readDataOf(id).orders.get(id),

    async apply(id, event, at, origin) {
      const data = readDataOf(id);
      const order = data.orders.get(id);
      if (order === undefined) return { ok: false, code: "order_not_found" };
      const { result, changed } = decideEvent(order, event, at);
      if (changed === undefined) return result;
      const history = [...order.history, newChange(event, at, origin)];
      writeData(path, { ...data, orders: new Map(data.orders).set(id, { ...changed, history }) });
      return result;
    },

    async *list() {
      for (let after: bigint | undefined; ; ) {
        const data = readData(path);
        const found = idsOf(data, { after, limit: PAGE_SIZE });
        const page = found.slice(0, PAGE_SIZE);
        const last = found.length <= PAGE_SIZE;
        const records = page.flatMap((id) => data.orders.get(id)?.record ?? []);
        yield { json: records.map(orderToJson).join(","), last };
        if (last) return;
        after = page.at(-1);
      }
    },

    async page(query) {
      validateOrderQuery(query);
      const data = readData(path);
      const found = idsOf(data, query);
      const ids = found.slice(0, query.limit);
      const read = ids.flatMap((id) => data.orders.get(id) ?? []);
      const orders = read.map(({ record, status }) => ({ record, status }));
      const damaged = ids.filter((id) => data.damaged.has(id)).map((id) => ({ id, problem: problemOf(id) }));
      const next = found.length > query.limit ? ids.at(-1) : undefined;
      return { orders, damaged, ...(next !== undefined && { next }) };
    },

    async countByStatus() {
      const all = [...readData(path).orders.values()];
      const count = (status: OrderStatus) => all.filter((order) => order.status === status).length;
      return { pending: count("pending"), shipped: count("shipped"), cancelled: count("cancelled") };
    },
  };
}

function problemOf(id: bigint): string {
  return `The line of order ${id} is damaged.`;
}
