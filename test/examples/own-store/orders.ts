import { type OrderStore, type StoredOrder, toLine, toWire, transition } from "store-orders";
import { readShop, writeShop } from "./shop-file.ts";

const PAGE = 500;

/** The orders of a file. Between a read and its write nothing else runs, so every change is atomic. */
export function ordersIn(path: string): OrderStore {
  async function* scan(after?: bigint) {
    for (let from = after; ; ) {
      const page = ascending(readShop(path).orders, from).slice(0, PAGE);
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      from = last.record.id;
    }
  }

  return {
    async place(placed) {
      const shop = readShop(path);
      const orders = new Map(shop.orders);
      const outcomes = placed.map((order) => {
        const known = orders.get(order.record.id);
        if (known !== undefined) return toLine(known) === toLine(order) ? "unchanged" : "conflict";
        orders.set(order.record.id, order);
        return "placed";
      });
      if (orders.size > shop.orders.size) writeShop(path, { ...shop, orders });
      return outcomes;
    },

    find: async (id) => readShop(path).orders.get(id),

    async apply(id, event, at) {
      const shop = readShop(path);
      const order = shop.orders.get(id);
      if (order === undefined) return { ok: false, code: "order_not_found" };
      const result = transition(order, event, at);
      if (result.ok) writeShop(path, { ...shop, orders: new Map(shop.orders).set(id, result.order) });
      return result;
    },

    async *list() {
      for await (const page of scan()) {
        yield { json: page.map(({ record }) => toWire(record)).join(","), last: page.length < PAGE };
        if (page.length < PAGE) return;
      }
      yield { json: "", last: true };
    },

    scan,
  };
}

function ascending(orders: ReadonlyMap<bigint, StoredOrder>, after?: bigint): readonly StoredOrder[] {
  return [...orders.values()]
    .filter(({ record }) => after === undefined || record.id > after)
    .sort((a, b) => (a.record.id < b.record.id ? -1 : 1));
}
