import type { Failure } from "../core/errors.ts";
import type { Instant } from "../core/time.ts";
import type { OrderEvent, OrderStatus, StoredOrder, TransitionResult } from "./lifecycle.ts";
import type { OrderQuery, OrderQueryPage } from "./order-query.ts";

/** The outcome of placing one order. See `OrderStore.place`. */
export type PlaceOutcome = "placed" | "unchanged" | "conflict";

/** The result of applying an event to a stored order. */
export type ApplyResult<E extends OrderEvent = OrderEvent> = TransitionResult<E> | Failure<"order_not_found">;

/** One page of the list of all orders. */
export interface OrderPage {
  /** Serialised records (see `toWire`), ascending by identifier, separated by commas. A page may be empty. */
  readonly json: string;
  /** True for the last page. */
  readonly last: boolean;
}

/** The number of orders with each status. */
export type OrderCounts = Readonly<Record<OrderStatus, number>>;

/**
 * A store of orders. Every change is atomic per order across all processes that share the database, and durable when
 * its promise resolves. Each method rejects with `StoreUnavailableError` if the store cannot be reached.
 */
export interface OrderStore {
  /**
   * Adds orders, never overwrites one, and returns an outcome for each, in their order: `unchanged` if the order exists
   * with the same record and status, `conflict` if it exists with others.
   */
  place(orders: readonly StoredOrder[]): Promise<readonly PlaceOutcome[]>;

  /** Returns the order, or `undefined` if there is none. */
  find(id: bigint): Promise<StoredOrder | undefined>;

  /** Applies `transition` to the stored order. Concurrent events on one order are applied one after another. */
  apply<E extends OrderEvent>(id: bigint, event: E, at: Instant): Promise<ApplyResult<E>>;

  /**
   * Lists every record, ascending by identifier, in pages that are read on demand, at least one. An order that exists
   * during the whole iteration is listed exactly once.
   */
  list(): AsyncIterable<OrderPage>;

  /**
   * Returns one page of orders. An order that exists during the whole walk and keeps its status is on exactly one page.
   * An unknown status is returned as it is. Rejects with `InvalidInputError`; see `validateOrderQuery`.
   */
  page(query: OrderQuery): Promise<OrderQueryPage>;

  /** Counts the orders by status. One with a status that no rule knows is left out. */
  countByStatus(): Promise<OrderCounts>;
}
