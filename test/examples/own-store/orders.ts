import { type OrderStore, type StoredOrder, toLine, toWire, transition } from "store-orders";
import { readData, writeData } from "./data-file.ts";

const PAGE_SIZE = 500;

/** The orders in a file. No other code runs between a read and its write, so every change is atomic. */
export function ordersIn(path: string): OrderStore {
  async function* scan(after?: bigint) {
    for (let from = after; ; ) {
      const page = ordersAfter(from).slice(0, PAGE_SIZE);
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      from = last.record.id;
    }
  }

  function ordersAfter(after: bigint | undefined): readonly StoredOrder[] {
    return [...readData(path).orders.values()]
      .filter(({ record }) => after === undefined || record.id > after)
      .sort((a, b) => (a.record.id < b.record.id ? -1 : 1));
  }

  return {
    async place(placed) {
      const data = readData(path);
      const orders = new Map(data.orders);
      const outcomes = placed.map((order) => {
        const existing = orders.get(order.record.id);
        if (existing !== undefined) return toLine(existing) === toLine(order) ? "unchanged" : "conflict";
        orders.set(order.record.id, order);
        return "placed";
      });
      if (orders.size > data.orders.size) writeData(path, { ...data, orders });
      return outcomes;
    },

    find: async (id) => readData(path).orders.get(id),

    async apply(id, event, at) {
      const data = readData(path);
      const order = data.orders.get(id);
      if (order === undefined) return { ok: false, code: "order_not_found" };
      const result = transition(order, event, at);
      if (result.ok) writeData(path, { ...data, orders: new Map(data.orders).set(id, result.order) });
      return result;
    },

    async *list() {
      for await (const page of scan()) {
        yield { json: page.map(({ record }) => toWire(record)).join(","), last: page.length < PAGE_SIZE };
        if (page.length < PAGE_SIZE) return;
      }
      yield { json: "", last: true };
    },

    scan,
  };
}
