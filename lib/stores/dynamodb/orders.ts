import { mapBounded } from "../../core/concurrency.ts";
import { type Instant, systemClock } from "../../core/time.ts";
import {
  EVENT_LETTERS,
  eventOf,
  newChange,
  type OrderChange,
  type OrderWithHistory,
  packDetails,
  unpackDetails,
} from "../../orders/history.ts";
import {
  changesRecord,
  decideEvent,
  LIFECYCLE,
  type OrderEvent,
  type StoredOrder,
  statusAfter,
  statusBefore,
} from "../../orders/lifecycle.ts";
import { validateOrderQuery } from "../../orders/order-query.ts";
import type { ApplyResult, OrderStore, PlaceOutcome } from "../../orders/order-store.ts";
import { orderToJson, readOrderToChange, readOrderWithHistory } from "../../orders/wire.ts";
import { callTimeout } from "./client.ts";
import { countOrders, createList, idOf, readSortedPage } from "./list.ts";
import { orderKey } from "./schema.ts";
import {
  type ConditionalUpdate,
  changeItem,
  combine,
  type Item,
  type ItemChange,
  stringOf,
  type TableClient,
} from "./table.ts";

const MAX_CONCURRENT_WRITES = 32;

/** Returns the attributes that mark an order, of which so many changes precede the one at the instant; see outbox.ts. */
export type Marking = (at: Instant) => Promise<(changes: number) => Item>;

/** The order store over its table. Lists read it through `listTable`, which has its own connections. */
export function createOrderStore(table: TableClient, listTable: TableClient, marking: Marking): OrderStore {
  const placeOne = async (order: StoredOrder, at: Instant, change: string) => {
    const signal = callTimeout();
    const key = orderKey(order.record.id);
    const markOf = await marking(at);
    const item = { ...key, ...orderItem(order), [EVENT_LETTERS.place]: { S: change }, ...markOf(0) };
    const { done, before = {} } = await table.add(item, key, signal);
    // The token shows that this call has placed the order: the response to the first attempt was lost.
    const isPlaced = done || before[EVENT_LETTERS.place]?.S === change;
    const outcome: PlaceOutcome = isPlaced ? "placed" : isSameItem(before, item) ? "unchanged" : "conflict";
    return { outcome, stored: isPlaced ? item : before };
  };

  return {
    async place(orders, at = systemClock(), origin) {
      const change = packDetails(newChange("place", at, origin), BASE);
      const placed = new Map<bigint, ReturnType<typeof placeOne>>();
      return mapBounded(orders, MAX_CONCURRENT_WRITES, async (order): Promise<PlaceOutcome> => {
        const { id } = order.record;
        const earlier = placed.get(id);
        if (earlier !== undefined) {
          return isSameItem((await earlier).stored, orderItem(order)) ? "unchanged" : "conflict";
        }
        const placing = placeOne(order, at, change);
        placed.set(id, placing);
        return (await placing).outcome;
      });
    },

    async find(id) {
      const item = await table.get(orderKey(id), callTimeout());
      return item && orderWithHistoryOf(item);
    },

    async apply(id, event, at, origin) {
      const written = packDetails(newChange(event, at, origin), BASE);
      const signal = callTimeout();
      const markOf = await marking(at);
      const simple = statusUpdate(event, written);
      // The first one after the order was placed: no other event leads to the status that it needs.
      const isFirst = LIFECYCLE.events.every((earlier) => statusAfter(earlier) !== statusBefore(event));
      const change: ItemChange<ApplyResult<typeof event>> = {
        // Without a read before it: the status shows how many changes the order has had, if it has a history.
        first: simple && isFirst ? combine(simple, markUpdate(markOf(1), [HAS_HISTORY])) : undefined,
        decide(item) {
          if (item === undefined) return { result: { ok: false, code: "order_not_found" } };
          const order = orderToChange(item, event);
          const { result, changed } = decideEvent(order, event, at);
          if (changed === undefined) return { result };
          const mark = markUpdate(markOf(countChanges(item)));
          return { result, update: () => combine(seenUpdate(item, order, changed, event, written), mark) };
        },
        resultIfApplied(item, decided) {
          const isApplied = item[EVENT_LETTERS[event]]?.S === written;
          return isApplied ? (decided ?? { ok: true, order: orderToChange(item, event) }) : undefined;
        },
      };
      return changeItem(table, orderKey(id), change, signal);
    },

    list: createList(listTable),

    async page(query) {
      validateOrderQuery(query);
      return readSortedPage(listTable, query, callTimeout());
    },

    countByStatus: async () => countOrders(listTable),
  };
}

function orderItem({ record, status }: StoredOrder): Item {
  return { status: { S: status }, wire: { S: orderToJson(record) } };
}

function isSameItem(a: Item, b: Item): boolean {
  return a["wire"]?.S === b["wire"]?.S && a["status"]?.S === b["status"]?.S;
}

/** The instants in the attributes of the history: short, because a list reads them too. */
const BASE = 36;

/** All other attributes of one letter are events; see outbox.ts. */
export const OUTBOX_ATTRIBUTES = ["u", "o", "d", "a"] as const;

/** The letters of the changes of an item, in the order of the changes, since no event changes an order twice. */
function changeLetters(item: Item): readonly string[] {
  const order: readonly string[] = Object.values(EVENT_LETTERS);
  return Object.keys(item)
    .filter((name) => name.length === 1 && !(OUTBOX_ATTRIBUTES as readonly string[]).includes(name))
    .sort((a, b) => order.indexOf(a) - order.indexOf(b));
}

export function countChanges(item: Item): number {
  return changeLetters(item).length;
}

/** Throws if it is damaged. */
export function historyOf(item: Item): readonly OrderChange[] {
  return changeLetters(item).map((letter) => unpackDetails(eventOf(letter), stringOf(item[letter]), BASE));
}

export function orderWithHistoryOf(item: Item): OrderWithHistory {
  const { wire, status } = item;
  return readOrderWithHistory(idOf(item), stringOf(wire), stringOf(status), () => historyOf(item));
}

function orderToChange(item: Item, event: OrderEvent): StoredOrder {
  return readOrderToChange(idOf(item), stringOf(item["wire"]), stringOf(item["status"]), event);
}

/** `undefined` for an event that changes the record, too. */
function statusUpdate(event: OrderEvent, change: string): ConditionalUpdate | undefined {
  if (changesRecord(event)) return undefined;
  return {
    set: ["#status = :to", `#${EVENT_LETTERS[event]} = :change`],
    conditions: ["#status = :from"],
    values: {
      ":to": { S: statusAfter(event) },
      ":change": { S: change },
      ":from": { S: statusBefore(event) },
    },
  };
}

const HAS_HISTORY = `attribute_exists(#${EVENT_LETTERS.place})`;

function markUpdate(mark: Item, conditions: readonly string[] = []): Partial<ConditionalUpdate> {
  const entries = Object.entries(mark);
  return {
    conditions: entries.length > 0 ? conditions : [],
    set: entries.map(([name]) => `#${name} = if_not_exists(#${name}, :${name})`),
    values: Object.fromEntries(entries.map(([name, value]) => [`:${name}`, value])),
  };
}

/** Another event can have changed the record and left the status. A damaged record stays as it is. */
function seenUpdate(
  { wire, status }: Item,
  before: StoredOrder,
  after: StoredOrder,
  event: OrderEvent,
  change: string,
): ConditionalUpdate {
  const isChanged = after.record !== before.record;
  return {
    set: [...(isChanged ? ["#wire = :wire"] : []), "#status = :status", `#${EVENT_LETTERS[event]} = :change`],
    conditions: [
      wire === undefined ? "attribute_not_exists(#wire)" : "#wire = :wireSeen",
      "#status = :statusSeen",
    ],
    values: {
      ...(isChanged && { ":wire": { S: orderToJson(after.record) } }),
      ...(wire !== undefined && { ":wireSeen": wire }),
      ":status": { S: after.status },
      ":change": { S: change },
      ":statusSeen": { S: stringOf(status) },
    },
  };
}
