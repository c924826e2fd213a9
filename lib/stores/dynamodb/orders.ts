import { LIFECYCLE, ORDER_STATUSES, type OrderEvent, type StoredOrder } from "../../orders/lifecycle.ts";
import type { OrderStore, PlaceOutcome } from "../../orders/order-store.ts";
import { readStoredOrder, transitionStoredOrder } from "../../orders/stored-order.ts";
import { toWire } from "../../orders/wire.ts";
import { callTimeout, jitter } from "./client.ts";
import { inParallel } from "./in-parallel.ts";
import type { Item } from "./item.ts";
import { BUCKET_COUNT_KEY, bucketOf, DEFAULT_BUCKETS } from "./layout.ts";
import { createList, scanOrders } from "./list.ts";
import type { ConditionalUpdate, Table } from "./table.ts";
import { hasToken, newWriteToken } from "./write-token.ts";

/** The number of concurrent writes when many orders are placed. */
const CONCURRENCY = 32;

/** The order store over its table. Lists read it through `listTable`, which has its own connections. */
export function createOrderStore(table: Table, listTable: Table): OrderStore {
  // Stored with the table and never changed, so it is read once per process.
  const buckets = memoize(async () => {
    const stored = await table.get(BUCKET_COUNT_KEY, callTimeout());
    return stored === undefined ? DEFAULT_BUCKETS : Number(stored["buckets"]?.N);
  });
  const primaryKeyOf = async (id: bigint): Promise<Item> => ({
    bucket: { N: String(bucketOf(id, await buckets())) },
    id: { N: String(id) },
  });

  const placeOne = async (order: StoredOrder): Promise<Placed> => {
    const key = await primaryKeyOf(order.record.id);
    const item = { ...key, ...orderItem(order) };
    const added = await table.add(item, key, callTimeout());
    if (added.done) return { outcome: "placed", stored: item };
    const { before = {} } = added;
    // A repeated request that finds the same order: the response to the first attempt was lost.
    const existing = added.repeated ? "placed" : "unchanged";
    return { outcome: isSame(before, item) ? existing : "conflict", stored: before };
  };

  return {
    async place(orders) {
      const placed = new Map<bigint, Promise<Placed>>();
      return inParallel(orders, CONCURRENCY, async (order) => {
        const { id } = order.record;
        const earlier = placed.get(id);
        if (earlier !== undefined) {
          return isSame((await earlier).stored, orderItem(order)) ? "unchanged" : "conflict";
        }
        const placing = placeOne(order);
        placed.set(id, placing);
        return (await placing).outcome;
      });
    },

    async find(id) {
      const item = await table.get(await primaryKeyOf(id), callTimeout());
      return item === undefined ? undefined : orderOf(item);
    },

    async apply(id, event, at) {
      const key = await primaryKeyOf(id);
      const signal = callTimeout();
      const token = newWriteToken();
      let update = statusUpdate(event, token);
      let item = update === undefined ? await table.get(key, signal) : undefined;
      let changed: StoredOrder | undefined;
      for (let round = 0; ; round++) {
        if (update === undefined) {
          if (item === undefined) return { ok: false, code: "order_not_found" };
          const order = orderOf(item);
          // An earlier attempt of this call was applied, but its response was lost.
          if (hasToken(item, tokenAttribute(event), token)) return { ok: true, order: changed ?? order };
          const result = transitionStoredOrder(order, event, at);
          if (!result.ok) return result;
          changed = result.order;
          update = recordUpdate(item, changed, event, token);
          if (round > 0) await jitter(round);
        }
        const { done, before } = await table.update(key, update, signal);
        if (done && before !== undefined) return transitionStoredOrder(orderOf(before), event, at);
        item = before;
        update = undefined;
      }
    },

    list: createList(listTable, buckets),

    async *scan(after, limit) {
      for await (const items of scanOrders(listTable, await buckets(), after, limit))
        yield items.map(orderOf);
    },
  };
}

/** Runs a function once. A failure is not cached, so the next caller retries. */
function memoize<T>(run: () => Promise<T>): () => Promise<T> {
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
  /** The item with this identifier afterwards. */
  readonly stored: Item;
}

function orderItem({ record, status }: StoredOrder): Item {
  return { status: { S: status }, wire: { S: toWire(record) } };
}

function orderOf({ wire, status }: Item): StoredOrder {
  return readStoredOrder(wire?.S ?? "", status?.S ?? "");
}

function isSame(a: Item, b: Item): boolean {
  return a["wire"]?.S === b["wire"]?.S && a["status"]?.S === b["status"]?.S;
}

/** Each event has its own attribute, so that a shipment is recognised even if the order was fulfilled since. */
function tokenAttribute(event: OrderEvent): string {
  return `${event}Mark`;
}

/**
 * The single write for an event that changes only the status, without a prior read. `undefined` for an event that
 * changes the record, because its wire form must be read first.
 */
function statusUpdate(event: OrderEvent, token: string): ConditionalUpdate | undefined {
  const moves = ORDER_STATUSES.flatMap((from) => {
    const rule = LIFECYCLE[from][event];
    return "to" in rule ? [{ from, to: rule.to, statusOnly: !("set" in rule) }] : [];
  });
  const to = moves[0]?.to;
  if (to === undefined || moves.some((move) => !move.statusOnly || move.to !== to)) return undefined;
  return {
    update: "SET #status = :to, #token = :token",
    condition: moves.map((_, index) => `#status = :from${index}`).join(" OR "),
    names: { "#token": tokenAttribute(event) },
    values: {
      ":to": { S: to },
      ":token": { S: token },
      ...Object.fromEntries(moves.map(({ from }, index) => [`:from${index}`, { S: from }])),
    },
  };
}

/** Replaces an order, conditional on the one that was read. */
function recordUpdate(seen: Item, order: StoredOrder, event: OrderEvent, token: string): ConditionalUpdate {
  return {
    update: "SET #wire = :wire, #status = :status, #token = :token",
    condition: "#wire = :wireSeen AND #status = :statusSeen",
    names: { "#token": tokenAttribute(event) },
    values: {
      ":wire": { S: toWire(order.record) },
      ":status": { S: order.status },
      ":token": { S: token },
      ":wireSeen": { S: seen["wire"]?.S ?? "" },
      ":statusSeen": { S: seen["status"]?.S ?? "" },
    },
  };
}
