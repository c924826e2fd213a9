import { mapBounded } from "../../core/concurrency.ts";
import { type Instant, systemClock } from "../../core/time.ts";
import {
  type ChangeOrigin,
  isChange,
  type OrderChange,
  packOrigin,
  unpackOrigin,
} from "../../orders/history.ts";
import {
  assertOrderEvent,
  LIFECYCLE,
  ORDER_STATUSES,
  type OrderEvent,
  type StoredOrder,
  transitionStoredOrder,
} from "../../orders/lifecycle.ts";
import { validateOrderQuery } from "../../orders/order-query.ts";
import type { ApplyResult, OrderStore, PlaceOutcome } from "../../orders/order-store.ts";
import { toWire } from "../../orders/wire.ts";
import { callTimeout } from "./client.ts";
import { countOrders, createList, orderOf, readPage } from "./list.ts";
import { BUCKET_COUNT_KEY, bucketOf, DEFAULT_BUCKETS } from "./schema.ts";
import {
  type ConditionalUpdate,
  changeItem,
  type Item,
  type ItemChange,
  newWriteToken,
  type TableClient,
} from "./table.ts";

/** The number of concurrent writes when many orders are placed. */
const MAX_CONCURRENT_WRITES = 32;

/** The order store over its table. Lists read it through `listTable`, which has its own connections. */
export function createOrderStore(table: TableClient, listTable: TableClient): OrderStore {
  // Stored with the table and never changed, so it is read once per process.
  const buckets = memoize(async () => {
    const stored = await table.get(BUCKET_COUNT_KEY, callTimeout());
    return stored === undefined ? DEFAULT_BUCKETS : Number(stored["buckets"]?.N);
  });
  const primaryKeyOf = async (id: bigint): Promise<Item> => ({
    bucket: { N: String(bucketOf(id, await buckets())) },
    id: { N: String(id) },
  });

  const placeOne = async (order: StoredOrder, change: string): Promise<Placed> => {
    const signal = callTimeout();
    const key = await primaryKeyOf(order.record.id);
    const item = { ...key, ...orderItem(order), [CHANGES.place]: { S: change } };
    const added = await table.add(item, key, signal);
    if (added.done) return { outcome: "placed", stored: item };
    const { before = {} } = added;
    // A retry that finds the same order: the response to the first attempt was lost.
    const existing = added.sentAgain ? "placed" : "unchanged";
    return { outcome: isSame(before, item) ? existing : "conflict", stored: before };
  };

  return {
    async place(orders, at = systemClock(), origin = {}) {
      const change = packChange(at, origin);
      const placed = new Map<bigint, Promise<Placed>>();
      return mapBounded(orders, MAX_CONCURRENT_WRITES, async (order) => {
        const { id } = order.record;
        const earlier = placed.get(id);
        if (earlier !== undefined) {
          return isSame((await earlier).stored, orderItem(order)) ? "unchanged" : "conflict";
        }
        const placing = placeOne(order, change);
        placed.set(id, placing);
        return (await placing).outcome;
      });
    },

    async find(id) {
      const signal = callTimeout();
      const item = await table.get(await primaryKeyOf(id), signal);
      return item && { ...orderOf(item), history: historyOf(item) };
    },

    async apply(id, event, at, origin = {}) {
      assertOrderEvent(event);
      const written = packChange(at, origin, newWriteToken());
      const change: ItemChange<ApplyResult<typeof event>> = {
        first: statusUpdate(event, written),
        decide(item) {
          if (item === undefined) return { result: { ok: false, code: "order_not_found" } };
          const order = orderOf(item);
          const result = transitionStoredOrder(order, event, at);
          if (!result.ok || !isChange(order, event)) return { result };
          return { result, update: () => recordUpdate(item, result.order, event, written) };
        },
        resultIfApplied(item, decided) {
          const isApplied = item[CHANGES[event]]?.S === written;
          return isApplied ? (decided ?? { ok: true, order: orderOf(item) }) : undefined;
        },
      };
      const signal = callTimeout();
      return changeItem(table, await primaryKeyOf(id), change, signal);
    },

    list: createList(listTable, buckets),

    async page(query) {
      validateOrderQuery(query);
      const signal = callTimeout();
      return readPage(listTable, await buckets(), query, signal);
    },

    countByStatus: async () => countOrders(listTable, await buckets()),
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

function isSame(a: Item, b: Item): boolean {
  return a["wire"]?.S === b["wire"]?.S && a["status"]?.S === b["status"]?.S;
}

/**
 * The attributes of the history, in the order of the changes, since no event changes an order twice. Short, because a
 * list reads them too. That of an event has a write token: a shipment is recognised even if the order was fulfilled since.
 */
const CHANGES = { place: "p", cancel: "c", ship: "s", fulfil: "f" } as const;

function packChange(at: Instant, origin: ChangeOrigin, token?: string): string {
  return `${Math.trunc(at).toString(36)}${token === undefined ? "" : `.${token}`}${packOrigin(origin)}`;
}

/** Reads the history of an item. */
export function historyOf(item: Item): readonly OrderChange[] {
  return Object.entries(CHANGES).flatMap(([event, attribute]) => {
    const text = item[attribute]?.S;
    if (text === undefined) return [];
    const [at = ""] = text.split(/[.,]/, 1);
    return [{ event: event as keyof typeof CHANGES, at: Number.parseInt(at, 36), ...unpackOrigin(text) }];
  });
}

/**
 * The single write for an event that changes only the status, without a prior read. `undefined` for an event that
 * changes the record, because its wire form must be read first.
 */
function statusUpdate(event: OrderEvent, change: string): ConditionalUpdate | undefined {
  const moves = ORDER_STATUSES.flatMap((from) => {
    const rule = LIFECYCLE[from][event];
    return "to" in rule ? [{ from, to: rule.to, statusOnly: !("set" in rule) }] : [];
  });
  const to = moves[0]?.to;
  if (to === undefined || moves.some((move) => !move.statusOnly || move.to !== to)) return undefined;
  return {
    set: ["#status = :to", `#${CHANGES[event]} = :change`],
    conditions: [`#status IN (${moves.map((_, index) => `:from${index}`).join(", ")})`],
    values: {
      ":to": { S: to },
      ":change": { S: change },
      ...Object.fromEntries(moves.map(({ from }, index) => [`:from${index}`, { S: from }])),
    },
  };
}

/** Replaces an order, conditional on the one that was read. */
function recordUpdate(seen: Item, order: StoredOrder, event: OrderEvent, change: string): ConditionalUpdate {
  return {
    set: ["#wire = :wire", "#status = :status", `#${CHANGES[event]} = :change`],
    conditions: ["#wire = :wireSeen", "#status = :statusSeen"],
    values: {
      ":wire": { S: toWire(order.record) },
      ":status": { S: order.status },
      ":change": { S: change },
      ":wireSeen": { S: seen["wire"]?.S ?? "" },
      ":statusSeen": { S: seen["status"]?.S ?? "" },
    },
  };
}
