/** What the stores read in the same way, whatever their database. Each row on its own: one that is damaged hides no other. */
import { errorMessage } from "../core/errors.ts";
import { type OrderWithHistory, unpackChanges } from "../orders/history.ts";
import { MAX_INT64, MIN_INT64 } from "../orders/int64.ts";
import type { StoredOrder } from "../orders/lifecycle.ts";
import {
  type DamagedOrder,
  type OrderQuery,
  type OrderQueryPage,
  validateOrderQuery,
} from "../orders/order-query.ts";
import type { OrderPage, WaitingOrder } from "../orders/order-store.ts";
import type { StoreOutcome } from "../orders/store-operation.ts";
import { readOrderWithHistory, readStoredOrder } from "../orders/wire.ts";

/** The time at which a change that was set aside is due. Below zero is a lease. */
export const NEVER = Number.MAX_SAFE_INTEGER;

export interface OrderRange {
  readonly from: bigint;
  readonly isDescending: boolean;
  readonly status?: string | undefined;
  readonly limit: number;
}

type OrderRow = readonly [id: bigint, status: string, wire: string];

/** `end` is the last identifier among which a status was sought, missing if the orders ended before. */
export interface FoundRange {
  readonly rows: readonly OrderRow[];
  readonly end?: bigint | undefined;
}

export async function readPage(
  query: OrderQuery,
  read: (range: OrderRange) => Promise<FoundRange>,
): Promise<OrderQueryPage> {
  validateOrderQuery(query);
  const { after, status, limit } = query;
  const isDescending = query.order === "desc";
  const [least, greatest] = isDescending ? [MAX_INT64, MIN_INT64] : [MIN_INT64, MAX_INT64];
  const isBefore = (a: bigint, b: bigint) => (isDescending ? a > b : a < b);
  // No database has numbers outside of int64.
  if (after !== undefined && !isBefore(after, greatest)) return { orders: [] };
  const from = after === undefined || isBefore(after, least) ? least : after + (isDescending ? -1n : 1n);
  // One row more than the page holds tells whether there is a next one.
  const { rows, end } = await read({ from, isDescending, status, limit: limit + 1 });
  const page = rows.slice(0, limit);
  const next = rows.length > limit ? page.at(-1)?.[0] : end;
  return next === undefined ? readOrders(page) : { ...readOrders(page), next };
}

/** A page of the list. `next` is where the one after it begins. */
export interface ListPage<Place> {
  readonly json: string;
  readonly next?: Place;
}

type ReadListPage<Place> = (from?: Place) => Promise<ListPage<Place>>;

export async function* listPages<Place>(read: ReadListPage<Place>, start?: Place): AsyncGenerator<OrderPage> {
  for (let from = start; ; ) {
    const { json, next } = await read(from);
    yield { json, last: next === undefined };
    if (next === undefined) return;
    from = next;
  }
}

/** The outcome of a list whose first page was read in the transaction that admitted the request. */
export function listOutcome<Place>({ json, next }: ListPage<Place>, read: ReadListPage<Place>): StoreOutcome {
  const rest = next === undefined ? noPages() : listPages(read, next);
  return { type: "list", first: { json, last: next === undefined }, rest };
}

async function* noPages(): AsyncGenerator<OrderPage> {}

export function readOrders(rows: readonly OrderRow[]): Pick<OrderQueryPage, "orders" | "damaged"> {
  const orders: StoredOrder[] = [];
  const damaged: DamagedOrder[] = [];
  for (const [id, status, wire] of rows) {
    try {
      orders.push(readStoredOrder(id, wire, status));
    } catch (error) {
      damaged.push({ id, problem: errorMessage(error) });
    }
  }
  return damaged.length === 0 ? { orders } : { orders, damaged };
}

/** Reads an order that waits. `due` is what the store has for its lease or its next attempt. */
export function readWaitingOrder(
  id: bigint,
  { due, ...rest }: Pick<WaitingOrder, "delivered" | "attempts"> & { readonly due: number },
  read: () => OrderWithHistory,
): WaitingOrder {
  const waiting = { id, ...rest, ...(due < 0 ? { lease: due } : due < NEVER && { due }) };
  try {
    return { ...waiting, order: read() };
  } catch (error) {
    return { ...waiting, problem: errorMessage(error) };
  }
}

/** Reads an order that waits from a row of a join, whose numbers may be strings. */
export function toWaitingOrder(row: readonly unknown[]): WaitingOrder {
  const [key, status, record, history, delivered, attempts, due] = row;
  const id = BigInt(key as string);
  const mark = { delivered: Number(delivered), attempts: Number(attempts), due: Number(due) };
  return readWaitingOrder(id, mark, () =>
    readOrderWithHistory(id, `${record}`, `${status}`, () => unpackChanges(`${history}`)),
  );
}
