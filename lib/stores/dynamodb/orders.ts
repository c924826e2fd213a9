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
import { orderToJson } from "../../orders/wire.ts";
import { callTimeout } from "./client.ts";
import { countOrders, createList, orderOf, readPage } from "./list.ts";
import { BUCKET_COUNT_KEY, bucketOf, DEFAULT_BUCKETS } from "./schema.ts";
import {
  type ConditionalUpdate,
  changeItem,
  combine,
  type Item,
  type ItemChange,
  newWriteToken,
  stringOf,
  type TableClient,
} from "./table.ts";

/** The number of concurrent writes when many orders are placed. */
const MAX_CONCURRENT_WRITES = 32;

/** Where orders are in their table. */
export interface OrderKeys {
  buckets(): Promise<number>;
  primaryKeyOf(id: bigint): Promise<Item>;
}

/** The keys of a table of orders. Its number of buckets never changes, so it is read once per process. */
export function createOrderKeys(table: TableClient): OrderKeys {
  const buckets = memoize(async () => {
    const stored = await table.get(BUCKET_COUNT_KEY, callTimeout());
    return Number(stored?.["buckets"]?.N ?? DEFAULT_BUCKETS);
  });
  return {
    buckets,
    primaryKeyOf: async (id) => ({
      bucket: { N: String(bucketOf(id, await buckets())) },
      id: { N: String(id) },
    }),
  };
}

/** Returns the attributes that mark an order, of which so many changes precede the one at the instant; see outbox.ts. */
export type Marking = (at: Instant) => Promise<(changes: number) => Item>;

/** The order store over its table. Lists read it through `listTable`, which has its own connections. */
export function createOrderStore(
  table: TableClient,
  listTable: TableClient,
  { buckets, primaryKeyOf }: OrderKeys,
  marking: Marking,
): OrderStore {
  const placeOne = async (order: StoredOrder, at: Instant, change: string): Promise<Placed> => {
    const signal = callTimeout();
    const [key, markOf] = await Promise.all([primaryKeyOf(order.record.id), marking(at)]);
    const item = { ...key, ...orderItem(order), [CHANGES.place]: { S: change }, ...markOf(0) };
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
        const placing = placeOne(order, at, change);
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
      const signal = callTimeout();
      const [key, markOf] = await Promise.all([primaryKeyOf(id), marking(at)]);
      const first = statusUpdate(event, written);
      const change: ItemChange<ApplyResult<typeof event>> = {
        // The status shows that the order was only placed before.
        first: first && combine(first, markUpdate(markOf(1))),
        decide(item) {
          if (item === undefined) return { result: { ok: false, code: "order_not_found" } };
          const order = orderOf(item);
          const result = transitionStoredOrder(order, event, at);
          if (!result.ok || !isChange(order, event)) return { result };
          const mark = markUpdate(markOf(historyOf(item).length));
          return { result, update: () => combine(recordUpdate(item, result.order, event, written), mark) };
        },
        resultIfApplied(item, decided) {
          const isApplied = item[CHANGES[event]]?.S === written;
          return isApplied ? (decided ?? { ok: true, order: orderOf(item) }) : undefined;
        },
      };
      return changeItem(table, key, change, signal);
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
  return { status: { S: status }, wire: { S: orderToJson(record) } };
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
    // The number ends before the first dot or comma.
    return [{ event: event as keyof typeof CHANGES, at: Number.parseInt(text, 36), ...unpackOrigin(text) }];
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

/** Adds a mark, unless there is one. */
function markUpdate(mark: Item): Partial<ConditionalUpdate> {
  const entries = Object.entries(mark);
  return {
    set: entries.map(([name]) => `#${name} = if_not_exists(#${name}, :${name})`),
    values: Object.fromEntries(entries.map(([name, value]) => [`:${name}`, value])),
  };
}

/** Replaces an order, conditional on the one that was read. */
function recordUpdate(seen: Item, order: StoredOrder, event: OrderEvent, change: string): ConditionalUpdate {
  return {
    set: ["#wire = :wire", "#status = :status", `#${CHANGES[event]} = :change`],
    conditions: ["#wire = :wireSeen", "#status = :statusSeen"],
    values: {
      ":wire": { S: orderToJson(order.record) },
      ":status": { S: order.status },
      ":change": { S: change },
      ":wireSeen": { S: stringOf(seen["wire"]) },
      ":statusSeen": { S: stringOf(seen["status"]) },
    },
  };
}
