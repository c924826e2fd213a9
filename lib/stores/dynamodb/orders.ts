import {
  LIFECYCLE,
  ORDER_STATUSES,
  type OrderEvent,
  type OrderStatus,
  type StoredOrder,
  transition,
} from "../../orders/lifecycle.ts";
import type { OrderStore, PlaceOutcome } from "../../orders/order-store.ts";
import { fromWire, toWire } from "../../orders/wire.ts";
import { callTimeout, jitter } from "./client.ts";
import { inParallel } from "./in-parallel.ts";
import type { Item } from "./item.ts";
import { bucketOf, DEFAULT_BUCKETS, SETTINGS_KEY } from "./layout.ts";
import { listOrders, scanOrders } from "./list.ts";
import type { Change, Table } from "./table.ts";
import { hasToken, newWriteToken, type WriteToken } from "./write-token.ts";

/** Conditional writes under way at a time when many orders are placed. */
const CONCURRENCY = 32;

/** The port of orders over their table. */
export function createOrderStore(table: Table): OrderStore {
  // Kept with the table and never changed, so it is read once in the life of a process.
  const buckets = onceDone(async () => {
    const settings = await table.get(SETTINGS_KEY, callTimeout());
    return settings === undefined ? DEFAULT_BUCKETS : Number(settings["buckets"]?.N);
  });
  const keyOf = async (id: bigint): Promise<Item> => ({
    bucket: { N: String(bucketOf(id, await buckets())) },
    id: { N: String(id) },
  });

  const placeOne = async (order: StoredOrder): Promise<Placed> => {
    const key = await keyOf(order.record.id);
    const item = { ...key, ...orderItem(order) };
    const { done, before = {}, repeated } = await table.add(item, key, callTimeout());
    if (done) return { outcome: "placed", there: item };
    // Sent twice and found its like: the first answer was lost.
    const like = repeated ? "placed" : "unchanged";
    return { outcome: isSame(before, item) ? like : "conflict", there: before };
  };

  return {
    async place(orders) {
      const placed = new Map<bigint, Promise<Placed>>();
      return inParallel(orders, CONCURRENCY, async (order) => {
        const { id } = order.record;
        const earlier = placed.get(id);
        if (earlier !== undefined) {
          return isSame((await earlier).there, orderItem(order)) ? "unchanged" : "conflict";
        }
        const placing = placeOne(order);
        placed.set(id, placing);
        return (await placing).outcome;
      });
    },

    async find(id) {
      const item = await table.get(await keyOf(id), callTimeout());
      return item === undefined ? undefined : orderOf(item);
    },

    async apply(id, event, at) {
      const key = await keyOf(id);
      const signal = callTimeout();
      const mark = newWriteToken();
      let change = statusChange(event, mark);
      let item = change === undefined ? await table.get(key, signal) : undefined;
      let made: StoredOrder | undefined;
      for (let round = 0; ; round++) {
        if (change === undefined) {
          if (item === undefined) return { ok: false, code: "order_not_found" };
          const order = orderOf(item);
          if (hasToken(item, markOf(event), mark)) return { ok: true, order: made ?? order };
          const result = transition(order, event, at);
          if (!result.ok) return result;
          made = result.order;
          change = replace(item, made, event, mark);
        }
        const { done, before } = await table.update(key, change, signal);
        if (done && before !== undefined) return transition(orderOf(before), event, at);
        item = before;
        change = undefined;
        await jitter(round);
      }
    },

    async *list() {
      yield* listOrders(table, await buckets());
    },

    async *scan(after) {
      for await (const items of scanOrders(table, await buckets(), after)) yield items.map(orderOf);
    },
  };
}

/** Runs once; a failure is forgotten, so that the next caller tries again. */
function onceDone<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= run().catch((error) => {
      running = undefined;
      throw error;
    });
    return running;
  };
}

interface Placed {
  readonly outcome: PlaceOutcome;
  /** What is under the identifier then. */
  readonly there: Item;
}

function orderItem({ record, status }: StoredOrder): Item {
  return { status: { S: status }, wire: { S: toWire(record) } };
}

function orderOf({ wire, status }: Item): StoredOrder {
  return { record: fromWire(wire?.S ?? ""), status: status?.S as OrderStatus };
}

function isSame(a: Item, b: Item): boolean {
  return a["wire"]?.S === b["wire"]?.S && a["status"]?.S === b["status"]?.S;
}

/** Each event has a mark of its own: a shipment whose answer was lost is known even when it was fulfilled since. */
function markOf(event: OrderEvent): string {
  return `${event}Mark`;
}

/**
 * The move in one write, with nothing known about the order, where the lifecycle table changes the status alone.
 * `undefined` for an event that changes the record: its wire form has to be seen first.
 */
function statusChange(event: OrderEvent, mark: WriteToken): Change | undefined {
  const moves = ORDER_STATUSES.flatMap((from) => {
    const rule = LIFECYCLE[from][event];
    return "to" in rule ? [{ from, to: rule.to, alone: !("set" in rule) }] : [];
  });
  const to = moves[0]?.to;
  if (to === undefined || moves.some((move) => !move.alone || move.to !== to)) return undefined;
  return {
    update: "SET #status = :to, #mark = :mark",
    condition: moves.map((_, index) => `#status = :from${index}`).join(" OR "),
    names: { "#mark": markOf(event) },
    values: {
      ":to": { S: to },
      ":mark": mark,
      ...Object.fromEntries(moves.map(({ from }, index) => [`:from${index}`, { S: from }])),
    },
  };
}

/** Puts an order in the place of the one that was seen. */
function replace(seen: Item, order: StoredOrder, event: OrderEvent, mark: WriteToken): Change {
  return {
    update: "SET #wire = :wire, #status = :status, #mark = :mark",
    condition: "#wire = :wireSeen AND #status = :statusSeen",
    names: { "#mark": markOf(event) },
    values: {
      ":wire": { S: toWire(order.record) },
      ":status": { S: order.status },
      ":mark": mark,
      ":wireSeen": { S: seen["wire"]?.S ?? "" },
      ":statusSeen": { S: seen["status"]?.S ?? "" },
    },
  };
}
